"""The simulator: many stores live through one trace, each with its own confidences, weights and seed.

Promises: a store never holds more than its capacity after a fact has come; the same seed gives the same
life, whatever else is simulated beside it; a policy sees the past alone.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces.setting import CONFIRM_STREAM, LOT_STREAM, Setting, chance
from deermem_eval.traces.store_by_store import simulate_each
from deermem_eval.traces.trace import ACCESS, CONFIRM, CREATE, Floats, Integers, Trace
from deermem_eval.traces.victims import CLAIRVOYANT, KEYS, FactStates, Stores, victims

PUBLISHED_WEIGHTS = (0.65, 0.25, 0.10)


def simulate(
    trace: Trace,
    setting: Setting,
    confidence: ArrayLike,
    seeds: ArrayLike,
    *,
    weights: ArrayLike = PUBLISHED_WEIGHTS,
    need_places: ArrayLike | None = None,
) -> Integers:
    """Let stores live through a trace, and return when each lost each fact.

    Parameters
    ----------
    trace : Trace
    setting : Setting
        Of all stores.
    confidence : array of float, shape (stores, facts)
        In [0, 1].
    seeds : array of int, shape (stores,)
        For what is left to chance: confirmations with a probability, and the policy `random`.
    weights : array of float, shape (3,) or (stores, 3)
        Of `hybrid-v1`.
    need_places : array of int, shape (needs,), optional
        Where in the events each need stands; for the clairvoyant alone.

    Returns
    -------
    array of int, shape (stores, facts)
        Place in the events at which the fact was evicted; the number of events if it never was.
    """
    confidence = np.atleast_2d(np.asarray(confidence, dtype=float))
    seeds = np.atleast_1d(np.asarray(seeds, dtype=np.int64))
    if setting.policy not in KEYS:
        return simulate_each(trace, setting, confidence, seeds)
    return _Lives(trace, setting, confidence, seeds, np.asarray(weights, float), need_places).run()


def next_needs(trace: Trace, need_places: ArrayLike) -> list[Integers]:
    """Return, for each fact, the places at which it is needed, ascending."""
    found: list[list[int]] = [[] for _ in trace.fact_ids]
    for need, place in zip(trace.needs, np.asarray(need_places).tolist(), strict=True):
        for fact in need.facts:
            found[fact].append(place)
    return [np.array(sorted(places), dtype=np.int64) for places in found]


class _Lives:
    """Stores in the middle of their lives.

    What an access or a confirmation does to a fact is the same for every store that still holds it,
    because a fact comes once: a state a fact suffices, and one a store only where chance enters.
    """

    def __init__(
        self,
        trace: Trace,
        setting: Setting,
        confidence: Floats,
        seeds: Integers,
        weights: Floats,
        need_places: ArrayLike | None,
    ) -> None:
        count, facts = len(seeds), len(trace.fact_ids)
        self.trace, self.setting = trace, setting
        confirms = trace.places(CONFIRM)
        self.by_chance = bool((trace.probabilities[confirms] < 1).any())
        self.draws = np.zeros((0, 0))
        if self.by_chance:
            self.draws = np.array([chance(seed, CONFIRM_STREAM, len(confirms)) for seed in seeds])
        self.states = FactStates(
            created=np.full(facts, -np.inf),
            accessed=np.full(facts, -np.inf),
            accesses=np.zeros(facts),
            heat=np.zeros(facts),
            confirmed=np.full((count if self.by_chance else 1, facts), -np.inf),
            confidence=confidence,
            is_correction=trace.corrections,
            next_need=np.full(facts, np.inf),
        )
        self.coming: list[tuple[int, int, float]] = []
        if setting.policy == CLAIRVOYANT:
            if need_places is None:
                raise DeermemEvalError("the clairvoyant policy must be told where the needs stand")
            self._look_ahead(next_needs(trace, need_places))
        self.weights = np.broadcast_to(weights, (count, 3))
        self.slots = setting.parameters.correction_slots(setting.capacity)
        self.lots: tuple[np.random.Generator, ...] = ()
        if setting.policy == "random":
            self.lots = tuple(np.random.default_rng([int(seed), LOT_STREAM]) for seed in seeds)
        self.rows = np.arange(count)
        held = min(setting.capacity, facts) + 1
        self.held = np.zeros((count, held), dtype=np.int64)
        self.free = np.zeros(count, dtype=np.int64)
        self.evicted_at = np.full((count, facts), len(trace.kinds), dtype=np.int64)

    def run(self) -> Integers:
        trace, half_life = self.trace, self.setting.parameters.access_half_life_days * 86_400
        kinds, subjects, times = trace.kinds.tolist(), trace.subjects.tolist(), trace.times.tolist()
        accessed, heat = self.states.accessed, self.states.heat
        accesses = self.states.accesses
        confirmations = 0
        for place, (kind, fact, now) in enumerate(zip(kinds, subjects, times, strict=True)):
            if kind == ACCESS:
                decay = 2.0 ** (-(now - accessed[fact]) / half_life) if accesses[fact] else 0.0
                heat[fact] = heat[fact] * decay + 1.0
                accesses[fact] += 1.0
                accessed[fact] = now
            elif kind == CREATE:
                self._create(fact, now, place)
            elif kind == CONFIRM:
                self._confirm(fact, now, place, confirmations)
                confirmations += 1
        return self.evicted_at

    def _confirm(self, fact: int, now: float, place: int, number: int) -> None:
        if self.by_chance:
            happens = self.draws[:, number] < self.trace.probabilities[place]
            self.states.confirmed[happens, fact] = now
        else:
            self.states.confirmed[0, fact] = now

    def _create(self, fact: int, now: float, place: int) -> None:
        self.states.created[fact] = now
        if fact < self.setting.capacity:
            self.held[:, fact] = fact
            return
        if fact == self.setting.capacity:
            self.free[:] = fact
        self.held[self.rows, self.free] = fact
        while self.coming and self.coming[-1][0] <= place:
            _, needed, again = self.coming.pop()
            self.states.next_need[needed] = again
        stores = Stores(
            now,
            self.held,
            self.states,
            self.weights,
            self.setting.parameters,
            self.slots,
            self.lots,
        )
        self.free = victims(KEYS[self.setting.policy](stores), self.held)
        self.evicted_at[self.rows, self.held[self.rows, self.free]] = place

    def _look_ahead(self, needed: list[Integers]) -> None:
        """Note when each fact is needed next, and what that becomes once the need has come."""
        for fact, places in enumerate(needed):
            if not len(places):
                continue
            self.states.next_need[fact] = places[0]
            later = [*places[1:].tolist(), np.inf]
            self.coming += zip(places.tolist(), [fact] * len(places), later, strict=True)
        self.coming.sort(reverse=True)


def kept_sets(trace: Trace, evicted_at: Integers) -> NDArray[np.bool_]:
    """Return which facts a store holds after every event, shape (events, facts).

    Parameters
    ----------
    trace : Trace
    evicted_at : array of int, shape (facts,)
        Of one store, as `simulate()` returns it.
    """
    places = np.arange(len(trace.kinds))[:, np.newaxis]
    return np.asarray((trace.places(CREATE) <= places) & (places < evicted_at))
