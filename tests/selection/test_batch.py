"""The batch selector equals the per-store function bit for bit."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import select_facts_for_capacity
from deermem_eval.selection import batch as batch_module
from deermem_eval.selection import (
    case_pools,
    kept_in_batch,
    pool_arrays,
    ranks_of,
    retained_in_batch,
    simplex_grid,
    support_mask,
)

NOW = datetime(2026, 8, 13, tzinfo=UTC)
TIMES = ("2026-08-06T00:00:00Z", "2026-02-14T00:00:00+02:00", "2027-01-01", "", None, 7, "soon")
CONFIDENCES = (0.7, 0.70, 0.9, 1, 0, -3, 12, "0.4", None, True, float("nan"), "high", [])
HEATS = (0, 1, 8, 2.5, -1, "3", None, float("inf"))
FACT = st.fixed_dictionaries(
    {},
    optional={
        "confidence": st.sampled_from(CONFIDENCES),
        "category": st.sampled_from(("correction", " Correction ", "context", None, 5)),
        "lastConfirmedAt": st.sampled_from(TIMES),
        "createdAt": st.sampled_from(TIMES),
    },
)
USAGE = st.fixed_dictionaries(
    {}, optional={"accessHeat": st.sampled_from(HEATS), "lastAccessedAt": st.sampled_from(TIMES)}
)


@st.composite
def pools(draw):
    size = draw(st.one_of(st.integers(0, 12), st.integers(0, 200)))
    seeds = draw(st.lists(FACT, min_size=1, max_size=8))
    entries = draw(st.lists(USAGE, min_size=1, max_size=5))
    turn = draw(st.integers(0, 10_000))
    facts = [{"id": f"f{i}", **seeds[(i * i + turn) % len(seeds)]} for i in range(size)]
    usage = {f"f{i}": entries[(i + turn) % len(entries)] for i in range(0, size, 2)}
    return facts, usage


TRIPLES = st.tuples(st.integers(0, 40), st.integers(0, 40)).map(
    lambda pair: (min(pair) / 40, abs(pair[0] - pair[1]) / 40, (40 - max(pair)) / 40)
)


@settings(max_examples=60)
@given(
    st.lists(pools(), min_size=1, max_size=4),
    st.lists(TRIPLES, min_size=1, max_size=3),
    st.lists(st.integers(0, 210), min_size=1, max_size=3),
    st.sampled_from((0.0, 0.1, 0.5, 1.0)),
    st.integers(0, 12),
)
def test_it_keeps_what_the_per_store_function_keeps(pools, triples, capacities, fraction, most):
    reserve = {"correction_reserved_fraction": fraction, "correction_reserved_max": most}
    arrays = pool_arrays(pools, now=NOW)
    weights = np.array(triples)
    ranks = ranks_of(arrays, weights)
    for part, kept in kept_in_batch(arrays, weights, capacities, **reserve):
        for w, triple in enumerate(weights[part]):
            for place, (facts, usage) in enumerate(pools):
                for k, capacity in enumerate(capacities):
                    decision = select_facts_for_capacity(
                        facts,
                        max_facts=capacity,
                        policy="hybrid-v1",
                        usage=usage,
                        now=NOW,
                        confidence_weight=triple[0],
                        confirmation_weight=triple[1],
                        access_weight=triple[2],
                        **reserve,
                    )
                    mine = np.flatnonzero(kept[w, place, k])
                    if len(facts) > capacity:
                        mine = sorted(mine, key=lambda i: ranks[part.start + w, place, i])
                    assert [facts[i]["id"] for i in mine] == [f["id"] for f in decision.kept]


def test_the_historical_grid_keeps_all_at_eighteen_triples(historical, historical_cases):
    arrays = pool_arrays(case_pools(historical_cases), now=historical.config.evaluation_time)
    support = support_mask(historical_cases, arrays)
    retained = retained_in_batch(arrays, support, simplex_grid(0.05), [7])[:, :, 0]
    assert (len(retained), retained.all(axis=1).sum()) == (231, 18)
    published, confidence = retained_in_batch(arrays, support, [(0.65, 0.25, 0.1), (1, 0, 0)], [7])
    assert (published.sum(), confidence.sum()) == (45, 31)
    assert retained_in_batch(
        arrays, support, [(1, 0, 0)], [5, 7, 9], correction_reserved_max=0
    ).sum(axis=1).tolist() == [[20, 27, 35]]


def test_chunks_do_not_change_what_comes_out(historical, historical_cases, monkeypatch):
    arrays = pool_arrays(case_pools(historical_cases), now=historical.config.evaluation_time)
    support = support_mask(historical_cases, arrays)
    grid = simplex_grid(0.1)
    whole = retained_in_batch(arrays, support, grid, [3, 7])
    monkeypatch.setattr(batch_module, "CHUNK_VALUES", 1)
    assert len(list(kept_in_batch(arrays, grid, [3, 7]))) == len(grid)
    assert (retained_in_batch(arrays, support, grid, [3, 7]) == whole).all()


def test_no_pool_and_no_fact_are_no_work():
    arrays = pool_arrays([], now=NOW)
    assert retained_in_batch(arrays, np.zeros((0, 0), bool), [(1, 0, 0)], [7]).shape == (1, 0, 1)
    arrays = pool_arrays([([], {})], now=NOW)
    ((_, kept),) = kept_in_batch(arrays, [(1, 0, 0)], [0, 7])
    assert kept.shape == (1, 1, 2, 0)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([(0.5, 0.5, 0.5)], r"weights row 0: the weights \(0.5, 0.5, 0.5\) sum to 1.5"),
        ([(1, 0, 0), (-0.1, 0.6, 0.5)], "weights row 1: the confidence weight is -0.1"),
        ([(float("nan"), 0, 1)], "the confidence weight is nan"),
        ([(float("inf"), 0, 0)], "the confidence weight is inf"),
        ([(1, 0)], "must be triples"),
        ([1, 0, 0], "must be triples"),
    ],
)
def test_weights_that_are_none_are_refused(weights, said):
    arrays = pool_arrays([([], {})], now=NOW)
    with pytest.raises(DeermemEvalError, match=said):
        list(kept_in_batch(arrays, weights, [7]))


@pytest.mark.parametrize(
    ("step", "points"), [(1, 3), (0.5, 6), (0.05, 231), (0.01, 5151), (0.1, 66)]
)
def test_the_grid_has_every_triple_of_its_step_once(step, points):
    grid = simplex_grid(step)
    assert len(grid) == points == len({tuple(row) for row in grid})
    assert np.allclose(grid.sum(axis=1), 1)
    assert (np.abs(grid / step - np.round(grid / step)) < 1e-9).all()


@pytest.mark.parametrize("step", [0.3, 0, -0.1, 1.5, float("nan"), 1e-9])
def test_a_step_that_does_not_divide_one_is_refused(step):
    with pytest.raises(DeermemEvalError, match="step is .*, and must divide 1"):
        simplex_grid(step)
