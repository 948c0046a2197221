"""Graded rows: a published `qa.rows.jsonl` line by line, and the run that it belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deermem_eval.answers.run_directory import (
    ROWS,
    AnswerRow,
    RunMarker,
    read_answers,
    read_marker,
)
from deermem_eval.cases import SUITE_OF_SOURCE
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.protocol.contract import Text, parse_contract
from deermem_eval.reading import parse_json_lines, read_bytes


class GradedRow(AnswerRow):
    """One answer and its grade, under the published keys (PR #4810)."""

    question_type: Text
    support_all_retained: bool
    support_recall: float
    grade_correct: bool
    grade_rule: Text
    grader_version: Text


def read_graded_rows(path: Path) -> Sequence[tuple[int, GradedRow]]:
    """Read published rows.

    Returns
    -------
    sequence of (int, GradedRow)
        Line number, from 1, and row.

    Raises
    ------
    DeermemEvalError
        The file holds no row, or a row is malformed or of an unknown source; the message names
        file and line.
    """
    what = "published rows"
    rows = []
    for line, values in parse_json_lines(read_bytes(path, what), path, what):
        row = parse_contract(GradedRow, values, path, f"{what} line {line} of")
        if row.source not in SUITE_OF_SOURCE:
            raise DeermemEvalError(
                f"{what} {path}, line {line}: source {row.source!r} is not one of "
                f"{', '.join(SUITE_OF_SOURCE)}"
            )
        rows.append((line, row))
    if not rows:
        raise DeermemEvalError(f"{what} {path} holds no graded row; name another run")
    return rows


@dataclass(frozen=True)
class StoredRun:
    """A run as it stands on disk, believed in nothing.

    Attributes
    ----------
    folder : Path
    marker : RunMarker
    graded : mapping of str to GradedRow
        By row id, of a repeated row the first; empty where the run is not graded yet.
    answers : mapping of str to AnswerRow
        By the name of the file; read where there are no graded rows.
    order : tuple of str
        Ids of the graded rows as they stand in the file, repeated ones too.
    rows_sha256 : str
        Of `qa.rows.jsonl`; empty where the run is not graded yet.
    """

    folder: Path
    marker: RunMarker
    graded: Mapping[str, GradedRow] = field(default_factory=dict)
    answers: Mapping[str, AnswerRow] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    rows_sha256: str = ""

    def require_grades(self) -> Mapping[str, GradedRow]:
        """Return the graded rows.

        Raises
        ------
        DeermemEvalError
            There are none.
        """
        if not self.graded:
            raise DeermemEvalError(
                f"run {self.folder} holds no {ROWS}: it is not graded yet; grade it, or name another"
            )
        return self.graded

    @property
    def rows(self) -> Mapping[str, AnswerRow]:
        """The graded rows where there are any, else the answers."""
        return self.graded or self.answers


def read_run(folder: Path) -> StoredRun:
    """Read a run directory, or a folder of published rows.

    Raises
    ------
    DeermemEvalError
        The marker, or the rows, are missing or malformed.
    """
    marker = read_marker(folder)
    path = folder / ROWS
    if not (path.exists() or path.is_symlink()):
        return StoredRun(folder, marker, answers=read_answers(folder))
    rows = [row for _, row in read_graded_rows(path)]
    return StoredRun(
        folder,
        marker,
        graded={row.row_id: row for row in reversed(rows)},
        order=tuple(row.row_id for row in rows),
        rows_sha256=sha256_hex(read_bytes(path, "published rows")),
    )
