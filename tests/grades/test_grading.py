import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import json_document
from deermem_eval.grades import (
    accuracy_by_scenario,
    accuracy_by_suite,
    paired_by_suite,
    read_outcomes,
    read_published_rows,
    rows_of_run,
    statistics_document,
    summary_document,
)

RUNS = ("run1", "run2", "run3")


@pytest.fixture(scope="module")
def graded(historical, historical_cases):
    return read_outcomes(historical.folder / "outcomes.csv", historical_cases)


@pytest.mark.parametrize("run", RUNS)
def test_published_documents_come_out_byte_for_byte(reference, historical, graded, run):
    folder = reference / "published" / run
    rows = read_published_rows(folder / "qa.rows.jsonl", run)
    assert rows.equals(rows_of_run(graded, run))
    statistics = json_document(statistics_document(rows, historical.config))
    summary = json_document(summary_document(rows, historical.config))
    assert statistics == (folder / "qa.stats.json").read_bytes()
    assert summary == (folder / "qa.summary.json").read_bytes()


def test_the_final_run_has_the_published_accuracy(graded):
    final = rows_of_run(accuracy_by_suite(graded), "run3").set_index(["suite", "policy"])
    found = {key: (row["correct"], row["cases"]) for key, row in final.iterrows()}
    assert found == {
        ("official", "confidence"): (23, 40),
        ("official", "hybrid-v1"): (35, 40),
        ("synthetic", "confidence"): (1, 5),
        ("synthetic", "hybrid-v1"): (5, 5),
        ("overall", "confidence"): (24, 45),
        ("overall", "hybrid-v1"): (40, 45),
    }
    assert final.loc[("overall", "confidence"), "retained"] == 27


def test_the_published_p_values_and_bounds(historical, graded):
    paired = paired_by_suite(graded, historical.config).set_index(["run", "suite"])
    final = paired.loc["run3"]
    assert final["p_value"].to_dict() == {
        "official": 0.0018310546875,
        "synthetic": 0.125,
        "overall": 0.00014495849609375,
    }
    official = paired.xs("official", level="suite")
    assert official["p_value"].round(4).to_dict() == {
        "run1": 0.0042,
        "run2": 0.0129,
        "run3": 0.0018,
    }
    assert final.loc["overall", ["lower", "upper"]].tolist() == [
        0.20000000000000007,
        0.5111111111111111,
    ]
    assert final["smallest_attainable_p"].to_dict() == {
        "official": 2.0**-39,
        "synthetic": 0.0625,
        "overall": 2.0**-44,
    }


def test_tables_keep_runs_suites_and_scenarios_in_order(historical, graded):
    paired = paired_by_suite(graded, historical.config)
    assert list(paired["run"]) == [run for run in RUNS for _ in range(3)]
    assert list(paired["suite"]) == ["official", "synthetic", "overall"] * 3
    scenarios = accuracy_by_scenario(graded)
    assert list(scenarios["scenario"].unique())[:2] == ["confirmation_help", "access_help"]
    assert len(scenarios) == 30


def test_documents_are_of_one_run(historical, graded):
    with pytest.raises(DeermemEvalError, match="rows are of run1, run2, run3"):
        statistics_document(graded, historical.config)
    with pytest.raises(DeermemEvalError, match="run 'run9' is not among"):
        rows_of_run(graded, "run9")


def test_a_policy_without_rows_is_named(historical, graded):
    with pytest.raises(DeermemEvalError, match="no rows of policy 'lru', only of confidence, "):
        paired_by_suite(graded, historical.config, policies=("confidence", "lru"))


HEADER = (
    "run,case_id,policy,correct,rule,support_retained,request_fingerprint,"
    "answer_sha256,prompt_tokens,completion_tokens"
)
F, T = "a" * 64, "b" * 64
GOOD = f"r,01493427,confidence,true,exact,true,{F},{T},10,2"
PAIR = f"r,01493427,hybrid-v1,false,exact,true,{F},{T},10,2"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "holds no graded row"),
        ([GOOD, PAIR, GOOD], "case 01493427, policy confidence stands twice"),
        (
            [GOOD, PAIR, GOOD.replace("01493427", "06db6396")],
            "run r, case 06db6396 has no row of policy hybrid-v1",
        ),
        ([GOOD.replace("01493427", "nobody"), PAIR], "line 2: case 'nobody' is not one of"),
        ([GOOD.replace("true", "maybe", 1), PAIR], 'line 2 of .*: correct: .*found "maybe"'),
        ([GOOD, PAIR.replace(F, "abc")], "line 3 of .*: request_fingerprint: "),
        ([GOOD, PAIR.replace(T, "abc")], "line 3 of .*: answer_sha256: "),
        ([GOOD, PAIR.replace(",10,2", ",10,-2")], "line 3 of .*: completion_tokens: "),
        ([GOOD, PAIR.replace(",10,2", ",ten,2")], "line 3 of .*: prompt_tokens: "),
        ([GOOD, PAIR.replace("exact", "")], "line 3 of .*: rule: "),
        ([GOOD, "r,x"], "line 3: expected 10 values, found 2"),
    ],
)
def test_a_malformed_outcome_is_named(tmp_path, historical_cases, lines, said):
    path = tmp_path / "outcomes.csv"
    path.write_text("\n".join([HEADER, *lines, ""]))
    with pytest.raises(DeermemEvalError, match=said):
        read_outcomes(path, historical_cases)


def published_row(**changes):
    import json

    row = {
        "schema_version": 1,
        "row_id": "a__confidence",
        "case_id": "a",
        "source": "synthetic",
        "scenario": "correction_reserve",
        "question_type": "synthetic-correction",
        "policy": "confidence",
        "capacity": 7,
        "kept_fact_ids": ["b"],
        "prediction": "YES",
        "grade_correct": True,
        "grade_rule": "exact",
        "grader_version": "deterministic-overlap-v1",
        "support_all_retained": True,
        "support_recall": 1.0,
        "attempts": 1,
        "response_model": "a-model",
        "request_fingerprint": F,
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    return json.dumps({**row, **changes})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (published_row(source="elsewhere"), "line 1: source 'elsewhere' is not one of"),
        (published_row(grade_correct="yes"), "line 1 of .*: grade_correct: "),
        (published_row(request_fingerprint=None), "line 1 of .*: request_fingerprint: "),
        (published_row(usage=[]), "line 1 of .*: usage: "),
        ("[]", "line 1, is a list, not an object"),
    ],
)
def test_a_malformed_published_row_is_named(tmp_path, line, said):
    path = tmp_path / "qa.rows.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(DeermemEvalError, match=said):
        read_published_rows(path, "mine")
