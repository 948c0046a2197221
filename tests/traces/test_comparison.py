"""Comparisons over lives: signs flipped by brute force, Holm by hand, tables from a small one."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces import (
    COMPARISON_COLUMNS,
    OUTCOME_COLUMNS,
    cluster_interval,
    compare_policies,
    comparison_in_words,
    holm,
    shares_by_life,
    shares_by_setting,
    sign_flip_p,
)

QUARTERS = st.integers(-8, 8).map(lambda n: n / 4)
from deermem_eval.traces.comparison import smallest_p


@given(st.lists(QUARTERS, min_size=1, max_size=9))
def test_the_sign_flip_test_counts_the_ways_that_are_at_least_as_far(differences):
    observed = abs(sum(differences))
    ways = list(itertools.product((1, -1), repeat=len(differences)))
    far = [abs(sum(map(float.__mul__, differences, map(float, way)))) for way in ways]
    assert sign_flip_p(differences) == sum(one >= observed for one in far) / len(ways)


@pytest.mark.parametrize("lives", [1, 2, 5, 10, 16])
def test_lives_that_all_go_one_way_have_the_smallest_p_that_there_is(lives):
    differences = np.linspace(0.01, 0.2, lives)
    assert sign_flip_p(differences) == sign_flip_p(-differences) == 2 / 2**lives


def test_no_difference_at_all_is_no_evidence():
    assert sign_flip_p([0.0] * 6) == 1
    assert sign_flip_p([0.0]) == 1


def test_many_lives_are_flipped_at_random_and_come_near_what_is_exact():
    differences = np.random.default_rng(2).normal(0.25, 1, 20)
    exact = sign_flip_p(differences)
    assert sign_flip_p([*differences, 0.0]) == pytest.approx(exact, abs=0.006)
    assert sign_flip_p([0.1] * 60) == smallest_p(60) == 1 / 100_001


@settings(max_examples=25)
@given(st.lists(st.integers(1, 1000).map(lambda n: n / 1000), min_size=1, max_size=12))
def test_holm_is_holms(p_values):
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    expected, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        expected[i] = highest
    assert holm(np.array(p_values)) == pytest.approx(expected)


@settings(max_examples=30)
@given(st.lists(QUARTERS, min_size=2, max_size=12), st.sampled_from((0.01, 0.05, 0.3)))
def test_the_interval_lies_among_the_differences_around_their_mean(differences, alpha):
    lower, upper = cluster_interval(differences, alpha=alpha)
    assert min(differences) <= lower <= upper <= max(differences)
    assert lower <= np.mean(differences) <= upper


def test_the_interval_of_equal_differences_is_a_point_and_a_wider_one_holds_a_narrower():
    assert cluster_interval([0.25] * 7) == (0.25, 0.25)
    differences = np.random.default_rng(3).random(10)
    narrow, wide = (cluster_interval(differences, alpha=alpha) for alpha in (0.3, 0.01))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert cluster_interval(differences) == cluster_interval(differences)


MET = {
    "confidence": ((2, 4), (6, 6), (5, 5)),
    "hybrid-v1": ((4, 6), (8, 8), (4, 6)),
    "clairvoyant": ((8, 8), (9, 9), (9, 9)),
}
BOUND_MET = (9, 10, 9)


def outcomes(capacities=(25, 50)):
    """Two seeds and three lives of ten needs; at the larger capacity one need more is met."""
    rows = []
    for capacity in capacities:
        more = int(capacity > 25)
        for life, name in enumerate(("ana", "ben", "cleo")):
            common = dict.fromkeys(("needs", "facts"), 10) | {"life": name, "capacity": capacity}
            common |= {"recency": "traced", "corrections": 4 if life else 0}
            rows += [
                common
                | {"policy": policy, "confidence": "constant", "seed": seed}
                | {"met": met + more, "met_in_part": met + more + 0.5}
                | {"evicted": 5, "corrections_kept": 2 * seed if life else 0}
                for policy, of_lives in MET.items()
                for seed, met in enumerate(of_lives[life])
            ]
            rows.append(
                common
                | {"policy": "bound", "confidence": "", "seed": -1, "met": BOUND_MET[life]}
                | dict.fromkeys(("met_in_part", "evicted", "corrections_kept"), np.nan)
            )
    return pd.DataFrame(rows)[list(OUTCOME_COLUMNS)]


def test_a_lifes_share_is_the_mean_over_its_seeds():
    shares = shares_by_life(outcomes()).set_index(["policy", "capacity", "life"])["share"]
    shares = shares.sort_index()
    assert shares["confidence", 25].tolist() == pytest.approx([0.3, 0.6, 0.5])
    assert shares["bound", 50].tolist() == pytest.approx([0.9, 1.0, 0.9])
    in_part = shares_by_life(outcomes(), of="met_in_part")
    of_ana = in_part[(in_part["life"] == "ana") & (in_part["policy"] == "hybrid-v1")]
    assert of_ana["share"].tolist() == pytest.approx([0.55, 0.65])


def test_a_setting_has_its_regret_and_what_became_of_the_corrections():
    table = shares_by_setting(outcomes()).set_index(["policy", "capacity"])
    assert table["lives"].eq(3).all()
    row = table.loc[("hybrid-v1", 25)]
    assert row["share"] == pytest.approx(0.6)
    assert row["share_in_part"] == pytest.approx(0.65)
    assert row["regret"] == pytest.approx(2.8 / 3 - 0.6)
    assert row["corrections_kept"] == pytest.approx(0.25)
    assert row["churn"] == 0.5
    assert table.loc[("bound", 25), "regret"] == 0
    assert table.loc[("clairvoyant", 50), "regret"] == pytest.approx((2.8 - 2.9) / 3)


def test_policies_are_compared_life_by_life_in_every_setting():
    table = compare_policies(outcomes())
    assert tuple(table.columns) == COMPARISON_COLUMNS
    assert table["policy"].tolist() == ["hybrid-v1"] * 2
    row = table.set_index("capacity").loc[25]
    assert (row["lives"], row["baseline"]) == (3, "confidence")
    assert row["share_baseline"] == pytest.approx(1.4 / 3)
    assert row["difference"] == pytest.approx(0.4 / 3)  # 0.2, 0.2 and 0
    assert (row["lower"], row["upper"]) == pytest.approx((0, 0.2))
    assert (row["p_value"], row["smallest_attainable_p"]) == (0.5, 0.25)
    assert row["p_holm"] == 0.5


def test_holm_counts_the_policies_of_a_setting():
    named = ["hybrid-v1", "clairvoyant"]
    table = compare_policies(outcomes(), policies=named)
    assert table["policy"].tolist() == named * 2
    assert table["p_value"].tolist() == [0.5, 0.25] * 2
    assert table["p_holm"].tolist() == [0.5, 0.5] * 2
    other = compare_policies(outcomes(), baseline="hybrid-v1")
    assert set(other["policy"]) == {"confidence"}
    assert other["difference"].tolist() == pytest.approx([-0.4 / 3] * 2)


def test_lives_that_lack_one_of_the_two_policies_do_not_count():
    table = outcomes((25,))
    without = table[(table["life"] != "ben") | (table["policy"] != "hybrid-v1")]
    assert compare_policies(without)["lives"].tolist() == [2]


@pytest.mark.parametrize("more", [{"baseline": "lru"}, {"policies": ["lru"]}])
def test_a_policy_that_was_not_simulated_is_refused(more):
    with pytest.raises(DeermemEvalError, match="policy 'lru' was not simulated"):
        compare_policies(outcomes(), **more)


def test_one_life_gives_no_interval():
    one = outcomes()[lambda table: table["life"] == outcomes()["life"].iloc[0]]
    compared = compare_policies(one)
    assert compared[["lower", "upper"]].isna().all(axis=None)
    assert "(one life gives no interval); p 1, after Holm 1" in comparison_in_words(compared)[0]


def test_a_comparison_says_what_so_few_lives_can_show():
    lines = comparison_in_words(compare_policies(outcomes()))
    assert len(lines) == 3
    assert lines[0].startswith("hybrid-v1 meets 60.0 %, confidence 46.7 % of needs at capacity 25")
    assert "+13.3 points [+0.0, +20.0]; p 0.5, after Holm 0.5" in lines[0]
    assert "3 lives are 3 observations: no p-value can fall below 0.25" in lines[-1]
    assert "after Holm over the 1 policies of a setting none below 0.25" in lines[-1]
    assert comparison_in_words(compare_policies(outcomes(), policies=["bound"])) == []
