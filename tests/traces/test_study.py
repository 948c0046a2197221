"""The study: one table however it is computed, and a bound that nobody passes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces import (
    BOUND,
    MAP_COLUMNS,
    OUTCOME_COLUMNS,
    POLICIES,
    TUNING_COLUMNS,
    Making,
    Study,
    ages_of_needs,
    build_trace,
    constructed_assumption,
    decision_map,
    leave_one_life_out,
    made_lives,
    needs_met,
    run_study,
)
from deermem_eval.traces import study as study_module

STUDY = Study(
    capacities=(5, 15), confidence=("constant", "rho=0.5"), recencies=(None, 0.5), seeds=5
)
SETTING = ["life", "capacity", "recency"]


@pytest.fixture(scope="module")
def lives():
    return made_lives(2, Making(facts=30, accesses=60, needs=20, corrections=0.2))


@pytest.fixture(scope="module")
def outcomes(lives):
    return run_study(lives, STUDY)


def in_bytes(table):
    return table.to_csv(index=False, float_format="%.17g").encode()


def test_the_table_has_a_row_for_every_store_and_every_bound(outcomes, lives):
    assert tuple(outcomes.columns) == OUTCOME_COLUMNS
    settings = len(lives) * len(STUDY.capacities) * len(STUDY.recencies)
    stores = len(POLICIES) * len(STUDY.confidence) * STUDY.seeds
    assert len(outcomes) == settings * (stores + 1)
    keys = [*SETTING, "policy", "confidence", "seed"]
    assert not outcomes.duplicated(keys).any()
    assert set(outcomes["recency"]) == {"traced", "0.5"}
    for life in lives:
        of_life = outcomes[outcomes["life"] == life.life]
        assert (of_life["needs"] == len(life.needs)).all()
        assert (of_life["facts"] == len(life.fact_ids)).all()
        assert (of_life["corrections"] == life.corrections.sum()).all()


def test_no_store_passes_the_bound(outcomes):
    bounds = outcomes[outcomes["policy"] == BOUND].set_index(SETTING)["met"]
    stores = outcomes[outcomes["policy"] != BOUND]
    assert (stores["met"] <= bounds.loc[pd.MultiIndex.from_frame(stores[SETTING])].to_numpy()).all()
    assert (stores["met"] <= stores["met_in_part"] + 1e-9).all()
    assert (stores["met_in_part"] <= stores["needs"]).all()
    assert (stores["evicted"] == stores["facts"] - stores["capacity"]).all()
    assert (stores["corrections_kept"] <= stores["corrections"]).all()
    of_bounds = outcomes[outcomes["policy"] == BOUND]
    assert (of_bounds["seed"] == -1).all()
    assert (of_bounds["confidence"] == "").all()
    assert of_bounds[["met_in_part", "evicted", "corrections_kept"]].isna().all(axis=None)


def test_two_processes_make_the_same_table(outcomes, lives):
    table = run_study(lives, STUDY, workers=2)
    pd.testing.assert_frame_equal(table, outcomes, check_exact=True)
    assert in_bytes(table) == in_bytes(outcomes)


def test_few_stores_at_a_time_make_the_same_table(outcomes, lives, monkeypatch):
    monkeypatch.setattr(study_module, "STORES_AT_A_TIME", 7)
    keys = [*SETTING, "policy", "confidence", "seed"]
    table, whole = (
        one.sort_values(keys, ignore_index=True) for one in (run_study(lives, STUDY), outcomes)
    )
    assert in_bytes(table) == in_bytes(whole)


def test_a_life_has_the_same_outcomes_whatever_is_studied_beside_it(outcomes, lives):
    narrow = replace(STUDY, policies=("random", "hybrid-v1"), capacities=(15,), seeds=2)
    table = run_study(lives[1:], narrow)
    keys = [*SETTING, "policy", "confidence", "seed"]
    both = table.merge(outcomes, on=keys, suffixes=("", "_wide"))
    assert len(both) == len(table)
    for name in ("met", "evicted", "corrections_kept", "met_in_part"):
        pd.testing.assert_series_equal(both[name], both[f"{name}_wide"], check_names=False)


@pytest.mark.parametrize(
    ("study", "said"),
    [
        ({"capacities": (25, -1)}, "capacity is -1, and must be a whole number from 0"),
        ({"seeds": 0}, "seeds is 0, and must be in 1..10000"),
        ({"policies": ("fifo", "fifo")}, "policies are .*give at least one, none of them twice"),
        ({"policies": ()}, "policies are"),
        ({"capacities": ()}, "capacities are"),
        ({"recencies": (0.5, None, 0.5)}, "recencies are"),
        ({"confidence": ("rho=1.5",)}, "rho is 1.5, and must be in 0..1"),
        ({"confidence": ("rho=nan",)}, "rho is nan, and must be in 0..1"),
        ({"confidence": ("gut feeling",)}, "confidence model 'gut feeling' is none"),
    ],
)
def test_a_study_that_is_none_is_refused(study, said):
    with pytest.raises(DeermemEvalError, match=said):
        Study(**study)


def test_a_recency_outside_0_to_1_is_refused(lives):
    with pytest.raises(DeermemEvalError, match="recency is 1.5, and must be in 0..1"):
        run_study(lives, replace(STUDY, recencies=(1.5,)))


def test_lives_of_one_name_are_refused(lives):
    with pytest.raises(DeermemEvalError, match="two lives are called made-0; rename one"):
        run_study([lives[0], lives[0]], STUDY)


def test_a_model_of_confidence_has_one_name():
    assert replace(STUDY, confidence=("rho=0.30",)).confidence == ("rho=0.3",)
    with pytest.raises(DeermemEvalError, match="none of them twice"):
        replace(STUDY, confidence=("rho=0.30", "rho=0.3"))


def test_a_life_without_needs_is_refused_by_name():
    day = {"time": "2026-05-01", "event": "create", "fact": "tea", "confidence": 0.8}
    trace = build_trace("jo", [day])
    with pytest.raises(DeermemEvalError, match="life jo has no need; leave it out"):
        run_study([trace], replace(STUDY, policies=("fifo",)))
    assert needs_met(trace, np.zeros((2, 1)), np.zeros(0))[0].shape == (2, 0)


def test_the_ages_of_needs_sum_to_the_needs(lives):
    for recency in (None, 0, 0.5, 1):
        table = ages_of_needs(
            lives,
            policies=("hybrid-v1", "confidence"),
            capacity=10,
            confidence="rho=0.5",
            recency=recency,
            seeds=3,
        )
        sums = table.groupby("policy")[["needs", "met"]].sum()
        assert (sums["needs"] == sum(len(life.needs) for life in lives)).all()
        assert (table["met"] <= table["needs"]).all()
        assert set(table["kind"]) == {"single", "double"}


@pytest.mark.parametrize(("recency", "age"), [(None, "90-180"), (1, "0-7"), (0.5, "30-90")])
def test_a_needs_age_is_that_of_its_oldest_fact_when_it_comes(recency, age):
    events = [
        {"time": "2026-01-01", "event": "create", "fact": "tea", "confidence": 0.8},
        {"time": "2026-01-02", "event": "create", "fact": "jam", "confidence": 0.8},
        {"time": "2026-06-01", "event": "need", "facts": ["tea", "jam"]},
    ]
    table = ages_of_needs(
        [build_trace("jo", events)],
        policies=("fifo",),
        capacity=2,
        confidence="constant",
        recency=recency,
    )
    assert table[["age", "needs", "met"]].to_numpy().tolist() == [[age, 1, 1]]


def test_weights_are_tuned_on_the_other_lives(lives):
    table = leave_one_life_out(lives, capacity=8, seeds=2, step=0.25)
    assert tuple(table.columns) == TUNING_COLUMNS
    assert table["life"].tolist() == [life.life for life in lives]
    weights = table[["confidence_weight", "confirmation_weight", "access_weight"]]
    assert weights.sum(axis=1).tolist() == pytest.approx([1, 1])
    assert (table["share_hindsight"] >= table["share_tuned"]).all()
    shares = table.filter(like="share_")
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)
    # A life cannot choose for itself: what it is tested on is the best of the other one.
    alone = leave_one_life_out([lives[0], lives[0]], capacity=8, seeds=2, step=0.25)
    assert (alone["share_tuned"] == alone["share_hindsight"]).all()


def test_one_life_alone_cannot_be_left_out(lives):
    with pytest.raises(DeermemEvalError, match="there are 1 lives; tuning needs one to leave out"):
        leave_one_life_out(lives[:1])


def test_the_map_has_a_cell_for_every_pair_of_assumptions(lives):
    table = decision_map(lives, capacity=8, rhos=(0, 1, 0.5), recencies=(1, 0), seeds=2)
    assert tuple(table.columns) == MAP_COLUMNS
    cells = [(rho, recency) for rho in (0, 0.5, 1) for recency in (0, 1)]
    assert list(table[["rho", "recency"]].itertuples(index=False, name=None)) == cells
    assert (table["lives"] == 2).all()
    assert ((table["lower"] <= table["difference"]) & (table["difference"] <= table["upper"])).all()


def test_the_map_takes_assumptions_with_many_digits(lives):
    table = decision_map(lives, capacity=8, rhos=(0.1234567,), recencies=(0.7654321,), seeds=1)
    assert table[["rho", "recency"]].to_numpy().tolist() == [[0.1234567, 0.7654321]]


def test_the_constructed_cases_stand_on_the_map(historical, historical_cases):
    knows, recent = constructed_assumption(historical_cases, historical.config.evaluation_time)
    assert -1 <= knows <= 1
    assert 0 <= recent <= 1
    assert np.isfinite([knows, recent]).all()
