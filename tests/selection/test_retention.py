import hashlib
import json

import pytest

from deermem_eval.cases import load_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.selection import (
    check_capacities,
    decide,
    decision_table,
    policy_settings,
    retention_by_scenario,
    retention_by_suite,
    with_overall,
)


def decisions_of(protocol, cases, capacities, **settings):
    return decide(
        cases,
        policy_settings(protocol.config, **settings),
        capacities,
        now=protocol.config.evaluation_time,
    )


@pytest.fixture(scope="module")
def table(historical, historical_cases):
    capacities = historical.config.pool.capacities
    return decision_table(decisions_of(historical, historical_cases, capacities))


def counts(table, keys):
    return table.set_index(keys)["retained"].to_dict()


def test_270_decisions_have_the_published_totals(table):
    assert len(table) == 270
    overall = retention_by_suite(table).query("suite == 'overall'")
    assert overall["cases"].eq(45).all()
    assert counts(overall, ["policy", "capacity"]) == {
        ("confidence", 5): 20,
        ("hybrid-v1", 5): 35,
        ("confidence", 7): 27,
        ("hybrid-v1", 7): 45,
        ("confidence", 9): 35,
        ("hybrid-v1", 9): 45,
    }


def test_at_capacity_seven_the_scenarios_have_the_published_counts(table):
    at_7 = retention_by_scenario(table).query("capacity == 7")
    assert counts(at_7[at_7["policy"] == "confidence"], "scenario") == {
        "confirmation_help": 3,
        "access_help": 3,
        "confidence_control": 10,
        "noisy_signal_control": 10,
        "correction_reserve": 1,
    }
    hybrid = at_7[at_7["policy"] == "hybrid-v1"]
    assert hybrid["retained"].eq(hybrid["cases"]).all()
    assert at_7["cases"].tolist() == [10] * 8 + [5] * 2


def test_overall_doubles_the_rows_and_changes_none(table):
    doubled = with_overall(table)
    assert len(doubled) == 2 * len(table)
    assert doubled["suite"].value_counts().to_dict() == {
        "official": 240,
        "synthetic": 30,
        "overall": 270,
    }


def published_kept(reference):
    text = (reference / "published/run3/qa.rows.jsonl").read_text("utf-8")
    rows = map(json.loads, text.splitlines())
    return {(row["case_id"], row["policy"]): tuple(row["kept_fact_ids"]) for row in rows}


def test_all_90_published_kept_sets_come_out_of_the_facts(reference, historical, historical_cases):
    decisions = decisions_of(historical, historical_cases, [7])
    kept = {(d.case.case_id, d.policy): d.kept_fact_ids for d in decisions}
    assert len(kept) == 90
    assert kept == published_kept(reference)


def test_all_90_published_kept_sets_come_out_of_the_texts(reference, subset):
    protocol, dataset = subset
    decisions = decisions_of(protocol, load_cases(protocol, dataset), [7])
    kept = {(d.case.case_id, d.policy): d.kept_fact_ids for d in decisions}
    assert len(kept) == 90
    assert kept == published_kept(reference)


def test_retained_flags_are_the_published_ones(historical, historical_cases):
    """Offline: the support_retained of outcomes.csv, which the run3 rows state."""
    from deermem_eval.grades import read_outcomes, rows_of_run

    graded = read_outcomes(historical.folder / "outcomes.csv", historical_cases)
    published = rows_of_run(graded, "run3").set_index(["case_id", "policy"])["support_retained"]
    for decision in decisions_of(historical, historical_cases, [7]):
        assert decision.support_retained == published[decision.case.case_id, decision.policy]


def test_only_confidence_weight_is_not_the_confidence_policy(historical, historical_cases):
    """The reserve still saves four corrections."""
    table = decision_table(
        decisions_of(historical, historical_cases, [7], policies=["hybrid-v1"], weights=[1, 0, 0])
    )
    assert table["support_retained"].sum() == 31


def test_decisions_do_not_change_the_cases(historical, historical_cases):
    before = hashlib.sha256(repr(historical_cases).encode()).hexdigest()
    decisions_of(historical, historical_cases, range(1, 11))
    assert hashlib.sha256(repr(historical_cases).encode()).hexdigest() == before


@pytest.mark.parametrize(
    ("capacities", "said"),
    [
        ([0], r"capacity 0 is outside 1\.\.10"),
        ([11], r"capacity 11 is outside 1\.\.10"),
        ([7, "7"], "capacity '7'"),
        ([True], "capacity True"),
        ([7.0], "capacity 7.0"),
        ([], "no capacity is given"),
    ],
)
def test_capacities_outside_the_pool_are_refused(capacities, said):
    with pytest.raises(DeermemEvalError, match=said):
        check_capacities(capacities, 10)


def test_capacities_come_sorted_and_once():
    assert check_capacities([9, 5, 9], 10) == (5, 9)


def test_weights_and_policies_are_checked(historical):
    config = historical.config
    with pytest.raises(DeermemEvalError, match="sum to 0.9"):
        policy_settings(config, weights=[0.6, 0.2, 0.1])
    with pytest.raises(DeermemEvalError, match="weights has 2 values"):
        policy_settings(config, weights=[0.6, 0.4])
    with pytest.raises(DeermemEvalError, match="confidence weight is 'a'"):
        policy_settings(config, weights=["a", 0.5, 0.5])
    with pytest.raises(DeermemEvalError, match="'lru' is not one of confidence, hybrid-v1, "):
        policy_settings(config, policies=["lru"])
    only = policy_settings(config, policies=["hybrid-v1"])
    assert [setting.name for setting in only] == ["hybrid-v1"]
