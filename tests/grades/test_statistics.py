import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import (
    PairedCounts,
    bootstrap_difference,
    mcnemar_p,
    paired_counts,
    resampled_indices,
    smallest_attainable_p,
    wilson_interval,
)


def literal_bootstrap(baseline, candidate, *, seed, iterations, alpha):
    """The published procedure, one draw at a time."""
    stream, cases = random.Random(seed), len(baseline)
    differences = []
    for _ in range(iterations):
        drawn = [stream.randrange(cases) for _ in range(cases)]
        mean_candidate = sum(candidate[i] for i in drawn) / cases
        mean_baseline = sum(baseline[i] for i in drawn) / cases
        differences.append(mean_candidate - mean_baseline)
    differences.sort()
    return (
        differences[math.floor(alpha / 2 * iterations)],
        differences[max(0, math.floor((1 - alpha / 2) * iterations) - 1)],
    )


@pytest.mark.parametrize("cases", [1, 5, 40, 45, 64, 100])
def test_the_bootstrap_equals_a_literal_loop(cases):
    outcomes = random.Random(cases)
    baseline, candidate = ([outcomes.random() < p for _ in range(cases)] for p in (0.5, 0.8))
    arguments = {"seed": 4789, "iterations": 2000, "alpha": 0.05}
    interval = bootstrap_difference(baseline, candidate, **arguments)
    assert (interval.lower, interval.upper) == literal_bootstrap(baseline, candidate, **arguments)


@pytest.mark.parametrize("cases", [1, 2, 3, 5, 40, 45, 63, 64, 65, 100, 1000])
def test_the_stream_is_that_of_randrange(cases):
    stream = random.Random(4789)
    expected = [[stream.randrange(cases) for _ in range(cases)] for _ in range(20)]
    assert resampled_indices(cases, seed=4789, iterations=20).tolist() == expected


@pytest.mark.parametrize(("iterations", "alpha"), [(1, 0.05), (3, 0.5), (10, 0.99)])
def test_few_resamples_still_give_bounds(iterations, alpha):
    arguments = {"seed": 1, "iterations": iterations, "alpha": alpha}
    interval = bootstrap_difference([0, 1, 0], [1, 1, 0], **arguments)
    assert (interval.lower, interval.upper) == literal_bootstrap([0, 1, 0], [1, 1, 0], **arguments)


def test_the_global_random_state_is_left_alone():
    random.seed(5)
    state = random.getstate()
    np.random.seed(5)
    first = np.random.random()
    np.random.seed(5)
    bootstrap_difference([0, 1], [1, 1])
    assert random.getstate() == state
    assert np.random.random() == first


def test_counts_are_a_two_by_two_table():
    counts = paired_counts([1, 1, 0, 0, 0], [1, 0, 1, 1, 0])
    assert counts == PairedCounts(both=1, baseline_only=1, candidate_only=2, neither=1)
    assert (counts.cases, counts.discordant) == (5, 3)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_two_sided_binomial(b, c):
    n, k = b + c, min(b, c)
    tail = sum(math.comb(n, i) for i in range(k + 1)) / 2**n
    expected = min(1.0, 2 * tail)
    assert mcnemar_p(PairedCounts(3, b, c, 4)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("cases", range(1, 60))
def test_the_smallest_p_is_that_of_all_pairs_discordant_one_way(cases):
    reached = mcnemar_p(PairedCounts(0, 0, cases, 0))
    assert smallest_attainable_p(cases) == pytest.approx(reached, rel=1e-9)


def test_five_cases_cannot_be_significant():
    assert smallest_attainable_p(5) == 0.0625


@pytest.mark.parametrize(
    ("correct", "cases", "lower", "upper"),
    [(10, 10, 0.7224672, 1.0), (3, 10, 0.1077913, 0.6032219), (0, 5, 0.0, 0.4344825)],
)
def test_wilson_intervals(correct, cases, lower, upper):
    """The closed form with z = 1.959964, worked out by hand."""
    interval = wilson_interval(correct, cases)
    assert interval.estimate == correct / cases
    assert (interval.lower, interval.upper) == pytest.approx((lower, upper), abs=1e-6)


@pytest.mark.parametrize("outcome", [None, "False", 2, float("nan")])
def test_what_was_never_graded_is_not_wrong(outcome):
    with pytest.raises(DeermemEvalError, match="neither true nor false"):
        paired_counts([True, outcome], [True, True])


@pytest.mark.parametrize("arguments", [{"iterations": 0}, {"alpha": 0}, {"alpha": 1}])
def test_a_bootstrap_of_nothing_is_refused(arguments):
    with pytest.raises(DeermemEvalError, match="at least 1 resample and an alpha between"):
        bootstrap_difference([1, 0], [1, 1], **arguments)


@pytest.mark.parametrize(("correct", "cases"), [(5, 3), (0, 0), (-1, 2)])
def test_a_share_of_other_counts_is_refused(correct, cases):
    with pytest.raises(DeermemEvalError, match="is no share"):
        wilson_interval(correct, cases)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1], [1, 0]), ([[1]], [[1]])])
def test_unpaired_outcomes_are_refused(first, second):
    with pytest.raises(DeermemEvalError, match="equally long, non-empty"):
        paired_counts(first, second)
