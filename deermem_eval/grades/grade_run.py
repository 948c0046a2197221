"""Grade a run: every answer, blind to the policy, into the published files.

Nothing that a row says of itself is believed: all requests are rendered anew, and one row that does not
answer its request, or one hash that is not the protocol's, refuses the whole run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deermem_eval.answers import AnswerTask, row_id, run_tasks
from deermem_eval.answers.run_directory import MARKER, RESPONSES, ROWS, StoredRow, read_marker
from deermem_eval.answers.run_store import stored_answer, task_identity
from deermem_eval.cases import Case
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import json_document, json_lines, sha256_hex, write_file
from deermem_eval.grades.graded_rows import GradedRow
from deermem_eval.grades.graders import GRADERS, grade_answer
from deermem_eval.grades.grading import statistics_document, summary_document
from deermem_eval.grades.outcomes import graded_table
from deermem_eval.grades.verify import verify_run
from deermem_eval.protocol import Protocol
from deermem_eval.protocol.contract import parse_contract

DIAGNOSTICS = "qa.diagnostics.jsonl"
COMPARED = ("confidence", "hybrid-v1")
SHOWN = 5


@dataclass(frozen=True)
class GradedRun:
    """What grading gave.

    Attributes
    ----------
    rows : sequence of dict
        The published rows, in the order of their ids.
    rows_sha256 : str
        SHA-256 of `qa.rows.jsonl`, to be quoted in a report.
    """

    rows: Sequence[dict[str, Any]]
    rows_sha256: str


def grade_run(folder: Path, protocol: Protocol, cases: Sequence[Case]) -> GradedRun:
    """Grade a run directory, and write `qa.rows.jsonl`, `qa.summary.json`, `qa.stats.json`.

    There are no statistics of a run under one policy alone.

    Class, finish reason, seconds and the grade of the other grader go to `qa.diagnostics.jsonl`.

    Parameters
    ----------
    folder : Path
        A run directory in which every row is answered.
    protocol : Protocol
        With the run's own config, if it has one, and with texts.
    cases : sequence of Case
        Of the protocol.

    Raises
    ------
    DeermemEvalError
        The run is graded already, was made from another protocol, or lacks rows or holds others
        than the protocol asks for (named); nothing is written.
    """
    if (folder / ROWS).exists():
        raise DeermemEvalError(
            f"{folder / ROWS} is there already, and grades are never overwritten; move it away, or "
            "name another run"
        )
    _refuse_other_protocol(folder, protocol)
    tasks = sorted(run_tasks(protocol, cases), key=lambda task: task.row_id)
    answers = _answers(folder, tasks)
    version = protocol.config.qa.grader_version
    rows = [_graded_row(task, answers[task.row_id], version) for task in tasks]
    diagnostics = [_diagnostics(task, answers[task.row_id]) for task in tasks]
    table = graded_table(
        [parse_contract(GradedRow, row, folder, "row of") for row in rows], folder.name, folder
    )
    content = json_lines(rows)
    write_file(folder / DIAGNOSTICS, json_lines(diagnostics))
    write_file(folder / "qa.summary.json", json_document(summary_document(table, protocol.config)))
    if set(table["policy"]) == set(COMPARED):
        write_file(
            folder / "qa.stats.json", json_document(statistics_document(table, protocol.config))
        )
    write_file(folder / ROWS, content)  # last: where it is, the others are
    return GradedRun(rows, sha256_hex(content))


def _refuse_other_protocol(folder: Path, protocol: Protocol) -> None:
    marker = read_marker(folder)
    changed = [
        name.removesuffix("_sha256").replace("_", " ")
        for name, sha256 in protocol.identity.as_dict().items()
        if marker.artifacts.get(name) != sha256
    ]
    if changed:
        raise DeermemEvalError(
            f"{folder / MARKER}: the run was made with another {' and '.join(changed)}; grade it "
            "with the protocol that it was made with"
        )


def _answers(folder: Path, tasks: Sequence[AnswerTask]) -> dict[str, StoredRow]:
    answers: dict[str, StoredRow] = {}
    problems = []
    for task in tasks:
        stored = stored_answer(folder, task)
        if stored.row is None:
            problems.append(stored.problem or f"{task.row_id}.json is missing")
        else:
            answers[task.row_id] = stored.row
    known = {f"{task.row_id}.json" for task in tasks}
    problems += [
        f"{path.name} is no row of the protocol"
        for path in sorted((folder / RESPONSES).glob("*.json"))
        if path.name not in known
    ]
    if problems:
        more = f" (and {len(problems) - SHOWN} more)" if len(problems) > SHOWN else ""
        raise DeermemEvalError(
            f"{folder / RESPONSES}: {'; '.join(problems[:SHOWN])}{more}; run-qa asks for what is "
            "missing or differs"
        )
    return answers


def _graded_row(task: AnswerTask, answer: StoredRow, version: str) -> dict[str, Any]:
    decision = task.decision
    if decision.case.texts is None:
        raise DeermemEvalError(f"case {decision.case.case_id} has no reference; name the data set")
    grade = grade_answer(answer.prediction, decision.case.texts.answer, version=version)
    return {
        **task_identity(task),
        "kept_fact_ids": list(decision.kept_fact_ids),
        "question_type": decision.case.question_type,
        "support_all_retained": decision.support_retained,
        "support_recall": decision.support_recall,
        "prediction": answer.prediction,
        "grade_correct": grade.correct,
        "grade_rule": grade.rule,
        "grader_version": version,
        "attempts": answer.attempts,
        "response_model": answer.response_model,
        "usage": answer.usage,
    }


def _diagnostics(task: AnswerTask, answer: StoredRow) -> dict[str, Any]:
    texts = task.decision.case.texts
    grades = {
        version: grade_answer(answer.prediction, texts.answer, version=version)
        for version in GRADERS
        if texts
    }
    return {
        "row_id": row_id(task.decision),
        "class": answer.reply_class,
        "finish_reason": answer.finish_reason,
        "seconds": answer.seconds,
        "grades": {
            version: {"correct": grade.correct, "rule": grade.rule}
            for version, grade in grades.items()
        },
    }


def graded_or_grade(folder: Path, protocol: Protocol, cases: Sequence[Case]) -> str:
    """Grade a run, or make sure that its grades hold; return the SHA-256 of its rows.

    Raises
    ------
    DeermemEvalError
        As `grade_run()`; or the grades that are there do not hold.
    """
    if not (folder / ROWS).exists():
        return grade_run(folder, protocol, cases).rows_sha256
    verification = verify_run(folder, protocol)
    if not verification.holds:
        fallen = ", ".join(check.name for check in verification.checks if check.differences)
        raise DeermemEvalError(
            f"{folder}: the grades that are there do not hold ({fallen}); see `deermem-eval verify`"
        )
    return verification.rows_sha256
