"""Graded rows: who was right, read from published runs as facts or from full published rows."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict

from deermem_eval.cases import SUITE_OF_SOURCE, Case
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.grades.graded_rows import GradedRow, read_graded_rows
from deermem_eval.protocol.contract import Count, Sha256, Text, parse_contract
from deermem_eval.reading import parse_csv, read_bytes

RUN_COLUMNS = (
    "run",
    "created_at",
    "code_revision",
    "model",
    "config_sha256",
    "official_manifest_sha256",
    "synthetic_manifest_sha256",
    "answer_prompt_sha256",
    "dataset_sha256",
)


class _Outcome(BaseModel):
    """One line of `outcomes.csv`; values come as text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: Text
    case_id: Text
    policy: Text
    correct: bool
    rule: Text
    support_retained: bool
    request_fingerprint: Sha256
    answer_sha256: Sha256
    prompt_tokens: Count
    completion_tokens: Count


def read_outcomes(path: Path, cases: Sequence[Case]) -> pd.DataFrame:
    """Read graded rows from an `outcomes.csv`; scenario and suite come from the protocol's cases.

    Returns
    -------
    DataFrame
        Columns `run`, `case_id`, `source`, `suite`, `scenario`, `question_type`, `policy`,
        `correct` (bool), `rule`, `support_retained` (bool), `request_fingerprint`,
        `answer_sha256`, `prompt_tokens`, `completion_tokens` (int).

    Raises
    ------
    DeermemEvalError
        A value is malformed, a case is unknown to the protocol, or a pair is incomplete; the
        message names file and line, or run and case.
    """
    what = "outcomes"
    by_id = {case.case_id: case for case in cases}
    rows = []
    for line, values in parse_csv(read_bytes(path, what), path, what, tuple(_Outcome.model_fields)):
        outcome = parse_contract(_Outcome, values, path, f"{what} line {line} of")
        case = by_id.get(outcome.case_id)
        if case is None:
            raise DeermemEvalError(
                f"{what} {path}, line {line}: case {outcome.case_id!r} is not one of the protocol's"
            )
        rows.append(
            {
                "run": outcome.run,
                "case_id": case.case_id,
                "source": case.source,
                "suite": case.suite,
                "scenario": case.scenario,
                "question_type": case.question_type,
                **outcome.model_dump(exclude={"run", "case_id"}),
            }
        )
    return _complete_pairs(rows, path)


def read_runs(path: Path) -> pd.DataFrame:
    """Read what published runs were made from, from a `runs.csv`.

    Returns
    -------
    DataFrame
        Columns `RUN_COLUMNS`, as text; a hash that a run did not record is empty.

    Raises
    ------
    DeermemEvalError
        The file is missing, or has other columns.
    """
    rows = parse_csv(read_bytes(path, "runs"), path, "runs", RUN_COLUMNS)
    return pd.DataFrame([row for _, row in rows], columns=list(RUN_COLUMNS))


def read_published_rows(path: Path, run: str) -> pd.DataFrame:
    """Read graded rows from a published `qa.rows.jsonl`, under the name `run`.

    Returns and raises as `read_outcomes()` does.
    """
    return graded_table([row for _, row in read_graded_rows(path)], run, path)


def graded_table(graded: Iterable[GradedRow], run: str, path: Path) -> pd.DataFrame:
    """Return graded rows as a table, under the name `run`; see `read_outcomes()`.

    Raises
    ------
    DeermemEvalError
        A row stands twice, or a pair is incomplete; `path` is named.
    """
    rows = [
        {
            "run": run,
            "case_id": row.case_id,
            "source": row.source,
            "suite": SUITE_OF_SOURCE[row.source],
            "scenario": row.scenario,
            "question_type": row.question_type,
            "policy": row.policy,
            "correct": row.grade_correct,
            "rule": row.grade_rule,
            "support_retained": row.support_all_retained,
            "request_fingerprint": row.request_fingerprint,
            "answer_sha256": sha256_hex(row.prediction.encode()),
            "prompt_tokens": (row.usage or {}).get("prompt_tokens") or 0,
            "completion_tokens": (row.usage or {}).get("completion_tokens") or 0,
        }
        for row in graded
    ]
    return _complete_pairs(rows, path)


def rows_of_run(graded: pd.DataFrame, run: str) -> pd.DataFrame:
    """Return the rows of one run.

    Raises
    ------
    DeermemEvalError
        There is no such run; the message lists those that are there.
    """
    rows = graded[graded["run"] == run].reset_index(drop=True)
    if rows.empty:
        raise DeermemEvalError(
            f"run {run!r} is not among the graded rows, which are of "
            f"{', '.join(graded['run'].unique())}"
        )
    return rows


def _complete_pairs(rows: list[dict[str, object]], path: Path) -> pd.DataFrame:
    """Refuse repeated rows, and cases that not every policy of their run has answered."""
    if not rows:
        raise DeermemEvalError(f"{path} holds no graded row")
    table = pd.DataFrame(rows)
    repeated = table[table.duplicated(["run", "case_id", "policy"])]
    if len(repeated):
        row = repeated.iloc[0]
        raise DeermemEvalError(
            f"{path}: run {row['run']}, case {row['case_id']}, policy {row['policy']} stands "
            "twice; keep one row"
        )
    for run, of_run in table.groupby("run", sort=False):
        policies = set(of_run["policy"])
        for case_id, of_case in of_run.groupby("case_id", sort=False):
            missing = policies - set(of_case["policy"])
            if missing:
                raise DeermemEvalError(
                    f"{path}: run {run}, case {case_id} has no row of policy "
                    f"{', '.join(sorted(missing))}; pairs must be complete"
                )
    return table
