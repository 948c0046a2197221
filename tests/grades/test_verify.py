import json
import shutil

import pytest

from deermem_eval.cases import load_records, read_longmemeval
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import json_document, json_lines, sha256_hex
from deermem_eval.grades import verify_run
from deermem_eval.protocol import load_protocol, upstream_identity
from tests.graded_run import change_row, read_rows, write_answers, write_graded_run

ROW_CHECK = {
    "case_id": "row_identity",
    "source": "row_identity",
    "scenario": "row_identity",
    "question_type": "row_identity",
    "policy": "row_identity",
    "capacity": "row_identity",
    "schema_version": "row_identity",
    "grader_version": "row_identity",
    "row_id": "rows",
    "kept_fact_ids": "kept_fact_ids",
    "support_all_retained": "support_retained",
    "support_recall": "support_retained",
    "request_fingerprint": "request_fingerprint",
    "grade_correct": "grade",
    "grade_rule": "grade_rule",
    "prediction": "grade",
    "attempts": "response_metadata",
    "response_model": "response_metadata",
    "usage": "response_metadata",
}
"""The check that must fall for each field of a row."""

PLACE = 1  # a row that is answered right


@pytest.fixture(scope="module")
def sample():
    return load_protocol("sample")


@pytest.fixture(scope="module")
def records(sample):
    return load_records(sample)


@pytest.fixture(scope="module")
def graded(sample, tmp_path_factory):
    return write_graded_run(sample, tmp_path_factory.mktemp("run") / "graded")


@pytest.fixture
def run(graded, tmp_path):
    return shutil.copytree(graded, tmp_path / "run")


@pytest.fixture
def verify(sample, records):
    def verified(folder, **options):
        return verify_run(folder, sample, records, upstream_identity(sample), **options)

    return verified


def fallen(verification):
    """Checks that do not hold, with where."""
    return {
        check.name: [difference.where for difference in check.differences]
        for check in verification.checks
        if check.differences
    }


def other(value):
    """Another value of the same type."""
    if value in ("longmemeval", "synthetic"):  # the only two that are well-formed
        return {"longmemeval": "synthetic", "synthetic": "longmemeval"}[value]
    match value:
        case bool():
            return not value
        case int():
            return value + 3
        case float():
            return value - 0.5
        case str():
            return value[1:] + ("1" if value[0] == "0" else "0")
        case list():
            return value[::-1]
        case dict():
            return value | {min(value): other(value[min(value)])}
    raise AssertionError(value)


def test_an_honest_run_holds(run, verify):
    verification = verify(run, expect_digest=sha256_hex((run / "qa.rows.jsonl").read_bytes()))
    assert verification.holds
    assert not any(check.not_checked for check in verification.checks)
    counts = {check.name: (check.equal, check.compared) for check in verification.checks}
    assert counts == {
        "protocol_hashes": (5, 5),
        "run_settings": (16, 16),
        "summary": (1, 1),
        "statistics": (1, 1),
        "rows_digest": (1, 1),
        **dict.fromkeys(
            (
                *("rows", "row_identity", "kept_fact_ids", "support_retained"),
                *("request_fingerprint", "grade", "grade_rule", "response_metadata"),
            ),
            (90, 90),
        ),
    }


def test_every_field_of_a_row_is_somebodys(graded):
    assert set(read_rows(graded)[PLACE]) == set(ROW_CHECK)


@pytest.mark.parametrize("field", ROW_CHECK)
def test_a_changed_field_of_a_row_makes_its_check_fall_and_is_named(run, verify, field):
    row = read_rows(run)[PLACE]
    assert row["grade_correct"]
    digest = sha256_hex((run / "qa.rows.jsonl").read_bytes())
    change_row(run, PLACE, **{field: other(row[field])})
    found = fallen(verify(run, expect_digest=digest))
    assert "rows_digest" in found
    where = found[ROW_CHECK[field]]
    assert any(name.startswith(row["row_id"]) for name in where)
    if field not in ("row_id", "prediction"):  # the one is two rows, the other two grades
        assert set(found) == {ROW_CHECK[field], "rows_digest"}


@pytest.mark.parametrize(
    "part",
    [
        *("prompt_tokens", "completion_tokens", "total_tokens"),
        *("prompt_cache_hit_tokens", "prompt_cache_miss_tokens"),
    ],
)
def test_each_token_count_is_held_by_the_others(run, verify, part):
    usage = read_rows(run)[PLACE]["usage"]
    change_row(run, PLACE, usage=usage | {part: usage[part] + 1})
    assert list(fallen(verify(run))) == ["response_metadata"]


MARKER_FIELDS = {
    "artifacts": (
        *("config_sha256", "official_manifest_sha256", "synthetic_manifest_sha256"),
        *("answer_prompt_sha256", "dataset_sha256"),
    ),
    "dataset": ("filename", "repository", "revision", "sha256"),
    "qa": (
        *("api_key_env", "base_url_env", "capacity", "grader_version", "max_attempts"),
        *("max_tokens", "model", "stream", "temperature", "timeout_seconds", "workers"),
    ),
}


def test_every_field_of_the_marker_is_somebodys(graded):
    marker = json.loads((graded / "qa_run.json").read_text())
    for part, names in MARKER_FIELDS.items():
        assert set(marker[part]) == set(names)
    assert set(marker) - set(MARKER_FIELDS) == {
        "schema_version",
        "protocol_id",
        "created_at",
        "git",
    }


@pytest.mark.parametrize(
    ("part", "name"), [(part, name) for part in MARKER_FIELDS for name in MARKER_FIELDS[part]]
)
def test_a_changed_field_of_the_marker_makes_its_check_fall(run, verify, part, name):
    marker = json.loads((run / "qa_run.json").read_text())
    assert name in marker[part]
    marker[part][name] = other(marker[part][name])
    (run / "qa_run.json").write_bytes(json_document(marker))
    found = fallen(verify(run))
    expected = (
        {"protocol_hashes": [name]} if part == "artifacts" else {"run_settings": [f"{part}.{name}"]}
    )
    if name == "dataset_sha256":  # the marker states it twice
        expected["run_settings"] = ["dataset.sha256"]
    assert found == expected


def test_another_protocol_is_said(run, verify):
    marker = json.loads((run / "qa_run.json").read_text())
    (run / "qa_run.json").write_bytes(json_document(marker | {"protocol_id": "another"}))
    assert fallen(verify(run)) == {"run_settings": ["protocol_id"]}


@pytest.mark.parametrize(("name", "check"), [("summary", "summary"), ("stats", "statistics")])
def test_each_published_document_is_compared_byte_for_byte(run, verify, name, check):
    path = run / f"qa.{name}.json"
    text = path.read_text()
    path.write_text(text.replace('"schema_version": 1', '"schema_version": 2'))
    (where,) = fallen(verify(run))[check]
    assert where.startswith("line ")
    path.write_text(text[:-1])
    assert list(fallen(verify(run))) == [check]


def test_missing_repeated_and_foreign_rows_are_named(run, verify):
    rows = read_rows(run)
    gone = rows.pop(PLACE)
    rows += [rows[0], rows[1] | {"row_id": "nobody__confidence"}]
    (run / "qa.rows.jsonl").write_bytes(json_lines(rows))
    found = fallen(verify(run))
    assert set(found["rows"]) == {gone["row_id"], rows[0]["row_id"], "nobody__confidence"}
    assert found["summary"] == ["qa.summary.json"]


def test_a_number_is_not_a_truth_value(run, verify):
    rows = read_rows(run)
    text = (run / "qa_run.json").read_text()
    (run / "qa_run.json").write_text(text.replace('"stream": false', '"stream": 0'))
    assert fallen(verify(run)) == {"run_settings": ["qa.stream"]}
    change_row(run, PLACE, grade_correct=int(rows[PLACE]["grade_correct"]))
    with pytest.raises(DeermemEvalError, match="line 2 of .*: grade_correct: "):
        verify(run)


def test_a_run_directory_is_verified_before_it_is_graded(run, verify):
    write_answers(run, read_rows(run))
    for name in ("qa.rows.jsonl", "qa.summary.json", "qa.stats.json"):
        (run / name).unlink()
    verification = verify(run)
    assert verification.holds
    assert verification.rows_sha256 == ""
    unchecked = [check.name for check in verification.checks if check.not_checked]
    assert unchecked == ["support_retained", "grade", "grade_rule", "summary", "statistics"]
    path = sorted((run / "responses").iterdir())[PLACE]
    path.rename(path.with_name("elsewhere.json"))
    assert set(fallen(verify(run))["rows"]) == {path.stem, "elsewhere"}


def test_graded_rows_are_compared_with_their_answers(run, verify):
    write_answers(run, read_rows(run))
    assert verify(run).holds
    row = read_rows(run)[PLACE]
    change_row(run, PLACE, prediction=row["prediction"] + " ")
    assert fallen(verify(run)) == {"responses": [f"{row['row_id']} prediction"]}


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda run: (run / "qa_run.json").unlink(), "run marker .*qa_run.json does not exist"),
        (lambda run: (run / "qa_run.json").write_text("[]"), "run marker .*qa_run.json: "),
        (lambda run: (run / "qa.rows.jsonl").write_text("\n"), "holds no graded row"),
        (lambda run: (run / "qa.rows.jsonl").write_text("{}\n"), "line 1 of .*is missing; add it"),
        (lambda run: (run / "qa.rows.jsonl").unlink(), "holds neither qa.rows.jsonl nor answers"),
    ],
)
def test_what_is_no_run_is_refused(run, verify, spoil, said):
    spoil(run)
    with pytest.raises(DeermemEvalError, match=said):
        verify(run)


def test_a_repeated_row_counts_once_in_the_other_checks(run, verify):
    rows = read_rows(run)
    (run / "qa.rows.jsonl").write_bytes(json_lines([*rows, rows[PLACE] | {"grade_rule": "x"}]))
    assert fallen(verify(run)) == {"rows": [rows[PLACE]["row_id"]]}


@pytest.fixture(scope="module")
def published(reference):
    """Verify a published run against the evidence subset, whose hash is not the pinned one."""
    protocol = load_protocol(reference / "protocol")
    dataset = reference / "longmemeval" / "evidence_subset.json"
    sha256 = sha256_hex(dataset.read_bytes())
    records = read_longmemeval(dataset, sha256)
    identity = upstream_identity(protocol)

    def verified(run):
        return verify_run(
            reference / "published" / run,
            protocol,
            records,
            type(identity)(**identity.as_dict() | {"dataset_sha256": sha256}),
        )

    return verified


def test_the_final_published_run_holds_but_for_the_hash_of_the_subset(published):
    verification = published("run3")
    assert fallen(verification) == {"protocol_hashes": ["dataset_sha256"]}
    counts = {check.name: (check.equal, check.compared) for check in verification.checks}
    for name in ("kept_fact_ids", "request_fingerprint", "grade", "grade_rule"):
        assert counts[name] == (90, 90)
    assert counts["summary"] == counts["statistics"] == (1, 1)
    assert counts["protocol_hashes"] == (4, 5)


@pytest.mark.parametrize("run", ["run1", "run2"])
def test_the_earlier_runs_part_at_kept_facts_and_requests_and_have_true_grades(published, run):
    counts = {check.name: (check.equal, check.compared) for check in published(run).checks}
    assert counts["kept_fact_ids"] == counts["request_fingerprint"] == (0, 90)
    assert counts["grade"] == counts["grade_rule"] == counts["support_retained"] == (90, 90)


def test_without_texts_the_published_run_is_checked_as_far_as_facts_go(reference, historical):
    verification = verify_run(
        reference / "published" / "run3",
        historical,
        load_records(historical),
        upstream_identity(historical),
    )
    assert verification.holds
    unchecked = {check.name for check in verification.checks if check.not_checked}
    assert unchecked == {"request_fingerprint", "grade", "grade_rule"}
    counts = {check.name: (check.equal, check.compared) for check in verification.checks}
    assert counts["protocol_hashes"] == (5, 5)
    assert counts["kept_fact_ids"] == (90, 90)
