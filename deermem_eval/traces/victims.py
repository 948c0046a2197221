"""Which fact goes: the policies on arrays, for many simulated stores that are one over their capacity.

Each policy is a list of keys; the fact with the smallest first key goes, of equals the one with the smallest
second, and of equals in all the one that was created last, as everywhere in this package. What a
policy keeps is what its function in `deermem_eval.policies` keeps, and is tested against it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deermem_eval.policies import HybridParameters
from deermem_eval.policies.baselines import (
    FINMEM_LONGEST_DAYS,
    FINMEM_SHORTEST_DAYS,
    POWER_LAW_EXPONENT,
)
from deermem_eval.policies.scores import HEAT_SCALE, NEVER_CONFIRMED_DISCOUNT, SECONDS_A_DAY
from deermem_eval.traces.trace import Floats, Integers


@dataclass(frozen=True)
class FactStates:
    """What is known of every fact at one moment, whoever holds it.

    Attributes
    ----------
    created, accessed : array of float, shape (facts,)
        Times in seconds since 1970; minus infinity where there was none.
    accesses, heat : array of float, shape (facts,)
        Counts, and heat as it was stored at the last access.
    confirmed, confidence : array of float, shape (stores, facts) or (1, facts)
        The last confirmation's time, as `created`; and a share.
    is_correction : array of bool, shape (facts,)
    next_need : array of float, shape (facts,)
        Place in the events at which each fact is needed next, infinite where it is not: nobody can
        know that, and only the clairvoyant looks at it.
    """

    created: Floats
    accessed: Floats
    accesses: Floats
    heat: Floats
    confirmed: Floats
    confidence: Floats
    is_correction: NDArray[np.bool_]
    next_need: Floats


@dataclass(frozen=True)
class Stores:
    """What stores hold at one moment, as a policy may see it.

    Attributes
    ----------
    now : float
        Seconds since 1970.
    facts : array of int, shape (stores, facts held)
        Indices; a store's facts stand in any order.
    states : FactStates
    weights : array of float, shape (stores, 3)
        Of `hybrid-v1`.
    parameters : HybridParameters
        Half-lives and the reserve.
    slots : int
        Slots that corrections may take from the reserve at this capacity.
    lots : tuple of Generator
        A stream of chance for each store.
    """

    now: float
    facts: Integers
    states: FactStates
    weights: Floats
    parameters: HybridParameters
    slots: int
    lots: tuple[np.random.Generator, ...]

    def held(self, name: str) -> NDArray[Any]:
        """Return a column of `FactStates` for the facts that are held, shape (stores, facts held)."""
        column = getattr(self.states, name)
        if column.ndim == 1 or len(column) == 1:
            return np.asarray(column.ravel()[self.facts])
        return np.asarray(np.take_along_axis(column, self.facts, axis=1))


def by_confidence(stores: Stores) -> list[Floats]:
    """`confidence`."""
    return [stores.held("confidence")]


def by_hybrid(stores: Stores) -> list[Floats]:
    """`hybrid-v1`, its reserve included."""
    halves = stores.parameters
    last = stores.held("confirmed")
    confirmed = _decay(stores.now, last, halves.confirmation_half_life_days)
    created = _decay(stores.now, stores.held("created"), halves.confirmation_half_life_days)
    never = np.isneginf(last)
    freshness = np.where(never, NEVER_CONFIRMED_DISCOUNT * created, confirmed)
    warmth = stores.held("heat") * _decay(
        stores.now, stores.held("accessed"), halves.access_half_life_days
    )
    heat = np.minimum(1.0, np.log1p(warmth) / HEAT_SCALE)
    w = stores.weights[:, :, np.newaxis]
    # In the order in which the per-store function adds, so that the last bit agrees.
    score = w[:, 0] * stores.held("confidence") + w[:, 1] * freshness + w[:, 2] * heat
    if stores.slots and stores.states.is_correction.any():
        score = np.where(_reserved(stores, score), np.inf, score)
    return [score]


def by_recency(stores: Stores) -> list[Floats]:
    """`recency`."""
    return [_last_seen(stores)]


def by_frequency(stores: Stores) -> list[Floats]:
    """`frequency`."""
    return [stores.held("accesses")]


def by_creation(stores: Stores) -> list[Floats]:
    """`fifo`."""
    return [stores.held("created")]


def by_lot(stores: Stores) -> list[Floats]:
    """`random`: each fact goes with the same chance."""
    return [np.array([lot.random(stores.facts.shape[1]) for lot in stores.lots])]


def by_correction_tie_break(stores: Stores) -> list[Floats]:
    """`correction-tie-break`."""
    return [
        stores.held("confidence"),
        stores.held("is_correction").astype(float),
        stores.held("created"),
    ]


def by_forgetting_curve(stores: Stores) -> list[Floats]:
    """`forgetting-curve`."""
    spread = FINMEM_LONGEST_DAYS - FINMEM_SHORTEST_DAYS
    stability = FINMEM_SHORTEST_DAYS + spread * stores.held("confidence")
    return [np.exp(-_age_days(stores) / stability)]


def by_power_law(stores: Stores) -> list[Floats]:
    """`power-law`."""
    return [stores.held("confidence") * (1 + _age_days(stores)) ** -POWER_LAW_EXPONENT]


def by_next_need(stores: Stores) -> list[Floats]:
    """`clairvoyant`: what is needed last, or never again, goes (Belady's rule)."""
    return [-stores.held("next_need")]


CLAIRVOYANT = "clairvoyant"
KEYS: dict[str, Callable[[Stores], list[Floats]]] = {
    "confidence": by_confidence,
    "hybrid-v1": by_hybrid,
    "recency": by_recency,
    "frequency": by_frequency,
    "fifo": by_creation,
    "random": by_lot,
    "correction-tie-break": by_correction_tie_break,
    "forgetting-curve": by_forgetting_curve,
    "power-law": by_power_law,
    CLAIRVOYANT: by_next_need,
}
"""The policies that live on arrays, by name; any other lives store by store."""


def victims(keys: list[Floats], facts: Integers) -> Integers:
    """Return which of the facts that each store holds goes, shape (stores,): its place, no index."""
    lowest = keys[0] == keys[0].min(axis=1, keepdims=True)
    for key in keys[1:]:
        of_lowest = np.where(lowest, key, np.inf)
        lowest &= of_lowest == of_lowest.min(axis=1, keepdims=True)
    return np.asarray(np.where(lowest, facts, -1).argmax(axis=1), dtype=np.int64)


def _reserved(stores: Stores, score: Floats) -> NDArray[np.bool_]:
    """Say which facts the reserve keeps: the best corrections of each store."""
    corrections = stores.held("is_correction")
    if int(corrections.sum(axis=1).max()) <= stores.slots:
        return corrections
    ranked = np.lexsort((stores.facts, np.where(corrections, -score, np.inf)), axis=1)
    reserved = np.zeros_like(corrections)
    np.put_along_axis(reserved, ranked[:, : stores.slots], values=True, axis=1)
    return np.asarray(reserved & corrections)


def _decay(now: float, then: Floats, half_life_days: float) -> Floats:
    days = (now - then) / SECONDS_A_DAY
    return np.asarray(np.exp2(-days / half_life_days))


def _last_seen(stores: Stores) -> Floats:
    signals = np.maximum(stores.held("confirmed"), stores.held("accessed"))
    return np.asarray(np.maximum(stores.held("created"), signals))


def _age_days(stores: Stores) -> Floats:
    return np.asarray((stores.now - _last_seen(stores)) / SECONDS_A_DAY)
