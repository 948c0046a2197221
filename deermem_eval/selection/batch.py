"""The batch selector: any number of pools under any number of weights at all capacities, on arrays.

Promises: what it keeps, and in which order, is bit for bit what `select_facts_for_capacity()` keeps
under `hybrid-v1`; memory is bounded, whatever the number of weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deermem_eval.cases import Case
from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import (
    access_heat,
    confirmation_freshness,
    is_correction,
    stored_confidence,
)
from deermem_eval.weights import weights_problem

CHUNK_VALUES = 4_000_000
"""Most values (weights x pools x capacities x facts) that are worked on at a time; a byte or eight each."""
Pool = tuple[Sequence[Any], Mapping[str, Any]]
"""The facts of a store, and its usage entries by fact id."""
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class PoolArrays:
    """Pools as arrays, padded to the size of the largest.

    Attributes
    ----------
    components : array of float, shape (pools, facts, 3)
        Confidence, confirmation freshness and access heat, in [0, 1].
    is_correction, is_fact : array of bool, shape (pools, facts)
        Where corrections stand, and where facts do.
    """

    components: Floats
    is_correction: Booleans
    is_fact: Booleans

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Facts of each pool."""
        return np.asarray(self.is_fact.sum(axis=1), dtype=np.int64)


def pool_arrays(
    pools: Sequence[Pool],
    *,
    now: datetime,
    confirmation_half_life_days: float = 90,
    access_half_life_days: float = 30,
) -> PoolArrays:
    """Score the components of every fact; dirty values as in `deermem_eval.policies.scores`.

    Parameters
    ----------
    pools : sequence of (facts, usage)
        Of any sizes, also empty.
    now : datetime
        The evaluation clock, with a time zone.
    confirmation_half_life_days, access_half_life_days : float
        Positive, in days.
    """
    largest = max((len(facts) for facts, _ in pools), default=0)
    components = np.zeros((len(pools), largest, 3))
    corrections = np.zeros((len(pools), largest), dtype=bool)
    is_fact = np.zeros((len(pools), largest), dtype=bool)
    for place, (facts, usage) in enumerate(pools):
        for i, fact in enumerate(facts):
            fields = fact if isinstance(fact, Mapping) else {}
            components[place, i] = (
                stored_confidence(fields),
                confirmation_freshness(fields, now, confirmation_half_life_days),
                access_heat(usage_of(fields, usage), now, access_half_life_days),
            )
            corrections[place, i] = is_correction(fact)
            is_fact[place, i] = True
    return PoolArrays(components, corrections, is_fact)


def usage_of(fact: Mapping[str, Any], usage: Mapping[str, Any]) -> object:
    """Return the usage entry of a fact; None where it has none, or no id."""
    id_ = str(fact.get("id") or "")
    return usage.get(id_) if id_ else None


def case_pools(cases: Sequence[Case]) -> list[Pool]:
    """Return the pools of cases, for `pool_arrays()`."""
    return [(case.facts, case.usage) for case in cases]


def support_mask(cases: Sequence[Case], arrays: PoolArrays) -> Booleans:
    """Return where the support facts of cases stand in their pools, shape (pools, facts)."""
    mask = np.zeros(arrays.is_fact.shape, dtype=bool)
    for place, case in enumerate(cases):
        for i, fact in enumerate(case.facts):
            mask[place, i] = fact["id"] in case.support_fact_ids
    return mask


def checked_weights(weights: ArrayLike) -> Floats:
    """Return weight triples as an array of shape (triples, 3).

    Raises
    ------
    DeermemEvalError
        A triple is none, has a weight outside [0, 1], or does not sum to 1; the first is named.
    """
    triples = np.asarray(weights, dtype=float)
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise DeermemEvalError(f"weights have the shape {triples.shape}, and must be triples")
    in_range = ((triples >= 0) & (triples <= 1)).all(axis=1)
    wrong = np.flatnonzero(~(in_range & (np.abs(triples.sum(axis=1) - 1) <= 1e-9)))
    if wrong.size:
        problem = weights_problem(*(float(value) for value in triples[wrong[0]]))
        raise DeermemEvalError(f"weights row {wrong[0]}: {problem}; correct it")
    return triples


def ranks_of(arrays: PoolArrays, weights: Floats) -> NDArray[np.intp]:
    """Rank every fact of every pool, best score first, ties in input order; padding comes last.

    Parameters
    ----------
    arrays : PoolArrays
    weights : array of float, shape (triples, 3)

    Returns
    -------
    array of int, shape (triples, pools, facts)
        From 0.
    """
    confidence, freshness, heat = np.moveaxis(arrays.components, 2, 0)
    w = weights[:, :, np.newaxis, np.newaxis]
    # In the order in which the per-store function adds, so that the last bit agrees.
    scores = w[:, 0] * confidence + w[:, 1] * freshness + w[:, 2] * heat
    np.negative(scores, out=scores)
    scores[:, ~arrays.is_fact] = np.inf
    order = np.argsort(scores, axis=2, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(order.shape[2])[np.newaxis, np.newaxis], axis=2)
    return ranks


def kept_in_batch(
    arrays: PoolArrays,
    weights: ArrayLike,
    capacities: Sequence[int],
    *,
    correction_reserved_fraction: float = 0.10,
    correction_reserved_max: int = 10,
) -> Iterator[tuple[slice, Booleans]]:
    """Yield which facts are kept, for as many weight triples at a time as `CHUNK_VALUES` allows.

    Parameters
    ----------
    arrays : PoolArrays
    weights : array of float, shape (triples, 3)
        Each in [0, 1], summing to 1.
    capacities : sequence of int
        At least 0 each.
    correction_reserved_fraction, correction_reserved_max
        As for `select_facts_for_capacity()`.

    Yields
    ------
    triples : slice
        Which of the triples.
    kept : array of bool, shape (triples, pools, capacities, facts)

    Raises
    ------
    DeermemEvalError
        A triple is not acceptable.
    """
    every = np.broadcast_to(np.arange(arrays.is_fact.shape[1]), arrays.is_fact.shape)
    reserve = _Reserve(correction_reserved_fraction, correction_reserved_max)
    triples = checked_weights(weights)
    for part in _chunks(arrays, triples, len(capacities)):
        yield part, _kept(arrays, triples[part], capacities, reserve, every)


def retained_in_batch(
    arrays: PoolArrays,
    support: Booleans,
    weights: ArrayLike,
    capacities: Sequence[int],
    **reserve: Any,
) -> Booleans:
    """Return whether all support facts of a pool are kept, shape (triples, pools, capacities).

    Parameters
    ----------
    arrays, weights, capacities, reserve
        As for `kept_in_batch()`.
    support : array of bool, shape (pools, facts)
        As `support_mask()` returns it.
    """
    triples = checked_weights(weights)
    columns = np.argsort(~support, axis=1, kind="stable")[:, : support.sum(axis=1).max(initial=0)]
    is_support = np.take_along_axis(support, columns, axis=1)[:, np.newaxis]
    retained = np.empty((len(triples), len(arrays.sizes), len(capacities)), dtype=bool)
    for part in _chunks(arrays, triples, len(capacities)):
        kept = _kept(arrays, triples[part], capacities, _Reserve(**reserve), columns)
        retained[part] = (kept | ~is_support).all(axis=3)
    return retained


@dataclass(frozen=True)
class _Reserve:
    correction_reserved_fraction: float = 0.10
    correction_reserved_max: int = 10

    def slots(self, capacities: NDArray[np.int64]) -> NDArray[np.int64]:
        wanted = np.ceil(capacities * self.correction_reserved_fraction)
        return np.asarray(np.minimum(self.correction_reserved_max, wanted), dtype=np.int64)


def _kept(
    arrays: PoolArrays,
    triples: Floats,
    capacities: Sequence[int],
    reserve: _Reserve,
    columns: NDArray[np.intp],
) -> Booleans:
    """Say of some facts of each pool whether they are kept, shape (triples, pools, capacities, columns)."""
    at = np.asarray(capacities, dtype=np.int64)
    slots = reserve.slots(at)
    ranks = ranks_of(arrays, triples)
    asked = np.take_along_axis(ranks, columns[np.newaxis], axis=2).astype(np.int32)
    below = np.minimum(at, np.iinfo(np.int32).max).astype(np.int32)
    kept: Booleans = asked[:, :, np.newaxis] < below[:, np.newaxis]
    pools = np.flatnonzero(arrays.is_correction.any(axis=1) & slots.any())
    if pools.size:
        corrections, of_pools = arrays.is_correction[pools], columns[pools]
        before = _corrections_before(corrections, ranks[:, pools])
        before = np.take_along_axis(before, of_pools[np.newaxis], axis=2)[:, :, np.newaxis]
        is_correction = np.take_along_axis(corrections, of_pools, axis=1)[:, np.newaxis]
        each = slots[:, np.newaxis]
        free = (at - np.minimum(slots, corrections.sum(axis=1)[:, np.newaxis]))[:, :, np.newaxis]
        competing = asked[:, pools, np.newaxis] - np.minimum(before, each)
        kept[:, pools] = (is_correction & (before < each)) | (competing < free)
    kept |= (arrays.sizes[:, np.newaxis] <= at)[:, :, np.newaxis]
    kept &= np.take_along_axis(arrays.is_fact, columns, axis=1)[:, np.newaxis]
    return kept


def _corrections_before(is_correction: Booleans, ranks: NDArray[np.intp]) -> NDArray[np.int64]:
    """Count, for each fact, the corrections of its pool that rank before it."""
    by_rank = np.zeros(ranks.shape, dtype=np.int64)
    np.put_along_axis(by_rank, ranks, np.broadcast_to(is_correction, ranks.shape), axis=2)
    before = np.cumsum(by_rank, axis=2) - by_rank
    return np.take_along_axis(before, ranks, axis=2)


def _chunks(arrays: PoolArrays, triples: Floats, capacities: int) -> Iterator[slice]:
    values = max(1, arrays.is_fact.size * max(1, capacities))
    step = max(1, CHUNK_VALUES // values)
    for start in range(0, len(triples), step):
        yield slice(start, min(start + step, len(triples)))
