"""Baselines and rivals: other rules for what to forget, beside `confidence` and `hybrid-v1`.

Each is a policy as a user would write it: a function from the facts of a store to the ids of those that
stay, best first. Ties stand in input order. Dirty values count as missing, as in `scores`.
"""

import math
import random as random_numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from deermem_eval.policies.ranking import is_correction
from deermem_eval.policies.scores import SECONDS_A_DAY, parse_timestamp, stored_confidence

Fact = Mapping[str, Any]
Usage = Mapping[str, Any]

FINMEM_SHORTEST_DAYS = 14.0
FINMEM_LONGEST_DAYS = 365.0
POWER_LAW_EXPONENT = 0.5
DEFAULT_SEED = 4789
NEVER = -math.inf


def recency(facts: Sequence[Fact], *, max_facts: int, usage: Usage, now: datetime) -> list[str]:
    """Keep what was accessed, confirmed or created last, whichever was latest (LRU)."""
    return _best(facts, max_facts, lambda fact: _last_seen(fact, usage))


def frequency(facts: Sequence[Fact], *, max_facts: int, usage: Usage, now: datetime) -> list[str]:
    """Keep what was accessed most often (LFU)."""
    return _best(facts, max_facts, lambda fact: _count(_entry(fact, usage).get("accessCount")))


def fifo(facts: Sequence[Fact], *, max_facts: int, usage: Usage, now: datetime) -> list[str]:
    """Keep what was created last: first in, first out."""
    return _best(facts, max_facts, lambda fact: _time(fact.get("createdAt")))


def random(
    facts: Sequence[Fact],
    *,
    max_facts: int,
    usage: Usage,
    now: datetime,
    seed: int = DEFAULT_SEED,
) -> list[str]:
    """Keep facts by lot, the same for the same seed and ids.

    On average it keeps each fact of a store with a probability of `max_facts / len(facts)`.
    """
    ids = [str(fact["id"]) for fact in facts]
    lot = random_numbers.Random(f"{seed} {' '.join(ids)}")
    return lot.sample(ids, min(max_facts, len(ids)))


def oracle(
    facts: Sequence[Fact],
    *,
    max_facts: int,
    usage: Usage,
    now: datetime,
    support_fact_ids: Collection[str],
) -> list[str]:
    """Keep the facts that will be asked for: no policy, but the bound that none can pass."""
    return _best(facts, max_facts, lambda fact: str(fact["id"]) in support_fact_ids)


def correction_tie_break(
    facts: Sequence[Fact], *, max_facts: int, usage: Usage, now: datetime
) -> list[str]:
    """Keep by confidence; of equal confidence corrections first, then what was created last.

    Source: deer-flow PR #2142.
    """
    return _best(
        facts,
        max_facts,
        lambda fact: (
            stored_confidence(fact),
            is_correction(fact),
            _time(fact.get("createdAt")),
        ),
    )


def forgetting_curve(
    facts: Sequence[Fact], *, max_facts: int, usage: Usage, now: datetime
) -> list[str]:
    """Keep by an exponential forgetting curve whose stability grows with importance.

    `e^(-age / Q)` with the age in days since the fact was last accessed, confirmed or created, and Q
    from 14 days (confidence 0) to 365 (confidence 1): FinMem, arXiv 2311.13743, whose three layers
    of memory have Q = 14, 90 and 365.
    """

    def score(fact: Fact) -> float:
        spread = FINMEM_LONGEST_DAYS - FINMEM_SHORTEST_DAYS
        stability = FINMEM_SHORTEST_DAYS + spread * stored_confidence(fact)
        return math.exp(-_age_days(_last_seen(fact, usage), now) / stability)

    return _best(facts, max_facts, score)


def power_law(facts: Sequence[Fact], *, max_facts: int, usage: Usage, now: datetime) -> list[str]:
    """Keep by confidence that decays with a power of the age: `confidence (1 + days)^-0.5`.

    The form of forgetting that Wixted and Ebbesen found (Psychological Science 2, 1991), with the age
    since the fact was last accessed, confirmed or created.
    """
    return _best(
        facts,
        max_facts,
        lambda fact: (
            stored_confidence(fact)
            * (1 + _age_days(_last_seen(fact, usage), now)) ** -POWER_LAW_EXPONENT
        ),
    )


def _best(facts: Sequence[Fact], max_facts: int, key: Callable[[Fact], Any]) -> list[str]:
    keys = [key(fact) for fact in facts]
    ranked = sorted(range(len(facts)), key=lambda i: keys[i], reverse=True)  # stable, also reversed
    return [str(facts[i]["id"]) for i in ranked[:max_facts]]


def _entry(fact: Fact, usage: Usage) -> Mapping[str, Any]:
    entry = usage.get(str(fact.get("id")))
    return entry if isinstance(entry, Mapping) else {}


def _last_seen(fact: Fact, usage: Usage) -> float:
    accessed = _time(_entry(fact, usage).get("lastAccessedAt"))
    return max(accessed, _time(fact.get("lastConfirmedAt")), _time(fact.get("createdAt")))


def _time(value: object) -> float:
    parsed = parse_timestamp(value)
    return NEVER if parsed is None else parsed.timestamp()


def _age_days(seen: float, now: datetime) -> float:
    return max(0.0, (now.timestamp() - seen) / SECONDS_A_DAY)


def _count(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else 0.0  # type: ignore[arg-type]
