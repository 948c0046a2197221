"""The pinned bootstrap on arrays, against the literal loop over `randrange` on the same work."""

import random

import pytest

from deermem_eval.grades import bootstrap_difference

ITERATIONS = 10_000
OUTCOMES = {
    cases: tuple([random.Random(seed).random() < 0.6 for _ in range(cases)] for seed in (1, 2))
    for cases in (5, 40, 100)
}


def literal_loop(baseline, candidate):
    stream, cases = random.Random(4789), len(baseline)
    differences = []
    for _ in range(ITERATIONS):
        drawn = [stream.randrange(cases) for _ in range(cases)]
        differences.append(
            sum(candidate[i] for i in drawn) / cases - sum(baseline[i] for i in drawn) / cases
        )
    differences.sort()
    return differences[250], differences[9749]


def on_arrays(baseline, candidate):
    interval = bootstrap_difference(baseline, candidate, iterations=ITERATIONS)
    return interval.lower, interval.upper


@pytest.mark.parametrize("cases", OUTCOMES)
@pytest.mark.parametrize("way", [on_arrays, literal_loop])
def test_bootstrap(benchmark, cases, way):
    benchmark.group = f"bootstrap, {cases} cases"
    bounds = benchmark.pedantic(way, OUTCOMES[cases], rounds=5, warmup_rounds=1)
    assert bounds == on_arrays(*OUTCOMES[cases])
