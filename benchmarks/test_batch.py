"""The batch selector and the exact regions, on the historical cases."""

import time
import tracemalloc

import numpy as np
import pytest

from deermem_eval.cases import load_cases
from deermem_eval.policies import select_facts_for_capacity
from deermem_eval.protocol import load_protocol
from deermem_eval.selection import (
    case_arrays,
    case_regions,
    kept_in_batch,
    pool_arrays,
    simplex_grid,
)
from deermem_eval.selection.batch import case_pools

LOOP_SHARE = 11
"""The loop is measured on every eleventh triple, 21 of 231, and its time scaled."""
CAPACITIES = range(1, 10)


@pytest.fixture(scope="module")
def protocol():
    return load_protocol("pr4789")


@pytest.fixture(scope="module")
def cases(protocol):
    return load_cases(protocol)


@pytest.fixture
def on_cpu(benchmark):
    """Run a function some times, write down the CPU that it takes, and return its result."""

    def run(function, rounds, scale=1.0):
        spent = []

        def once():
            began = time.process_time()
            result = function()
            spent.append(time.process_time() - began)
            return result

        result = benchmark.pedantic(once, rounds=rounds, warmup_rounds=1 if rounds > 1 else 0)
        benchmark.extra_info["cpu_seconds"] = sorted(spent)[len(spent) // 2] * scale
        return result

    return run


def on_arrays(protocol, cases, triples):
    arrays, _ = case_arrays(cases, protocol.config)
    return [kept for _, kept in kept_in_batch(arrays, triples, CAPACITIES)]


def literal_loop(protocol, cases, triples):
    return [
        [[_kept_ids(case, k, triple, protocol) for k in CAPACITIES] for case in cases]
        for triple in triples.tolist()
    ]


def _kept_ids(case, capacity, triple, protocol):
    decision = select_facts_for_capacity(
        case.facts,
        max_facts=capacity,
        policy="hybrid-v1",
        usage=case.usage,
        now=protocol.config.evaluation_time,
        confidence_weight=triple[0],
        confirmation_weight=triple[1],
        access_weight=triple[2],
    )
    return {fact["id"] for fact in decision.kept}


@pytest.mark.parametrize("way", [on_arrays, literal_loop])
def test_grid_of_231(benchmark, on_cpu, protocol, cases, way):
    benchmark.group = "batch, 231 triples x 45 cases x 9 capacities"
    grid = simplex_grid(0.05)
    few = grid[::LOOP_SHARE]
    if way is literal_loop:
        scale = len(grid) / len(few)
        benchmark.extra_info["measured_on"] = f"{len(few)} of {len(grid)} triples, scaled"
        found = on_cpu(lambda: literal_loop(protocol, cases, few), 1, scale)
        (kept,) = [np.concatenate(on_arrays(protocol, cases, few))]
        for w in range(len(few)):
            for place, case in enumerate(cases):
                for k in range(len(CAPACITIES)):
                    ids = {case.facts[i]["id"] for i in np.flatnonzero(kept[w, place, k])}
                    assert ids == found[w][place][k]
    else:
        assert sum(map(len, on_cpu(lambda: on_arrays(protocol, cases, grid), 10))) == 231


def test_grid_of_5151(benchmark, on_cpu, protocol, cases):
    benchmark.group = "batch, 5,151 triples x 45 cases x 10 capacities"
    arrays, _ = case_arrays(cases, protocol.config)
    grid = simplex_grid(0.01)

    def run():
        return sum(len(kept) for _, kept in kept_in_batch(arrays, grid, range(1, 11)))

    assert on_cpu(run, 3) == 5_151
    tracemalloc.start()
    run()
    benchmark.extra_info["megabytes"] = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("what", ["triples", "cases"])
@pytest.mark.parametrize("times", [1, 2, 4])
def test_growth(benchmark, on_cpu, protocol, cases, what, times):
    benchmark.group = f"batch, growth with {what} from 1,326 triples x 45 cases x 9 capacities"
    pools, grid = case_pools(cases), simplex_grid(0.02)
    if what == "cases":
        pools = pools * times
    else:
        grid = np.tile(grid, (times, 1))
    arrays = pool_arrays(pools, now=protocol.config.evaluation_time)

    def run():
        return sum(len(kept) for _, kept in kept_in_batch(arrays, grid, CAPACITIES))

    assert on_cpu(run, 7) == len(grid)
    benchmark.extra_info["times"] = times


def test_exact_regions(benchmark, on_cpu, protocol, cases):
    benchmark.group = "exact regions of 45 cases at capacity 7"
    arrays, support = case_arrays(cases, protocol.config)
    ids = [case.case_id for case in cases]
    assert len(on_cpu(lambda: case_regions(arrays, support, ids, 7), 3)) == 45
