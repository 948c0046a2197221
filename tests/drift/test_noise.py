"""Noise: natural repeats, their intervals, and what exceeds them."""

from math import comb

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deermem_eval.drift import (
    Side,
    against_the_floor,
    exact_interval,
    exceeds_by_chance,
    natural_repeats,
    noise_floor,
    noise_of,
)


def graded(run, rows):
    columns = ["case_id", "policy", "request_fingerprint", "answer_sha256", "correct"]
    return pd.DataFrame(rows, columns=columns).assign(run=run)


FIRST = graded(
    "first",
    [
        ("c1", "confidence", "same", "x", True),
        ("c1", "hybrid-v1", "same", "y", True),
        ("c2", "confidence", "one", "x", True),
        ("c2", "hybrid-v1", "other", "x", True),
    ],
)
SECOND = graded(
    "second",
    [
        ("c1", "confidence", "changed", "x", True),
        ("c1", "hybrid-v1", "changed", "x", True),
        ("c2", "confidence", "one", "x", False),
        ("c2", "hybrid-v1", "elsewhere", "z", True),
    ],
)


def test_repeats_are_rows_of_the_same_bytes_within_a_run_and_between_two():
    repeats = natural_repeats(pd.concat([FIRST, SECOND]))
    assert repeats.to_dict("records") == [
        row("first", "first", "c1", "same", same_text=False, same_grade=True),
        row("second", "second", "c1", "changed", same_text=True, same_grade=True),
        row("first", "second", "c2", "one", same_text=True, same_grade=False),
    ]
    floor = noise_floor(repeats).set_index(["between", "layer"])
    within = floor.loc[("the policies of one run", "answer text")]
    assert (within["pairs"], within["differing"]) == (2, 1)
    assert floor.loc[("two runs", "grade"), "differing"] == 1


def row(run_a, run_b, case_id, fingerprint, **same):
    of = {"run_a": run_a, "run_b": run_b, "case_id": case_id, "request_fingerprint": fingerprint}
    return of | same


def test_the_published_runs_have_39_natural_repeats(facts_study):
    sides = [facts_study.side(name) for name in ("run1", "run2", "run3")]
    floor, against = noise_of(*sides, alpha=0.05)
    assert floor["pairs"].to_list() == [39, 39]
    assert floor["differing"].to_list() == [5, 0]
    assert against.set_index(["run_a", "run_b", "layer"])["differing"].to_dict() == {
        ("run1", "run2", "answer text"): 21,
        ("run1", "run2", "grade"): 6,
        ("run1", "run3", "answer text"): 30,
        ("run1", "run3", "grade"): 4,
        ("run2", "run3", "answer text"): 24,
        ("run2", "run3", "grade"): 2,
    }
    assert against[against["is_drift"]]["differing"].to_list() == [30]


def test_repeated_runs_are_noise_and_no_drift():
    both = pd.concat([FIRST, FIRST.assign(run="again", answer_sha256="w")])
    repeats = natural_repeats(both)
    against = against_the_floor(both, repeats)
    assert against["rows"].eq(0).all()
    assert not against["is_drift"].any()
    assert len(repeats) == 2 + 4


def many(run, changed):
    rows = [
        (
            f"c{i}",
            policy,
            f"{'other' if run == 'b' and i < changed else 'same'} {i} {policy}",
            "x",
            True,
        )
        for i in range(45)
        for policy in ("confidence", "hybrid-v1")
    ]
    return graded(run, rows)


def test_a_few_changed_requests_stand_out_from_many_that_are_the_same():
    a, b = many("a", 2), many("b", 2)
    changed = b["request_fingerprint"].str.startswith("other")
    b.loc[changed, ["answer_sha256", "correct"]] = ["y", False]
    both = pd.concat([a, b])
    against = against_the_floor(both, natural_repeats(both))
    assert against["rows"].to_list() == [4, 4]
    assert against["differing"].to_list() == [4, 4]
    assert against["is_drift"].all()
    assert against["p_value"].max() < 1e-6


def side(name, rows, grader="v1"):
    return Side(name, {}, grader=grader, answered=rows)


def test_a_side_that_is_given_twice_counts_once():
    once, _ = noise_of(side("a", FIRST), alpha=0.05)
    for again in ("a", "copy"):
        twice, against = noise_of(side("a", FIRST), side(again, FIRST), alpha=0.05)
        assert twice.equals(once)
        assert against.empty


def test_without_grades_or_with_two_graders_texts_are_measured_alone():
    ungraded = SECOND.assign(correct=None)
    for sides in (
        (side("first", FIRST), side("second", ungraded)),
        (side("first", FIRST), side("second", SECOND, "v2")),
    ):
        floor, against = noise_of(*sides, alpha=0.05)
        assert set(floor["layer"]) == set(against["layer"]) == {"answer text"}


def test_a_floor_can_be_measured_on_more_runs_than_are_compared(facts_study):
    sides = [facts_study.side(name) for name in ("run1", "run3")]
    floor, against = noise_of(*sides, alpha=0.05, more=facts_study.outcomes)
    assert floor["pairs"].to_list() == [39, 39]
    assert against["p_value"].round(4).to_list() == [0.0117, 0.2321]


def test_the_interval_is_clopper_and_pearsons():
    """Its bounds are where the observed count has a probability of 2.5 % on either side."""
    lower, upper = exact_interval(5, 39)
    at_least = sum(comb(39, k) * lower**k * (1 - lower) ** (39 - k) for k in range(5, 40))
    at_most = sum(comb(39, k) * upper**k * (1 - upper) ** (39 - k) for k in range(6))
    assert (at_least, at_most) == (pytest.approx(0.025), pytest.approx(0.025))
    assert exact_interval(0, 39)[0] == 0


@given(
    st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
)
def test_the_exact_p_is_fishers(of_runs, of_floor):
    from scipy.stats import fisher_exact

    (differing, compared), (floor, pairs) = of_runs, of_floor
    p = exceeds_by_chance(differing, compared, floor, pairs)
    if not compared or not pairs:
        assert p == 1.0
        return
    table = [[differing, compared - differing], [floor, pairs - floor]]
    assert p == pytest.approx(fisher_exact(table, alternative="greater").pvalue)
