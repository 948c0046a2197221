import json

import pandas as pd
import pytest

from deermem_eval.cases import load_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import (
    STAGES,
    accuracy_by_scenario,
    changed_rows,
    discordant_cases,
    gradings_by_suite,
    load_graded_study,
    paired_by_suite,
    read_disputed,
    read_regrades,
    regrade,
    rows_of_run,
    stages_by_scenario,
    with_grading,
)
from deermem_eval.grades.graded_rows import read_run
from deermem_eval.protocol import load_protocol
from tests.graded_run import change_row, read_rows, write_graded_run


@pytest.fixture(scope="module")
def published(historical, historical_cases):
    return load_graded_study(historical, historical_cases, "run3")


@pytest.fixture(scope="module")
def sample():
    return load_protocol("sample")


@pytest.fixture(scope="module")
def sample_cases(sample):
    return load_cases(sample)


@pytest.fixture
def run(sample, tmp_path):
    return write_graded_run(sample, tmp_path / "mine")


def rows(**columns):
    length = len(next(iter(columns.values())))
    fixed = {"run": "r", "suite": "official", "scenario": "access_help", "policy": "confidence"}
    return pd.DataFrame({name: [value] * length for name, value in fixed.items()} | columns)


def test_every_answer_is_lost_at_one_step_only():
    graded = rows(
        correct=[True, True, False, False, False, False, False],
        support_retained=[True, False, True, True, True, False, False],
        rule=[
            *("exact", "exact", "overlap-reject", "insufficient", "empty-prediction"),
            *("insufficient", "overlap-reject"),
        ],
    )
    (row,) = stages_by_scenario(graded).to_dict("records")
    assert row["cases"] == 7
    assert {stage: row[stage] for stage in STAGES} == {
        "right": 1,
        "right_without_support": 1,
        "kept_wrong": 1,
        "kept_abstained": 2,
        "support_gone": 2,
    }


def test_stages_agree_with_accuracy_and_retention(published):
    stages = stages_by_scenario(published.graded)
    accuracy = accuracy_by_scenario(published.graded)
    assert stages["cases"].equals(accuracy["cases"])
    assert stages[list(STAGES)].sum(axis=1).equals(stages["cases"])
    assert (stages["right"] + stages["right_without_support"]).equals(accuracy["correct"])


def test_the_published_losses(published):
    final = rows_of_run(stages_by_scenario(published.graded), "run3").groupby("policy").sum()
    assert final.loc["confidence", list(STAGES)].to_list() == [24, 0, 1, 2, 18]
    assert final.loc["hybrid-v1", list(STAGES)].to_list() == [40, 0, 2, 3, 0]


def test_discordant_cases_are_those_that_the_test_counts(historical, published):
    listed = discordant_cases(published.graded, baseline="confidence", candidate="hybrid-v1")
    paired = paired_by_suite(published.graded, historical.config)
    overall = paired[paired["suite"] == "overall"].set_index("run")
    counted = listed.groupby(["run", "right_under"]).size().unstack()
    assert counted["confidence"].to_dict() == overall["baseline_only"].to_dict()
    assert counted["hybrid-v1"].to_dict() == overall["candidate_only"].to_dict()
    lost = listed[(listed["run"] == "run2") & (listed["right_under"] == "confidence")]
    assert set(lost["case_id"]) == {"1cea1afa", "2698e78f"}  # as PR #4810 discusses them
    assert set(lost["stage_candidate"]) == {"kept_abstained", "kept_wrong"}


def test_discordant_cases_of_an_unknown_policy_are_refused(published):
    with pytest.raises(DeermemEvalError, match="policy 'lru' is not among the graded rows"):
        discordant_cases(published.graded, baseline="lru", candidate="hybrid-v1")


def test_the_frozen_grades_stay_and_the_others_stand_beside(historical, published):
    table = gradings_by_suite(published.graded, published.regrades, historical)
    paired = paired_by_suite(published.graded, historical.config)
    frozen = table[table["grading"] == "deterministic-overlap-v1"]
    assert frozen["p_value"].to_list() == paired["p_value"].to_list()
    final = table[(table["run"] == "run3") & (table["suite"] == "overall")].set_index("grading")
    assert final[["correct_baseline", "correct_candidate"]].to_numpy().tolist() == [
        [24, 40],
        [25, 41],
        [24, 41],
    ]


def test_only_the_disputed_case_changes_under_its_other_reference(published):
    changed = changed_rows(published.graded, published.regrades)
    disputed = changed[changed["grading"] == "disputed-reference"]
    assert set(disputed["case_id"]) == {"370a8ff4"}
    assert set(disputed["policy"]) == {"hybrid-v1"}
    other = with_grading(published.graded, published.regrades, "disputed-reference")
    assert int((other["correct"] != published.graded["correct"]).sum()) == len(disputed) == 3


def test_the_disputed_reference_follows_from_the_dates_of_the_evidence(reference, historical):
    """81 days from the recovery to the tenth jog are 11 weeks and 4 days, not the 15 weeks given."""
    from datetime import datetime

    (disputed,) = read_disputed(historical)
    rows = json.loads((reference / "longmemeval" / "evidence_subset.json").read_text("utf-8"))
    (row,) = [row for row in rows if row["question_id"] == disputed.case_id]
    first, last = (datetime.strptime(date.split()[0], "%Y/%m/%d") for date in row["haystack_dates"])
    weeks, days = divmod((last - first).days, 7)
    assert disputed.reference == f"{weeks} weeks and {days} days"
    assert str(row["answer"]) == "15"


def test_a_folder_of_graded_rows_is_a_study_too(sample, sample_cases, run):
    study = load_graded_study(sample, sample_cases, str(run))
    assert study.run == "mine"
    assert len(study.graded) == len(study.regrades) == 90
    assert study.runs["model"].to_list() == ["answer-model"]
    assert set(study.regrades["grading"]) == {"unicode-overlap-v2"}


def test_a_name_comes_before_a_folder_of_that_name(
    historical, historical_cases, tmp_path, monkeypatch
):
    (tmp_path / "run3").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_graded_study(historical, historical_cases, "run3").graded["run"].nunique() == 3


def test_a_folder_without_texts_is_shown_and_not_regraded(reference, historical, historical_cases):
    study = load_graded_study(historical, historical_cases, str(reference / "published" / "run2"))
    assert len(study.graded) == 90
    assert study.regrades.empty
    assert len(gradings_by_suite(study.graded, study.regrades, historical)) == 3


def test_regrading_from_texts_gives_the_recorded_regrades(reference, historical, subset):
    protocol, dataset = subset
    cases = load_cases(protocol, dataset)
    recorded = read_regrades(historical.folder / "regrades.csv")
    for run in ("run1", "run2", "run3"):
        stored = read_run(reference / "published" / run)
        found = regrade(stored.graded.values(), cases, run, read_disputed(historical))
        expected = recorded[recorded["run"] == run]
        keys = ["case_id", "policy", "grading"]
        assert found.sort_values(keys, ignore_index=True).equals(
            expected.sort_values(keys, ignore_index=True)
        )


def rename_policy(run):
    path = run / "qa.rows.jsonl"
    path.write_text(path.read_text("utf-8").replace('"policy": "confidence"', '"policy": "lru"'))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda run: (run / "qa.rows.jsonl").unlink(), "holds neither qa.rows.jsonl nor answers"),
        (rename_policy, "policy 'lru' is not one of confidence, correction-tie-break"),
        (lambda run: change_row(run, 0, case_id="x"), "case .* pairs must be complete"),
        (lambda run: (run / "qa_run.json").unlink(), "qa_run.json does not exist"),
    ],
)
def test_a_folder_that_is_not_of_the_protocol_is_refused(sample, sample_cases, run, spoil, said):
    spoil(run)
    with pytest.raises(DeermemEvalError, match=said):
        load_graded_study(sample, sample_cases, str(run))


def test_a_false_source_and_a_missing_pair_are_refused(sample, sample_cases, run):
    path = run / "qa.rows.jsonl"
    text = path.read_text("utf-8")
    path.write_text(text.replace('"source": "longmemeval"', '"source": "synthetic"'), "utf-8")
    with pytest.raises(DeermemEvalError, match=r"qa.rows.jsonl: run mine: case .* source "):
        load_graded_study(sample, sample_cases, str(run))
    lines = text.splitlines(keepends=True)
    path.write_text("".join(lines[2:]), "utf-8")
    with pytest.raises(DeermemEvalError, match="has no row; use the protocol .* a complete run"):
        load_graded_study(sample, sample_cases, str(run))


def test_rows_of_another_protocol_are_refused(historical, historical_cases, run):
    with pytest.raises(DeermemEvalError, match="case .* has no row; use the protocol that"):
        load_graded_study(historical, historical_cases, str(run))


def test_answers_that_are_not_graded_are_said_to_be(sample, sample_cases, run):
    from tests.graded_run import write_answers

    write_answers(run, read_rows(run))
    (run / "qa.rows.jsonl").unlink()
    with pytest.raises(DeermemEvalError, match="it is not graded yet"):
        load_graded_study(sample, sample_cases, str(run))


def test_a_run_that_is_nowhere_is_refused(sample, sample_cases, historical, historical_cases):
    with pytest.raises(DeermemEvalError, match="sample comes without graded runs; name a graded"):
        load_graded_study(sample, sample_cases, "run3")
    with pytest.raises(DeermemEvalError, match="run 'run9' is not among .* run1, run2, run3"):
        load_graded_study(historical, historical_cases, "run9")


GOOD = "r,c,confidence,unicode-overlap-v2,true,exact"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([GOOD, GOOD], "line 3: the row stands twice"),
        (["r,c,confidence,v3,true,exact"], "line 2: the row has grading 'v3', not one of"),
        (["r,c,confidence,unicode-overlap-v2,maybe,exact"], "line 2 of .*: correct: "),
        (["r,c"], "line 2: expected 6 values, found 2"),
    ],
)
def test_bad_regrades_are_refused_by_line(tmp_path, lines, said):
    path = tmp_path / "regrades.csv"
    path.write_text("\n".join(["run,case_id,policy,grading,correct,rule", *lines]) + "\n")
    with pytest.raises(DeermemEvalError, match=said):
        read_regrades(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "disputed references .* is a dict, not a list"),
        ('[{"case_id": "x", "reference": "y"}]', "reason: is missing; add it"),
        ('[{"case_id": 1, "reference": "y", "reason": "z"}]', "case_id: "),
    ],
)
def test_bad_disputed_references_are_refused(small, text, said):
    (small.folder / "disputed.json").write_text(text)
    with pytest.raises(DeermemEvalError, match=said):
        read_disputed(load_protocol(small.folder))
