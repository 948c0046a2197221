"""The audit: what each policy would keep and evict of a store, with scores and reasons; no content."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deermem_eval.memory.fact_files import dirty_fields
from deermem_eval.memory.stores import (
    MemoryStore,
    StorePlace,
    Unsound,
    read_audit_events,
    read_store,
)
from deermem_eval.policies import Decision, is_correction, select_facts_for_capacity

SHARES = (0.5, 0.75, 0.9)
DEERMEM_CAPACITY = 100
POLICIES = ("confidence", "hybrid-v1")


@dataclass(frozen=True)
class AuditedFact:
    """A fact that a policy would evict.

    Attributes
    ----------
    fact_id, category : str
    score : float
    components : dict of str to float
    reason : str
        How far below the cut it is, or what took its place.
    """

    fact_id: str
    category: str
    score: float
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
    evictions, shadow_disagreements : int
        In the store's own audit sidecar: events, and those in which the shadow policy disagreed.
    """

    place: StorePlace
    facts: int
    categories: dict[str, int]
    decisions: tuple[AuditedDecision, ...]
    unsound: tuple[Unsound, ...]
    evictions: int
    shadow_disagreements: int

    def disagreements(self) -> dict[int, tuple[str, ...]]:
        """Return, by capacity, the ids that not all policies treat alike."""
        found: dict[int, tuple[str, ...]] = {}
        for capacity in dict.fromkeys(decision.capacity for decision in self.decisions):
            kept = [set(d.kept) for d in self.decisions if d.capacity == capacity]
            every: set[str] = set().union(*kept)
            found[capacity] = tuple(sorted(id_ for id_ in every if any(id_ not in k for k in kept)))
        return found


def audit_place(
    place: StorePlace, *, now: datetime, capacities: Sequence[int] = ()
) -> AuditedStore:
    """Read a store and audit it; see `audit_store`."""
    events, problems = read_audit_events(place.folder)
    audited = audit_store(read_store(place), now=now, capacities=capacities, events=events)
    return (
        AuditedStore(**{**vars(audited), "unsound": (*audited.unsound, *problems)})
        if problems
        else audited
    )


def audit_places(
    places: Sequence[StorePlace], *, now: datetime, capacities: Sequence[int] = ()
) -> list[AuditedStore]:
    """Audit a chunk of stores, for `deermem_eval.chunks.map_chunks`."""
    return [audit_place(place, now=now, capacities=capacities) for place in places]


def audit_store(
    store: MemoryStore,
    *,
    now: datetime,
    capacities: Sequence[int] = (),
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
    events : sequence
        Of the store's own audit sidecar.
    """
    facts, unsound = _unique_facts(store)
    shadows = [event.get("shadow") for event in events if isinstance(event, Mapping)]
    return AuditedStore(
        place=store.place,
        facts=len(facts),
        categories=dict(sorted(Counter(str(fact.get("category")) for fact in facts).items())),
        decisions=tuple(
            _audited(
                select_facts_for_capacity(
                    facts, max_facts=capacity, policy=policy, usage=store.usage, now=now
                ),
                capacity,
            )
            for capacity in (capacities or default_capacities(len(facts)))
            for policy in POLICIES
        ),
        unsound=(*store.unsound, *unsound, *_guessed(store, now)),
        evictions=len(events),
        shadow_disagreements=sum(
            isinstance(shadow, Mapping) and bool(shadow.get("disagrees")) for shadow in shadows
        ),
    )


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


def _audited(decision: Decision, capacity: int) -> AuditedDecision:
    kept = tuple(str(fact["id"]) for fact in decision.kept)
    ranked = sorted(decision.scores, key=lambda id_: decision.scores[id_].value, reverse=True)
    by_score = set(ranked[:capacity])  # what would be kept without the reserve
    cut = min((decision.scores[id_].value for id_ in kept if id_ in by_score), default=0.0)
    evicted = []
    for fact in decision.evicted:
        score = float(fact.score or 0.0)
        below = cut - score
        if fact.fact_id in by_score:
            reason = "a reserved slot took its place"
        elif below > 0:
            reason = f"{below:.4f} below the cut"
        else:
            reason = "level with the cut, and later in the store"
        evicted.append(
            AuditedFact(fact.fact_id, fact.category, score, dict(fact.components), reason)
        )
    return AuditedDecision(
        decision.policy, capacity, kept, tuple(evicted), decision.reserved_correction_slots
    )
