"""Lives and audits as tables: a fact's score from day to day, and what the policies agree on in a store."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from deermem_eval.errors import DeermemEvalError
from deermem_eval.memory.audit import POLICIES, AuditedStore
from deermem_eval.memory.confirmation import confirmed
from deermem_eval.memory.usage import accessed
from deermem_eval.policies import HybridParameters, hybrid_score

if TYPE_CHECKING:
    import pandas as pd

EVENTS = ("created", "used", "confirmed")
AUDIT_COLUMNS = (
    *("user", "agent", "facts", "capacity", "baseline", "candidate", "kept_by_both"),
    *("only_baseline", "only_candidate", "kept_by_none"),
    *("corrections_lost_by_baseline", "corrections_lost_by_candidate"),
)
SHADOW_COLUMNS = ("user", "agent", "month", "evictions", "shadowed", "disagreements")


def score_timeline(
    events: Mapping[int, str],
    *,
    confidence: float,
    days: int,
    start: datetime,
    parameters: HybridParameters | None = None,
) -> "pd.DataFrame":
    """Follow one fact's `hybrid-v1` score from its creation, a row a day.

    Parameters
    ----------
    events : mapping of int to str
        `used` or `confirmed`, by day from 0.
    confidence : float
        In [0, 1].
    days : int
        How many days are followed.
    start : datetime
        When the fact is created, with a time zone.
    parameters : HybridParameters, optional

    Returns
    -------
    DataFrame
        Columns `day`, `event` (empty where nothing happens), `confidence`, `confirmation`, `access`
        (each component times its weight) and `score`, their sum.

    Raises
    ------
    DeermemEvalError
        An event is none.
    """
    import pandas as pd  # 0.4 s that the audit of a store does without

    parameters = parameters or HybridParameters()
    fact = {"id": "fact", "confidence": confidence, "createdAt": start.isoformat()}
    entry: object = None
    rows = []
    for day in range(days + 1):
        now = start + timedelta(days=day)
        event = events.get(day, "created" if day == 0 else "")
        if event == "used":
            entry = accessed(entry, now, half_life_days=parameters.access_half_life_days)
        elif event == "confirmed":
            fact = confirmed(fact, now)
        elif event and event != "created":
            raise DeermemEvalError(f"event {event!r} is not one of {', '.join(EVENTS)}")
        score = hybrid_score(fact, entry, now, parameters)
        rows.append(
            {
                "day": day,
                "event": event,
                "confidence": parameters.confidence_weight * score.components["confidence"],
                "confirmation": parameters.confirmation_weight
                * score.components["confirmationFreshness"],
                "access": parameters.access_weight * score.components["accessHeat"],
                "score": score.value,
            }
        )
    return pd.DataFrame(rows)


def audit_table(
    stores: Iterable[AuditedStore], *, policies: Sequence[str] = POLICIES
) -> "pd.DataFrame":
    """Count, for each store and capacity, what two policies agree on.

    Parameters
    ----------
    stores : iterable of AuditedStore
    policies : sequence of str
        Baseline and candidate, of those that the stores were audited with.

    Returns
    -------
    DataFrame
        Columns `AUDIT_COLUMNS`.
    """
    import pandas as pd  # 0.4 s that the audit of a store does without

    rows = []
    for store in stores:
        by_capacity: dict[int, dict[str, set[str]]] = {}
        risks: dict[tuple[int, str], int] = {}
        for decision in store.decisions:
            by_capacity.setdefault(decision.capacity, {})[decision.policy] = set(decision.kept)
            risks[decision.capacity, decision.policy] = decision.corrections_at_risk
        baseline, candidate = policies
        for capacity, kept in by_capacity.items():
            a, b = kept[baseline], kept[candidate]
            counts = (len(a & b), len(a - b), len(b - a), store.facts - len(a | b))
            lost = (risks[capacity, baseline], risks[capacity, candidate])
            whose = (store.place.user, store.place.agent, store.facts, capacity)
            rows.append((*whose, baseline, candidate, *counts, *lost))
    return pd.DataFrame(rows, columns=list(AUDIT_COLUMNS))


def shadow_table(stores: Iterable[AuditedStore]) -> "pd.DataFrame":
    """Lay the stores' own audits out by month: how often the shadow policy disagreed.

    Returns
    -------
    DataFrame
        Columns `SHADOW_COLUMNS`; see `ShadowMonth`.
    """
    import pandas as pd  # 0.4 s that the audit of a store does without

    rows = [
        (store.place.user, store.place.agent, *vars(month).values())
        for store in stores
        for month in store.shadow
    ]
    return pd.DataFrame(rows, columns=list(SHADOW_COLUMNS))
