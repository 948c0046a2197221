"""Simulated lives: events a second, the study, and the simulator against one store at a time."""

import time
import tracemalloc

import numpy as np
import pytest

from deermem_eval.traces import (
    Making,
    Setting,
    Study,
    confidences,
    made_life,
    made_lives,
    run_study,
    simulate,
)
from deermem_eval.traces.store_by_store import simulate_each

SEEDS = 20
LOOP_SEEDS = 2


@pytest.fixture(scope="module")
def life():
    """A long life: 2,000 facts, 12,000 accesses."""
    return made_life("long", 0, Making(facts=2_000, accesses=12_000, needs=1_000, days=1_000))


@pytest.mark.parametrize(
    ("way", "policy"),
    [
        ("on_arrays", "confidence"),
        ("on_arrays", "hybrid-v1"),
        ("on_arrays", "forgetting-curve"),
        ("literal_loop", "forgetting-curve"),
    ],
)
def test_lives(benchmark, life, way, policy):
    seeds = SEEDS if way == "on_arrays" else LOOP_SEEDS
    benchmark.group = f"lives of {len(life.kinds):,} events at capacity 100, {policy}"
    numbers = np.arange(seeds)
    confidence = np.array([confidences(life, "rho=0.3", seed) for seed in numbers])
    spent = []

    def run():
        began = time.process_time()
        live = simulate_each if way == "literal_loop" else simulate
        found = live(life, Setting(policy, 100), confidence, numbers)
        spent.append(time.process_time() - began)
        return found

    found = benchmark.pedantic(run, rounds=1 if way == "literal_loop" else 3)
    assert found.shape == (seeds, len(life.fact_ids))
    benchmark.extra_info["cpu_seconds"] = min(spent) * SEEDS / seeds
    benchmark.extra_info["events_a_second"] = len(life.kinds) * seeds / min(spent)


@pytest.mark.parametrize("seeds", [20, 80])
def test_study(benchmark, seeds):
    """Two of the ten lives of the default study; memory as the seeds grow."""
    lives = made_lives(2)
    benchmark.group = f"study of 2 lives, {seeds} seeds"
    spent = []

    def run():
        began = time.process_time()
        found = run_study(lives, Study(seeds=seeds))
        spent.append(time.process_time() - began)
        return found

    rows = benchmark.pedantic(run, rounds=1)
    assert len(rows) == 2 * 6 * (10 * 5 * seeds + 1)
    benchmark.extra_info["cpu_seconds"] = min(spent)
    tracemalloc.start()
    run_study(lives[:1], Study(seeds=seeds, capacities=(100,), policies=("hybrid-v1",)))
    benchmark.extra_info["megabytes"] = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
