"""Select which facts stay when a store is over its capacity.

Deterministic, blind to the wall clock, and without side effects: facts and usage are never changed.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from deermem_eval.policies.decision import Decision
from deermem_eval.policies.ranking import (
    EVICTION_POLICY_HYBRID_V1,  # which policy this selector implements: see `registry`
    rank_facts,
    refuse_capacity,
)
from deermem_eval.policies.scores import HybridParameters

__all__ = ["EVICTION_POLICY_HYBRID_V1", "select_facts_for_capacity"]


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
    refuse_capacity(max_facts)
    parameters = HybridParameters(
        confidence_weight,
        confirmation_weight,
        access_weight,
        confirmation_half_life_days,
        access_half_life_days,
        correction_reserved_fraction,
        correction_reserved_max,
    )
    ranking = rank_facts(facts, policy=policy, usage=usage, now=now, parameters=parameters)
    return ranking.decision(max_facts)
