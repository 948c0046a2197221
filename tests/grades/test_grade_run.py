import asyncio
import json
import shutil
from datetime import UTC, datetime

import pytest

from deermem_eval.answers import RunRequest, answer_run
from deermem_eval.cases import load_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import grade_run, verify_run
from deermem_eval.protocol import load_protocol, with_run_config

NOW = datetime(2026, 12, 1, tzinfo=UTC)
IDENTITY = ("schema_version", "row_id", "case_id", "source", "scenario", "policy", "capacity")


@pytest.fixture(scope="module")
def sample():
    return load_protocol("sample")


@pytest.fixture(scope="module")
def cases(sample):
    return load_cases(sample)


def answer(folder, protocol, cases, provider="reader", **overrides):
    request = RunRequest(provider, overrides)
    run = answer_run(folder, protocol, cases, request, environment={}, clock=lambda: NOW)
    report = asyncio.run(run)
    assert not report.failed
    return folder


@pytest.fixture(scope="module")
def read(sample, cases, tmp_path_factory):
    """The sample answered by the reader."""
    return answer(tmp_path_factory.mktemp("runs") / "read", sample, cases)


@pytest.fixture
def run(read, tmp_path):
    return shutil.copytree(read, tmp_path / "run")


def change(path, **values):
    row = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(row | values), "utf-8")


def test_a_graded_run_holds(run, sample, cases):
    graded = grade_run(run, sample, cases)
    verification = verify_run(run, sample, expect_digest=graded.rows_sha256)
    assert verification.holds
    assert verification.is_complete
    assert "responses" in {check.name for check in verification.checks}
    lines = (run / "qa.diagnostics.jsonl").read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    assert {entry["class"] for entry in entries} == {"answered", "abstained"}
    assert set(entries[0]["grades"]) == {"deterministic-overlap-v1", "unicode-overlap-v2"}


def test_the_reader_answers_what_is_kept_and_abstains_on_what_is_gone(run, sample, cases):
    rows = grade_run(run, sample, cases).rows
    official = [row for row in rows if row["source"] == "longmemeval"]
    kept = [row for row in official if row["support_all_retained"]]
    gone = [row for row in official if not row["support_all_retained"]]
    assert sum(row["grade_correct"] for row in kept) >= 0.6 * len(kept)
    assert sum(row["grade_rule"] == "insufficient" for row in gone) >= 0.8 * len(gone)
    assert {row["response_model"] for row in rows} == {
        "reader, an extractive baseline and no model"
    }


def test_grades_are_never_overwritten(run, sample, cases):
    grade_run(run, sample, cases)
    before = (run / "qa.rows.jsonl").read_bytes()
    with pytest.raises(DeermemEvalError, match="grades are never overwritten"):
        grade_run(run, sample, cases)
    assert (run / "qa.rows.jsonl").read_bytes() == before


@pytest.mark.parametrize("field", [*IDENTITY, "kept_fact_ids", "request_fingerprint"])
def test_a_row_with_another_identity_refuses_the_whole_run(run, sample, cases, field):
    path = sorted((run / "responses").iterdir())[7]
    value = json.loads(path.read_text("utf-8"))[field]
    change(path, **{field: value + 1 if isinstance(value, int) else value[1:] + value[:1]})
    with pytest.raises(DeermemEvalError, match=f"{path.name}: .*{field}.* run-qa asks for what"):
        grade_run(run, sample, cases)
    assert not list(run.glob("qa.*s*.json*"))


def test_missing_moved_and_foreign_rows_refuse_the_whole_run(run, sample, cases):
    paths = sorted((run / "responses").iterdir())
    gone, moved = paths[3], paths[5]
    gone.unlink()
    moved.rename(moved.with_name("elsewhere.json"))
    with pytest.raises(DeermemEvalError) as caught:
        grade_run(run, sample, cases)
    for said in (f"{gone.name} is missing", f"{moved.name} is missing", "elsewhere.json is no row"):
        assert said in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["config", "official_manifest", "synthetic_manifest", "answer_prompt", "dataset"],
)
def test_another_hash_refuses_the_whole_run(run, sample, cases, name):
    marker = json.loads((run / "qa_run.json").read_text("utf-8"))
    marker["artifacts"][f"{name}_sha256"] = "0" * 64
    (run / "qa_run.json").write_text(json.dumps(marker), "utf-8")
    said = f"was made with another {name.replace('_', ' ')}; grade it with the protocol"
    with pytest.raises(DeermemEvalError, match=said):
        grade_run(run, sample, cases)


def test_overrides_are_the_runs_own_config(tmp_path, sample, cases):
    folder = answer(tmp_path / "run", sample, cases, **{"qa.model": "mine", "pool.qa_capacity": 5})
    with pytest.raises(DeermemEvalError, match="was made with another config"):
        grade_run(folder, sample, cases)
    own = with_run_config(sample, folder)
    assert (own.config.qa.model, own.config.pool.qa_capacity) == ("mine", 5)
    rows = grade_run(folder, own, cases).rows
    assert {row["capacity"] for row in rows} == {5}
    assert {len(row["kept_fact_ids"]) for row in rows} == {5}
    marker = json.loads((folder / "qa_run.json").read_text("utf-8"))
    assert marker["qa"]["model"] == "mine"
    assert marker["artifacts"] == own.identity.as_dict()
    verification = verify_run(folder, sample)
    assert verification.holds
    assert verification.is_complete


def test_a_run_under_one_policy_is_graded_without_a_comparison(tmp_path, sample, cases):
    folder = answer(tmp_path / "run", sample, cases, **{"qa.policies": ["hybrid-v1"]})
    rows = grade_run(folder, with_run_config(sample, folder), cases).rows
    assert {row["policy"] for row in rows} == {"hybrid-v1"}
    assert len(rows) == 45
    assert not (folder / "qa.stats.json").exists()
    assert verify_run(folder, sample).holds
    with pytest.raises(DeermemEvalError, match="policy 'lru' is not one of confidence"):
        answer(tmp_path / "other", sample, cases, **{"qa.policies": ["lru"]})
    assert not (tmp_path / "other").exists()


def test_a_replay_of_the_final_published_run_gives_its_files_byte_for_byte(
    reference, subset, tmp_path
):
    protocol, dataset = subset
    cases = load_cases(protocol, dataset)
    published = reference / "published" / "run3"
    folder = answer(tmp_path / "run", protocol, cases, f"replay:{published}")
    grade_run(folder, protocol, cases)
    for name in ("qa.rows.jsonl", "qa.summary.json", "qa.stats.json"):
        assert (folder / name).read_bytes() == (published / name).read_bytes()


def test_a_replay_of_a_run_without_the_request_fails_row_by_row(read, sample, cases, tmp_path):
    request = RunRequest(f"replay:{read}", {"qa.max_tokens": 77})
    run = answer_run(tmp_path / "run", sample, cases, request, environment={}, clock=lambda: NOW)
    report = asyncio.run(run)
    assert len(report.failed) == 90
    assert "read holds no answer to this request" in next(iter(report.failed.values()))


def test_a_replay_needs_a_run(sample, cases, tmp_path):
    with pytest.raises(DeermemEvalError, match="write replay:FOLDER"):
        answer(tmp_path / "run", sample, cases, "replay")
    assert not (tmp_path / "run").exists()
