"""Select which facts stay when a store is over its capacity.

Deterministic, blind to the wall clock, and without side effects: facts and usage are never changed.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies.scores import (
    FactScore,
    HybridParameters,
    confidence_score,
    hybrid_score,
)

EVICTION_POLICY_CONFIDENCE = "confidence"
EVICTION_POLICY_HYBRID_V1 = "hybrid-v1"
CORRECTION_CATEGORY = "correction"
DEFAULT_CATEGORY = "context"


class DuplicateFactIdWarning(UserWarning):
    """Facts of a store share an id; they are scored apart, and the warning names them."""


@dataclass(frozen=True)
class EvictedFact:
    """A fact that the capacity removed, with its score if its policy has scores; no content."""

    fact_id: str
    category: str
    score: float | None
    components: dict[str, float]


@dataclass(frozen=True)
class Decision:
    """What a policy does with one store.

    Attributes
    ----------
    kept : list of dict
        The facts that stay, best score first; in input order where nothing had to go.
    evicted : list of EvictedFact
        The facts that go, lowest score first.
    scores : dict of str to FactScore
        By fact id. A fact without an id stands under `__missing_{index}`; the second and later
        facts with one id stand under `{id}__duplicate_{index}`; index is the place in the input.
    policy : str
    reserved_correction_slots : int
        Slots that corrections took from the reserve.
    """

    kept: list[dict[str, Any]]
    evicted: list[EvictedFact]
    scores: dict[str, FactScore]
    policy: str
    reserved_correction_slots: int = 0


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
        A parameter is out of range, or the policy is unknown. Facts never raise.

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
    score = _score_function(policy, _aware(now), parameters)
    stored_ids = [_stored_id(fact) for fact in facts]
    keys = _unique_keys(stored_ids)
    usage = usage if isinstance(usage, Mapping) else {}
    scores = [
        score(_fields(fact), usage.get(stored_id) if stored_id else None)
        for fact, stored_id in zip(facts, stored_ids, strict=True)
    ]
    by_key = dict(zip(keys, scores, strict=True))
    if len(facts) <= max_facts:
        return Decision(list(facts), [], by_key, policy)

    ranked = sorted(range(len(facts)), key=lambda index: -scores[index].value)
    reserved: list[int] = []
    if policy == EVICTION_POLICY_HYBRID_V1:
        slots = min(correction_reserved_max, math.ceil(max_facts * correction_reserved_fraction))
        reserved = [index for index in ranked if is_correction(facts[index])][:slots]
    chosen = set(reserved)
    competing = [index for index in ranked if index not in chosen]
    chosen.update(competing[: max_facts - len(reserved)])
    return Decision(
        kept=[facts[index] for index in ranked if index in chosen],
        evicted=[
            EvictedFact(
                fact_id=stored_ids[index] or keys[index],
                category=_category(facts[index]) or DEFAULT_CATEGORY,
                score=scores[index].value,
                components=dict(scores[index].components),
            )
            for index in reversed(ranked)
            if index not in chosen
        ],
        scores=by_key,
        policy=policy,
        reserved_correction_slots=len(reserved),
    )


def is_correction(fact: object) -> bool:
    """Whether a fact's category is `correction`, in any case and with any blanks around it."""
    return _category(fact).strip().lower() == CORRECTION_CATEGORY


def _score_function(
    policy: str, now: datetime, parameters: HybridParameters
) -> Callable[[Mapping[str, Any], object], FactScore]:
    if policy == EVICTION_POLICY_CONFIDENCE:
        return lambda fact, _: confidence_score(fact)
    if policy == EVICTION_POLICY_HYBRID_V1:
        return lambda fact, usage_entry: hybrid_score(fact, usage_entry, now, parameters)
    raise DeermemEvalError(
        f"eviction policy {policy!r} is unknown; choose {EVICTION_POLICY_CONFIDENCE} or "
        f"{EVICTION_POLICY_HYBRID_V1}"
    )


def _aware(now: datetime) -> datetime:
    if not isinstance(now, datetime):
        raise DeermemEvalError(f"now is {now!r}, and must be a datetime: the evaluation clock")
    return now if now.utcoffset() is not None else now.replace(tzinfo=UTC)


def _stored_id(fact: object) -> str:
    """Return a fact's id as text; empty where it has none."""
    return _text_field(fact, "id")


def _category(fact: object) -> str:
    return _text_field(fact, "category")


def _fields(fact: object) -> Mapping[str, Any]:
    """Return a fact's fields; none where it is no mapping."""
    return fact if isinstance(fact, Mapping) else {}


def _text_field(fact: object, key: str) -> str:
    """Return a field as text, whatever it holds; empty where it is missing or empty."""
    value = _fields(fact).get(key)
    try:
        return str(value or "")
    except Exception:  # noqa: BLE001 (an integer of thousands of digits, endless nesting, ...)
        return f"<{type(value).__name__}>"


def _unique_keys(stored_ids: Sequence[str]) -> list[str]:
    """Return one key a fact, and warn of ids that several facts share."""
    taken = set(stored_ids)
    first = {id_: index for index, id_ in reversed(list(enumerate(stored_ids)))}
    keys = []
    for index, id_ in enumerate(stored_ids):
        key = id_
        if not id_ or first[id_] != index:
            key = f"{id_}__duplicate_{index}" if id_ else f"__missing_{index}"
            while key in taken:
                key += "_"
            taken.add(key)
        keys.append(key)
    duplicates = [id_ for id_, count in Counter(stored_ids).items() if id_ and count > 1]
    if duplicates:
        warnings.warn(
            f"facts share the id {', '.join(map(repr, duplicates))}; each is scored apart",
            DuplicateFactIdWarning,
            stacklevel=3,
        )
    return keys
