"""Regrading: the same answers under another grader, or under another reference; beside the frozen grades.

The frozen grade is never replaced. A grading here is one way to grade: `deterministic-overlap-v1` as
published, `unicode-overlap-v2`, and `disputed-reference`, the frozen grader with the references that
the protocol's `disputed.json` gives for the few cases whose own it disputes.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict

from deermem_eval.cases import Case
from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades.graded_rows import GradedRow
from deermem_eval.grades.graders import FROZEN_GRADER, GRADERS, grade_answer
from deermem_eval.grades.grading import paired_by_suite
from deermem_eval.protocol import Protocol
from deermem_eval.protocol.contract import Text, parse_contract
from deermem_eval.reading import CONTRACT_BYTES_LIMIT, parse_csv, parse_json, read_bytes

OTHER_GRADERS = tuple(version for version in GRADERS if version != FROZEN_GRADER)
DISPUTED = "disputed-reference"
KEYS = ["run", "case_id", "policy"]


class DisputedReference(BaseModel):
    """A case whose reference is disputed, what it should be instead, and why."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    case_id: Text
    reference: Text
    reason: Text


class _Regrade(BaseModel):
    """One line of `regrades.csv`; values come as text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Text
    case_id: Text
    policy: Text
    grading: Text
    correct: bool
    rule: Text


def read_disputed(protocol: Protocol) -> tuple[DisputedReference, ...]:
    """Read a protocol's `disputed.json`; empty where it has none.

    Raises
    ------
    DeermemEvalError
        It is malformed.
    """
    path, what = protocol.folder / "disputed.json", "disputed references"
    if not path.is_file():
        return ()
    document = parse_json(read_bytes(path, what, limit=CONTRACT_BYTES_LIMIT), path, what)
    if not isinstance(document, list):
        raise DeermemEvalError(
            f"{what} {path} is a {type(document).__name__}, not a list of entries; correct it"
        )
    return tuple(parse_contract(DisputedReference, entry, path, what) for entry in document)


def regrade(
    rows: Iterable[GradedRow],
    cases: Sequence[Case],
    run: str,
    disputed: Sequence[DisputedReference] = (),
) -> pd.DataFrame:
    """Grade answers anew, under the other graders and with the disputed references.

    Parameters
    ----------
    rows : iterable of GradedRow
    cases : sequence of Case
        With texts.
    run : str
        Name for the column `run`.
    disputed : sequence of DisputedReference

    Returns
    -------
    DataFrame
        Columns `run`, `case_id`, `policy`, `grading`, `correct` (bool), `rule`; under
        `disputed-reference` only the disputed cases.

    Raises
    ------
    DeermemEvalError
        A row is of no case, a case carries no texts, or a grader cannot read a reference.
    """
    references = {case.case_id: case.texts.answer for case in cases if case.texts}
    others = {entry.case_id: entry.reference for entry in disputed}
    graded = []
    for row in rows:
        if row.case_id not in references:
            raise DeermemEvalError(
                f"row {row.row_id}: case {row.case_id!r} has no reference here; use the protocol "
                "that the run was made from, with its texts"
            )
        ways = [(version, version, references[row.case_id]) for version in OTHER_GRADERS]
        if row.case_id in others:
            ways.append((DISPUTED, FROZEN_GRADER, others[row.case_id]))
        for grading, version, reference in ways:
            grade = grade_answer(row.prediction, reference, version=version)
            graded.append((run, row.case_id, row.policy, grading, grade.correct, grade.rule))
    return pd.DataFrame(graded, columns=list(_Regrade.model_fields))


def read_regrades(path: Path) -> pd.DataFrame:
    """Read regrades from a `regrades.csv`; columns as `regrade()` returns them.

    Raises
    ------
    DeermemEvalError
        A value is malformed, a grading is unknown, or a row stands twice; the message names file
        and line.
    """
    what = "regrades"
    columns = tuple(_Regrade.model_fields)
    rows: dict[tuple[str, ...], dict[str, object]] = {}
    for line, values in parse_csv(read_bytes(path, what), path, what, columns):
        row = parse_contract(_Regrade, values, path, f"{what} line {line} of")
        key = (row.run, row.case_id, row.policy, row.grading)
        problem = "stands twice" if key in rows else ""
        if row.grading not in (*OTHER_GRADERS, DISPUTED):
            problem = (
                f"has grading {row.grading!r}, not one of {', '.join((*OTHER_GRADERS, DISPUTED))}"
            )
        if problem:
            raise DeermemEvalError(f"{what} {path}, line {line}: the row {problem}; correct it")
        rows[key] = row.model_dump()
    return pd.DataFrame(rows.values(), columns=list(columns))


def with_grading(graded: pd.DataFrame, regrades: pd.DataFrame, grading: str) -> pd.DataFrame:
    """Return graded rows with `correct` and `rule` of another grading, where it has any."""
    chosen = regrades[regrades["grading"] == grading].set_index(KEYS)
    keys = pd.MultiIndex.from_frame(graded[KEYS])
    columns: Mapping[str, pd.Series] = {
        column: pd.Series(chosen[column].reindex(keys).to_numpy(), index=graded.index)
        for column in ("correct", "rule")
    }
    other = graded.assign(
        **{name: new.where(new.notna(), graded[name]) for name, new in columns.items()}
    )
    return other.astype({"correct": bool})


def changed_rows(graded: pd.DataFrame, regrades: pd.DataFrame) -> pd.DataFrame:
    """List the rows that another grading grades otherwise than the frozen one.

    Returns
    -------
    DataFrame
        Columns `run`, `scenario`, `case_id`, `policy`, `correct`, `rule` (frozen), `grading`,
        `correct_regraded`, `rule_regraded`.
    """
    joined = graded.merge(regrades, on=KEYS, suffixes=("", "_regraded"))
    differing = joined[joined["correct"] != joined["correct_regraded"]]
    columns = ["run", "scenario", "case_id", "policy", "correct", "rule", "grading"]
    return differing[[*columns, "correct_regraded", "rule_regraded"]].reset_index(drop=True)


def gradings_by_suite(
    graded: pd.DataFrame,
    regrades: pd.DataFrame,
    protocol: Protocol,
    *,
    policies: Sequence[str] = ("confidence", "hybrid-v1"),
) -> pd.DataFrame:
    """Set the paired statistics of every grading beside those of the frozen one.

    Returns
    -------
    DataFrame
        Columns `run`, `grading`, `suite`, `cases`, `correct_baseline`, `correct_candidate`,
        `difference`, `lower`, `upper`, `p_value`.
    """
    tables = []
    for grading in (FROZEN_GRADER, *regrades["grading"].unique()):
        rows = graded if grading == FROZEN_GRADER else with_grading(graded, regrades, grading)
        paired = paired_by_suite(rows, protocol.config, policies=policies)
        tables.append(
            paired.assign(
                grading=grading,
                correct_baseline=paired["both"] + paired["baseline_only"],
                correct_candidate=paired["both"] + paired["candidate_only"],
            )
        )
    columns = ["run", "grading", "suite", "cases", "correct_baseline", "correct_candidate"]
    order = {run: place for place, run in enumerate(graded["run"].unique())}
    table = pd.concat(tables, ignore_index=True).sort_values(
        "run", key=lambda runs: runs.map(order), kind="stable", ignore_index=True
    )
    return table[[*columns, "difference", "lower", "upper", "p_value"]]
