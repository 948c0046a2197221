"""Derive the facts of `data/pr4789/` from the reference data: ids, lengths, hashes and grades."""

import csv
import io
import json
from pathlib import Path

from deermem_eval.cases.longmemeval import read_longmemeval
from deermem_eval.cases.records import RECORD_COLUMNS
from deermem_eval.files import sha256_hex
from deermem_eval.grades import grade_answer, read_disputed
from deermem_eval.grades.outcomes import RUN_COLUMNS
from deermem_eval.protocol import load_protocol

RUNS = ("run1", "run2", "run3")
LAST_CANDIDATE = "60d45044"


def records_csv(reference: Path) -> bytes:
    path = reference / "longmemeval" / "evidence_subset_extended.json"
    records = read_longmemeval(path, sha256_hex(path.read_bytes()))
    cases = [r for r in records if not r.question_type.startswith("single-session")]
    candidates = [
        r
        for r in records
        if r.question_type in ("single-session-user", "single-session-preference")
        and r.question_id <= LAST_CANDIDATE
    ]
    assert (len(cases), len(candidates)) == (40, 42)
    rows = sorted((*cases, *candidates), key=lambda record: record.question_id)
    return table(RECORD_COLUMNS, [[getattr(row, name) for name in RECORD_COLUMNS] for row in rows])


def outcomes_csv(reference: Path) -> bytes:
    columns = ["run", "case_id", "policy", "correct", "rule", "support_retained"]
    columns += ["request_fingerprint", "answer_sha256", "prompt_tokens", "completion_tokens"]
    rows = []
    for run in RUNS:
        text = (reference / "published" / run / "qa.rows.jsonl").read_text(encoding="utf-8")
        for row in map(json.loads, text.splitlines()):
            rows.append(
                [
                    run,
                    row["case_id"],
                    row["policy"],
                    str(row["grade_correct"]).lower(),
                    row["grade_rule"],
                    str(row["support_all_retained"]).lower(),
                    row["request_fingerprint"],
                    sha256_hex(row["prediction"].encode()),
                    row["usage"]["prompt_tokens"],
                    row["usage"]["completion_tokens"],
                ]
            )
    return table(columns, rows)


def runs_csv(reference: Path) -> bytes:
    rows = []
    for run in RUNS:
        marker = json.loads((reference / "published" / run / "qa_run.json").read_text("utf-8"))
        hashes = {"dataset_sha256": marker["dataset"]["sha256"], **marker["artifacts"]}
        rows.append(
            [
                run,
                marker["created_at"],
                marker["git"]["head"],
                marker["qa"]["model"],
                *(hashes.get(name, "") for name in RUN_COLUMNS[4:]),
            ]
        )
    return table(RUN_COLUMNS, rows)


def regrades_csv(reference: Path) -> bytes:
    """Every published answer under the second grader, and the disputed ones under their reference."""
    vectors = (reference / "grader_vectors.jsonl").read_text("utf-8").splitlines()
    references = {
        (vector["run"], vector["row_id"]): vector["reference"]
        for vector in map(json.loads, vectors)
        if "run" in vector
    }
    disputed = {entry.case_id: entry.reference for entry in read_disputed(load_protocol("pr4789"))}
    rows = []
    for run in RUNS:
        text = (reference / "published" / run / "qa.rows.jsonl").read_text(encoding="utf-8")
        for row in map(json.loads, text.splitlines()):
            key = [run, row["case_id"], row["policy"]]
            expected = references[run, row["row_id"]]
            grade = grade_answer(row["prediction"], expected, version="unicode-overlap-v2")
            rows.append([*key, "unicode-overlap-v2", str(grade.correct).lower(), grade.rule])
            if row["case_id"] in disputed:
                grade = grade_answer(row["prediction"], disputed[row["case_id"]])
                rows.append([*key, "disputed-reference", str(grade.correct).lower(), grade.rule])
    return table(["run", "case_id", "policy", "grading", "correct", "rule"], rows)


def table(columns, rows) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([columns, *rows])
    return text.getvalue().encode()
