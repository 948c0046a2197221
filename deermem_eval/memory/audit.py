"""The audit: what each policy would keep and evict of a store, with scores and reasons; no content."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.memory.fact_files import dirty_fields
from deermem_eval.memory.shadow import ShadowMonth, shadow_by_month
from deermem_eval.memory.stores import (
    MemoryStore,
    StorePlace,
    Unsound,
    read_audit_events,
    read_store,
)
from deermem_eval.policies import (
    EVICTION_POLICY_CONFIDENCE,
    EVICTION_POLICY_HYBRID_V1,
    EvictedFact,
    HybridParameters,
    Policy,
    Ranking,
    apply_policy,
    is_correction,
    load_policy,
    rank_facts,
)

SHARES = (0.5, 0.75, 0.9)
DEERMEM_CAPACITY = 100
POLICIES = (EVICTION_POLICY_CONFIDENCE, EVICTION_POLICY_HYBRID_V1)
"""The policies that are audited unless others are named."""


@dataclass(frozen=True)
class AuditedFact:
    """A fact that a policy would evict.

    Attributes
    ----------
    fact_id, category : str
    score : float or None
        None under a policy without scores.
    components : dict of str to float
    reason : str
        How far below the cut it is, or what took its place.
    """

    fact_id: str
    category: str
    score: float | None
    components: dict[str, float]
    reason: str


@dataclass(frozen=True)
class AuditedDecision:
    """What a policy does with a store at a capacity: ids that stay, and what goes with its reason."""

    policy: str
    capacity: int
    kept: tuple[str, ...]
    evicted: tuple[AuditedFact, ...]
    reserved_correction_slots: int

    @property
    def corrections_at_risk(self) -> int:
        """Corrections among the evicted facts."""
        return sum(is_correction({"category": fact.category}) for fact in self.evicted)


@dataclass(frozen=True)
class AuditedStore:
    """A store, its categories, its decisions, and what is unsound in it.

    Attributes
    ----------
    place : StorePlace
    facts : int
    categories : dict of str to int
    decisions : tuple of AuditedDecision
        By capacity, then policy.
    unsound : tuple of Unsound
        Files that were left out, and fields that a policy has to guess.
    shadow : tuple of ShadowMonth
        Of the store's own audit sidecar.
    """

    place: StorePlace
    facts: int
    categories: dict[str, int]
    decisions: tuple[AuditedDecision, ...]
    unsound: tuple[Unsound, ...]
    shadow: tuple[ShadowMonth, ...]

    @property
    def evictions(self) -> int:
        """Evictions in the store's own audit sidecar."""
        return sum(month.evictions for month in self.shadow)

    @property
    def shadow_disagreements(self) -> int:
        """Evictions in which the shadow policy disagreed."""
        return sum(month.disagreements for month in self.shadow)

    def disagreements(self) -> dict[int, tuple[str, ...]]:
        """Return, by capacity, the ids that not all policies treat alike."""
        found: dict[int, tuple[str, ...]] = {}
        for capacity in dict.fromkeys(decision.capacity for decision in self.decisions):
            kept = [set(d.kept) for d in self.decisions if d.capacity == capacity]
            every: set[str] = set().union(*kept)
            found[capacity] = tuple(sorted(id_ for id_ in every if any(id_ not in k for k in kept)))
        return found


def audit_place(
    place: StorePlace,
    *,
    now: datetime,
    capacities: Sequence[int] = (),
    policies: Sequence[str] = POLICIES,
) -> AuditedStore:
    """Read a store and audit it; see `audit_store`."""
    events, problems = read_audit_events(place.folder)
    audited = audit_store(
        read_store(place), now=now, capacities=capacities, policies=policies, events=events
    )
    return replace(audited, unsound=(*audited.unsound, *problems)) if problems else audited


def audit_store(
    store: MemoryStore,
    *,
    now: datetime,
    capacities: Sequence[int] = (),
    policies: Sequence[str] = POLICIES,
    events: Sequence[Any] = (),
) -> AuditedStore:
    """Let each policy decide a store at each capacity.

    Parameters
    ----------
    store : MemoryStore
    now : datetime
        The evaluation clock, with a time zone.
    capacities : sequence of int
        Empty: the store's size times 0.5, 0.75 and 0.9, and DeerMem's 100.
    policies : sequence of str
        Names, or functions as `module:function`.
    events : sequence
        Of the store's own audit sidecar.

    Raises
    ------
    DeermemEvalError
        A policy is unknown or fails, or is a bound that needs to see what will be asked for.
    """
    facts, unsound = _unique_facts(store)
    deciders = [_decider(name, facts, store.usage, now) for name in policies]
    return AuditedStore(
        place=store.place,
        facts=len(facts),
        categories=dict(sorted(Counter(str(fact.get("category")) for fact in facts).items())),
        decisions=tuple(
            decide(capacity)
            for capacity in (capacities or default_capacities(len(facts)))
            for decide in deciders
        ),
        unsound=(*store.unsound, *unsound, *_guessed(store, now)),
        shadow=shadow_by_month(events),
    )


def audit_policy(name: str) -> Policy | None:
    """Return a policy that can be asked about a store; None for the two that `rank_facts()` knows.

    Raises
    ------
    DeermemEvalError
        It is unknown, or a bound.
    """
    if name in POLICIES:
        return None
    policy = load_policy(name)
    if policy.is_bound:
        raise DeermemEvalError(
            f"policy {name} must be told what will be asked for, and a store does not say; leave it out"
        )
    return policy


def default_capacities(size: int) -> tuple[int, ...]:
    """Return the capacities at which a store of a size is looked at, ascending, without repeats."""
    found = {max(1, int(size * share)) for share in SHARES} if size else set()
    return tuple(sorted({*found, DEERMEM_CAPACITY}))


def _unique_facts(store: MemoryStore) -> tuple[list[dict[str, Any]], list[Unsound]]:
    seen: dict[str, str] = {}
    facts, unsound = [], []
    for fact, path in zip(store.facts, store.paths, strict=True):
        if fact["id"] in seen:
            unsound.append(
                Unsound(path, f"its id {fact['id']!r} is that of {seen[fact['id']]} too")
            )
            continue
        seen[fact["id"]] = path
        facts.append(fact)
    return facts, unsound


def _guessed(store: MemoryStore, now: datetime) -> list[Unsound]:
    return [
        Unsound(path, reason)
        for fact, path in zip(store.facts, store.paths, strict=True)
        for reason in dirty_fields(fact, now.timestamp())
    ]


def _decider(
    name: str, facts: list[dict[str, Any]], usage: Mapping[str, Any], now: datetime
) -> Callable[[int], AuditedDecision]:
    policy = audit_policy(name)
    if policy is None:
        ranking = rank_facts(
            facts, policy=name, usage=usage, now=now, parameters=HybridParameters()
        )
        return partial(_ranked_decision, ranking)
    return partial(_asked_decision, policy, facts, usage, now)


def _ranked_decision(ranking: Ranking, capacity: int) -> AuditedDecision:
    decision = ranking.decision(capacity)
    kept = tuple(str(fact["id"]) for fact in decision.kept)
    first = ranking.ranked[:capacity]  # what would be kept without the reserve
    scores, ids = ranking.columns.values, ranking.stored_ids
    staying = set(kept)
    cut = next((scores[i] for i in reversed(first) if ids[i] in staying), None)
    displaced = {ids[i] for i in first} - staying
    evicted = [
        AuditedFact(
            fact.fact_id,
            fact.category,
            fact.score,
            fact.components,
            _reason(fact, cut, is_displaced=fact.fact_id in displaced, capacity=capacity),
        )
        for fact in decision.evicted
    ]
    return AuditedDecision(
        decision.policy, capacity, kept, tuple(evicted), decision.reserved_correction_slots
    )


def _reason(fact: EvictedFact, cut: float | None, *, is_displaced: bool, capacity: int) -> str:
    if not capacity:
        return "the capacity is 0"
    if is_displaced:
        return "a reserved slot took its place"
    if cut is None or fact.score is None:
        return "reserved slots took every place"
    if fact.score < cut:
        return f"{cut - fact.score:.4f} below the cut"
    return "level with the cut, and later in the store"


def _asked_decision(
    policy: Policy,
    facts: list[dict[str, Any]],
    usage: Mapping[str, Any],
    now: datetime,
    capacity: int,
) -> AuditedDecision:
    decision = apply_policy(policy, facts, max_facts=capacity, usage=usage, now=now)
    kept = tuple(str(fact["id"]) for fact in decision.kept)
    reason = f"not among the {capacity} that {policy.name} keeps"
    evicted = (
        AuditedFact(fact.fact_id, fact.category, None, {}, reason) for fact in decision.evicted
    )
    return AuditedDecision(policy.name, capacity, kept, tuple(evicted), 0)
