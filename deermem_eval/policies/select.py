"""Select which facts stay when a store is over its capacity.

Deterministic, blind to the wall clock, and without side effects: facts and usage are never changed.
"""

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies.decision import Decision, DecisionParts, EvictedFact, late_decision
from deermem_eval.policies.scores import HybridParameters
from deermem_eval.policies.store_scores import confidence_columns, hybrid_columns

EVICTION_POLICY_CONFIDENCE = "confidence"
EVICTION_POLICY_HYBRID_V1 = "hybrid-v1"
CORRECTION_CATEGORY = "correction"
DEFAULT_CATEGORY = "context"
LARGEST_STORE = 1_000_000

__all__ = [
    "CORRECTION_CATEGORY",
    "DEFAULT_CATEGORY",
    "EVICTION_POLICY_CONFIDENCE",
    "EVICTION_POLICY_HYBRID_V1",
    "LARGEST_STORE",
    "Decision",
    "DuplicateFactIdWarning",
    "EvictedFact",
    "is_correction",
    "select_facts_for_capacity",
]


class DuplicateFactIdWarning(UserWarning):
    """Facts of a store share an id; they are scored apart, and the warning names them."""


def select_facts_for_capacity(
    facts: Sequence[dict[str, Any]],
    *,
    max_facts: int,
    policy: str,
    usage: Mapping[str, Any] | None = None,
    now: datetime,
    confidence_weight: float = 0.65,
    confirmation_weight: float = 0.25,
    access_weight: float = 0.10,
    confirmation_half_life_days: float = 90,
    access_half_life_days: float = 30,
    correction_reserved_fraction: float = 0.10,
    correction_reserved_max: int = 10,
) -> Decision:
    """Choose which facts a store of capacity `max_facts` keeps.

    The signature and the result's fields are those of deer-flow's function of the same name
    (PR #4789), so that either can stand in for the other. What differs, on purpose: facts that
    share an id are scored apart (there, the last one's score stands for all of them); `now` must be
    given, and naive it means UTC; parameters out of range are refused (there, weights are not
    checked, and a half-life of zero means no freshness); no fact raises, not even one that is no
    mapping or whose confidence is too large for a float.

    Parameters
    ----------
    facts : sequence of dict
        Facts as DeerMem stores them. Dirty values are tolerated: see `deermem_eval.policies.scores`.
    max_facts : int
        The capacity, at least 0.
    policy : {"confidence", "hybrid-v1"}
    usage : mapping of str to dict, optional
        Usage entries by fact id.
    now : datetime
        The evaluation clock; naive means UTC.
    confidence_weight, confirmation_weight, access_weight : float
        In [0, 1], summing to 1; `hybrid-v1` only, like all that follow.
    confirmation_half_life_days, access_half_life_days : float
        Positive, in days.
    correction_reserved_fraction : float
        In [0, 1]. `min(correction_reserved_max, ceil(max_facts * fraction))` slots go to the
        best-scored corrections first; slots that no correction needs return to all.
    correction_reserved_max : int
        At least 0.

    Returns
    -------
    Decision

    Raises
    ------
    DeermemEvalError
        A parameter is out of range, the policy is unknown, or there are more than `LARGEST_STORE`
        facts. No fact raises.

    Warns
    -----
    DuplicateFactIdWarning
        Facts share an id.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> facts = [
    ...     {"id": "old", "confidence": 0.9, "createdAt": "2026-02-14T00:00:00Z"},
    ...     {"id": "confirmed", "confidence": 0.7, "lastConfirmedAt": "2026-08-06T00:00:00Z"},
    ... ]
    >>> now = datetime(2026, 8, 13, tzinfo=UTC)
    >>> for policy in ("confidence", "hybrid-v1"):
    ...     decision = select_facts_for_capacity(facts, max_facts=1, policy=policy, now=now)
    ...     print(policy, [fact["id"] for fact in decision.kept])
    confidence ['old']
    hybrid-v1 ['confirmed']
    """
    parameters = HybridParameters(
        confidence_weight,
        confirmation_weight,
        access_weight,
        confirmation_half_life_days,
        access_half_life_days,
        correction_reserved_fraction,
        correction_reserved_max,
    )
    if type(max_facts) is not int or max_facts < 0:
        raise DeermemEvalError(f"max_facts is {max_facts!r}, and must be a whole number from 0")
    if policy not in (EVICTION_POLICY_CONFIDENCE, EVICTION_POLICY_HYBRID_V1):
        raise DeermemEvalError(
            f"eviction policy {policy!r} is unknown; choose {EVICTION_POLICY_CONFIDENCE} or "
            f"{EVICTION_POLICY_HYBRID_V1}"
        )
    now = _aware(now)
    if len(facts) > LARGEST_STORE:
        raise DeermemEvalError(
            f"the store holds {len(facts):,} facts, and at most {LARGEST_STORE:,} are ranked; split it"
        )
    stored = [fact if type(fact) is dict else _fields(fact) for fact in facts]
    stored_ids = [id_ if type(id_ := fact.get("id")) is str else _text(id_) for fact in stored]
    keys = _unique_keys(stored_ids)
    if policy == EVICTION_POLICY_HYBRID_V1:
        usage = usage if isinstance(usage, Mapping) else {}
        entries = [usage.get(id_) if id_ else None for id_ in stored_ids]
        columns = hybrid_columns(stored, entries, now, parameters)
    else:
        columns = confidence_columns(stored)
    if len(stored) <= max_facts:
        return late_decision(list(facts), policy, 0, DecisionParts(keys, [], [], [], columns))

    # Stable, also reversed: ties stay in input order.
    ranked = sorted(range(len(stored)), key=columns.values.__getitem__, reverse=True)
    categories = [
        text
        if type(text := fact.get("category")) is str and text
        else _text(text) or DEFAULT_CATEGORY
        for fact in stored
    ]
    slots = 0
    if policy == EVICTION_POLICY_HYBRID_V1:
        slots = min(correction_reserved_max, math.ceil(max_facts * correction_reserved_fraction))
    named = {category for category in set(categories) if _is_correction(category)}
    corrections = (rank for rank, i in enumerate(ranked) if categories[i] in named)
    reserved = list(islice(corrections, slots))
    kept, gone = _parted(ranked, max_facts, reserved)
    gone.reverse()
    return late_decision(
        [facts[i] for i in kept],
        policy,
        len(reserved),
        DecisionParts(keys, stored_ids, categories, gone, columns),
    )


def is_correction(fact: object) -> bool:
    """Whether a fact's category is `correction`, in any case and with any blanks around it."""
    return _is_correction(_text(_fields(fact).get("category")))


def _is_correction(category: str) -> bool:
    return category.strip().lower() == CORRECTION_CATEGORY


def _parted(ranked: list[int], max_facts: int, reserved: list[int]) -> tuple[list[int], list[int]]:
    """Part what is kept from what goes, both best first; the facts at the reserved ranks are kept."""
    kept, gone = ranked[:max_facts], ranked[max_facts:]
    late = [rank for rank in reserved if rank >= max_facts]
    if late:
        taken = set(reserved)
        free = (rank for rank in reversed(range(max_facts)) if rank not in taken)
        displaced = list(islice(free, len(late)))
        for rank in reversed(late):
            del gone[rank - max_facts]
        gone[:0] = [ranked[rank] for rank in reversed(displaced)]
        for rank in displaced:
            del kept[rank]
        kept += [ranked[rank] for rank in late]
    return kept, gone


def _aware(now: datetime) -> datetime:
    if not isinstance(now, datetime):
        raise DeermemEvalError(f"now is {now!r}, and must be a datetime: the evaluation clock")
    return now if now.utcoffset() is not None else now.replace(tzinfo=UTC)


def _fields(fact: object) -> Mapping[str, Any]:
    """Return a fact's fields; none where it is no mapping."""
    return fact if isinstance(fact, Mapping) else {}


def _text(value: object) -> str:
    """Return a stored value as text, whatever it is; empty where it is missing or empty."""
    if type(value) is str:
        return value
    try:
        return str(value or "")
    except Exception:  # noqa: BLE001 (an integer of thousands of digits, endless nesting, ...)
        return f"<{type(value).__name__}>"


def _unique_keys(stored_ids: list[str]) -> list[str]:
    """Return one key a fact, and warn of ids that several facts share."""
    taken = set(stored_ids)
    if len(taken) == len(stored_ids) and "" not in taken:
        return stored_ids
    seen: set[str] = set()
    keys = []
    for index, id_ in enumerate(stored_ids):
        key = id_
        if not id_ or id_ in seen:
            key = f"{id_}__duplicate_{index}" if id_ else f"__missing_{index}"
            while key in taken:
                key += "_"
            taken.add(key)
        seen.add(id_)
        keys.append(key)
    duplicates = [id_ for id_, count in Counter(stored_ids).items() if id_ and count > 1]
    if duplicates:
        warnings.warn(
            f"facts share the id {', '.join(map(repr, duplicates))}; each is scored apart",
            DuplicateFactIdWarning,
            stacklevel=3,
        )
    return keys
