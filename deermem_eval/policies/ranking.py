"""Rank a store's facts by a policy, and cut the ranking at a capacity."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies.decision import Decision, DecisionParts, late_decision
from deermem_eval.policies.scores import HybridParameters
from deermem_eval.policies.store_scores import ScoreColumns, confidence_columns, hybrid_columns

EVICTION_POLICY_CONFIDENCE = "confidence"
EVICTION_POLICY_HYBRID_V1 = "hybrid-v1"
CORRECTION_CATEGORY = "correction"
DEFAULT_CATEGORY = "context"
LARGEST_STORE = 1_000_000


class DuplicateFactIdWarning(UserWarning):
    """Facts of a store share an id; they are scored apart, and the warning names them."""


@dataclass
class Ranking:
    """A store's facts and their scores, from which the decision at any capacity is cut.

    Attributes
    ----------
    facts : sequence of dict
    policy : str
    keys, stored_ids, categories : list of str
        Of each fact.
    columns : ScoreColumns
    parameters : HybridParameters
    """

    facts: Sequence[dict[str, Any]]
    policy: str
    keys: list[str]
    stored_ids: list[str]
    categories: list[str]
    columns: ScoreColumns
    parameters: HybridParameters

    @cached_property
    def ranked(self) -> list[int]:
        """Places of the facts, best score first; ties stay in input order."""
        key = self.columns.values.__getitem__
        return sorted(range(len(self.facts)), key=key, reverse=True)  # stable, also reversed

    def decision(self, max_facts: int) -> Decision:
        """Cut the store at a capacity."""
        if len(self.facts) <= max_facts:
            parts = DecisionParts(self.keys, [], [], [], self.columns)
            return late_decision(list(self.facts), self.policy, 0, parts)
        slots = 0
        if self.policy == EVICTION_POLICY_HYBRID_V1:
            slots = self.parameters.correction_slots(max_facts)
        named = {category for category in set(self.categories) if _is_correction(category)}
        corrections = (rank for rank, i in enumerate(self.ranked) if self.categories[i] in named)
        reserved = list(islice(corrections, slots))
        kept, gone = _parted(self.ranked, max_facts, reserved)
        gone.reverse()
        return late_decision(
            [self.facts[i] for i in kept],
            self.policy,
            len(reserved),
            DecisionParts(self.keys, self.stored_ids, self.categories, gone, self.columns),
        )


def rank_facts(
    facts: Sequence[dict[str, Any]],
    *,
    policy: str,
    usage: Mapping[str, Any] | None = None,
    now: datetime,
    parameters: HybridParameters,
) -> Ranking:
    """Score and rank a store once, for decisions at several capacities.

    The arguments are those of `select_facts_for_capacity()`, which is one cut of this ranking.
    """
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
    categories = [
        text
        if type(text := fact.get("category")) is str and text
        else _text(text) or DEFAULT_CATEGORY
        for fact in stored
    ]
    if policy == EVICTION_POLICY_HYBRID_V1:
        usage = usage if isinstance(usage, Mapping) else {}
        entries = [usage.get(id_) if id_ else None for id_ in stored_ids]
        columns = hybrid_columns(stored, entries, now, parameters)
    else:
        columns = confidence_columns(stored)
    return Ranking(facts, policy, keys, stored_ids, categories, columns, parameters)


def refuse_capacity(max_facts: object) -> None:
    """Raise `DeermemEvalError` unless a capacity is a whole number from 0."""
    if type(max_facts) is not int or max_facts < 0:
        raise DeermemEvalError(f"max_facts is {max_facts!r}, and must be a whole number from 0")


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
            stacklevel=4,
        )
    return keys
