import json
import shutil

import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import json_document, json_lines, sha256_hex
from deermem_eval.grades import verify_run
from deermem_eval.protocol import load_protocol
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
def graded(sample, tmp_path_factory):
    return write_graded_run(sample, tmp_path_factory.mktemp("run") / "graded")


@pytest.fixture
def run(graded, tmp_path):
    return shutil.copytree(graded, tmp_path / "run")


@pytest.fixture
def verify(sample):
    def verified(folder, **options):
        return verify_run(folder, sample, **options)

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
    assert verification.is_complete
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
                *("request_fingerprint", "grade", "grade_rule", "response_metadata", "row_order"),
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
    others = {"schema_version", "protocol_id"}  # below
    not_recomputable = {"created_at", "git"}
    assert set(marker) - set(MARKER_FIELDS) == others | not_recomputable


@pytest.mark.parametrize(
    ("part", "name"), [(part, name) for part in MARKER_FIELDS for name in MARKER_FIELDS[part]]
)
def test_a_changed_field_of_the_marker_makes_its_check_fall(run, verify, part, name):
    marker = json.loads((run / "qa_run.json").read_text())
    assert name in marker[part]
    marker[part][name] = other(marker[part][name])
    (run / "qa_run.json").write_bytes(json_document(marker))
    found = fallen(verify(run))
    check, where = "run_settings", f"{part}.{name}"
    if part == "artifacts" or where == "dataset.sha256":
        check, where = "protocol_hashes", name if part == "artifacts" else "dataset_sha256"
    assert found == {check: [where]}


def test_another_protocol_is_said(run, verify):
    marker = json.loads((run / "qa_run.json").read_text())
    for name, value in {"protocol_id": "another", "schema_version": 99}.items():
        (run / "qa_run.json").write_bytes(json_document(marker | {name: value}))
        assert fallen(verify(run)) == {"run_settings": [name]}


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
    unchecked = [check.name for check in verification.checks if check.note]
    assert unchecked == ["support_retained", "grade", "grade_rule", "summary", "statistics"]
    assert not any(check.compared for check in verification.checks if check.note)
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
    found = fallen(verify(run))
    assert found.pop("rows") == [rows[PLACE]["row_id"]]
    assert set(found) == {"row_order"}


def test_rows_in_another_order_are_said(run, verify):
    rows = read_rows(run)
    (run / "qa.rows.jsonl").write_bytes(json_lines(rows[::-1]))
    assert list(fallen(verify(run))) == ["row_order"]


def test_a_row_without_the_counts_of_the_others_is_named(run, verify):
    for usage in (None, {}, {"total_tokens": 1}):
        change_row(run, PLACE, usage=usage)
        (where,) = fallen(verify(run))["response_metadata"]
        assert where.endswith(" usage")


def test_a_row_without_a_count_of_attempts_is_named(run, verify):
    change_row(run, PLACE, attempts=None)
    (where,) = fallen(verify(run))["response_metadata"]
    assert where.endswith(" attempts")


def test_absurd_token_counts_are_refused(run, verify):
    usage = read_rows(run)[PLACE]["usage"]
    change_row(run, PLACE, usage=usage | {"prompt_tokens": 10**4000})
    with pytest.raises(DeermemEvalError, match=r"line 2 of .*: usage.prompt_tokens"):
        verify(run)


def test_half_a_surrogate_pair_is_refused_in_words(run, verify):
    text = (
        (run / "qa.rows.jsonl")
        .read_text("utf-8")
        .replace('"prediction": "', '"prediction": "\\ud800', 1)
    )
    (run / "qa.rows.jsonl").write_text(text, "utf-8")
    with pytest.raises(DeermemEvalError, match=r"line 1 of .*half of a surrogate pair"):
        verify(run)


@pytest.mark.parametrize("name", ["qa.summary.json", "qa.stats.json", "qa.rows.jsonl"])
def test_a_file_that_is_none_is_refused_and_not_passed_over(run, verify, name):
    (run / name).unlink()
    (run / name).symlink_to("nowhere")
    with pytest.raises(DeermemEvalError, match=f"{name} does not exist"):
        verify(run)
    (run / name).unlink()
    (run / name).mkdir()
    with pytest.raises(DeermemEvalError, match=f"{name} is not a regular file"):
        verify(run)


def test_decisions_are_no_run_of_answers(run, verify):
    (run / "qa_run.json").rename(run / "run.json")
    with pytest.raises(DeermemEvalError, match="holds decisions .*, not answers"):
        verify(run)


def test_a_data_set_that_is_not_the_pinned_one_never_holds(sample, run, tmp_path, verify):
    """Even where the run's marker names it, and all else is made from it."""
    folder = shutil.copytree(sample.folder, tmp_path / "forged")
    path = folder / "dataset.json"
    path.write_text(path.read_text("utf-8").replace("7.5 kilometres", "9.5 kilometres"), "utf-8")
    pin = sha256_hex(path.read_bytes())
    config = folder / "configs" / "sample-v1.yaml"
    config.write_text(config.read_text("utf-8").replace(sample.config.dataset.sha256, pin), "utf-8")
    forged = write_graded_run(load_protocol(folder), tmp_path / "forged-run")
    assert set(fallen(verify(forged, dataset=path))) == {"protocol_hashes"}
    found = fallen(verify(run, dataset=path))
    assert found["protocol_hashes"] == ["dataset_sha256 of the file used here"]
    assert found["request_fingerprint"]
    assert fallen(verify(run, texts=load_protocol(folder)))["protocol_hashes"] == [
        "config_sha256 of the file used here",
        "dataset_sha256 of the file used here",
    ]


@pytest.fixture(scope="module")
def published(reference, historical):
    """Verify a published run with the evidence subset, whose hash is not the pinned one."""

    def verified(run, **options):
        given = {
            "texts": load_protocol(reference / "protocol"),
            "dataset": reference / "longmemeval" / "evidence_subset.json",
        }
        return verify_run(reference / "published" / run, historical, **given | options)

    return verified


def test_the_final_published_run_holds_but_for_the_hash_of_the_subset(published):
    verification = published("run3")
    assert fallen(verification) == {"protocol_hashes": ["dataset_sha256 of the file used here"]}
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


def counts_of(verification):
    return {check.name: (check.equal, check.compared) for check in verification.checks}


def test_without_texts_the_published_run_is_checked_as_far_as_facts_go(published):
    verification = published("run3", texts=None, dataset=None)
    assert verification.holds
    assert not verification.is_complete
    counts = counts_of(verification)
    for name in ("request_fingerprint", "grade", "grade_rule"):
        assert counts[name] == (0, 0)
    assert counts["protocol_hashes"] == (5, 5)
    assert counts["kept_fact_ids"] == (90, 90)
    recorded = [check for check in verification.checks if check.name in ("summary", "statistics")]
    assert {check.note for check in recorded} == {"made from grades that the rows record"}


def test_some_of_the_texts_check_some_of_the_rows(published):
    counts = counts_of(published("run3", texts=None))
    assert counts["grade"] == counts["grade_rule"] == (80, 80)
    assert counts["request_fingerprint"] == (0, 0)
    counts = counts_of(published("run3", dataset=None))
    assert counts["grade"] == counts["grade_rule"] == (10, 10)
