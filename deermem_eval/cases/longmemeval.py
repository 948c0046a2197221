"""LongMemEval rows: a pinned file in, records with rendered evidence out.

The file is hashed before it is parsed, and refused if it is not the one that the protocol pins.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from deermem_eval.cases.records import Record, RecordTexts
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.protocol.contract import first_problem
from deermem_eval.protocol.details import HISTORICAL, Details
from deermem_eval.reading import parse_json, read_bytes


class _Turn(BaseModel):
    model_config = ConfigDict(strict=True)

    role: Annotated[str, StringConstraints(min_length=1)]
    content: str
    has_answer: bool | None = None


class LongMemEvalRow(BaseModel):
    """One row of the data set, as far as a protocol looks at it."""

    model_config = ConfigDict(strict=True)

    question_id: Annotated[str, StringConstraints(min_length=1)]
    question_type: str
    question: str
    answer: str | int | float
    question_date: str
    haystack_session_ids: list[str]
    haystack_dates: list[str]
    haystack_sessions: list[list[_Turn]]


def read_longmemeval(
    path: Path, expected_sha256: str, details: Details = HISTORICAL
) -> tuple[Record, ...]:
    """Read a LongMemEval JSON file, whole or a subset; see `read_rows` and `record_of`."""
    return tuple(record_of(row, details) for row in read_rows(path, expected_sha256))


def read_rows(path: Path, expected_sha256: str) -> tuple[LongMemEvalRow, ...]:
    """Read the rows of a LongMemEval JSON file, whole or a subset.

    Parameters
    ----------
    path : Path
        The file: a JSON list of rows.
    expected_sha256 : str
        The SHA-256 that the protocol pins.

    Returns
    -------
    tuple of LongMemEvalRow
        In file order.

    Raises
    ------
    DeermemEvalError
        The file has another hash, or a row is malformed or repeated (named by its index).
    """
    what = "data set"
    content = read_bytes(path, what)
    actual = sha256_hex(content)
    if actual != expected_sha256:
        raise DeermemEvalError(
            f"data set {path} has SHA-256 {actual}, but the protocol pins {expected_sha256}; "
            "use the pinned file (that of pr4789 comes with `deermem-eval fetch pr4789`)"
        )
    document = parse_json(content, path, what)
    if not isinstance(document, list):
        raise DeermemEvalError(
            f"data set {path} is a {type(document).__name__}, not a list of rows"
        )
    rows: dict[str, LongMemEvalRow] = {}
    for index, value in enumerate(document):
        row = parse_row(value, f"data set {path}, row {index}")
        if row.question_id in rows:
            raise DeermemEvalError(
                f"data set {path}, row {index}: question_id {row.question_id!r} stands twice"
            )
        rows[row.question_id] = row
    return tuple(rows.values())


def parse_row(value: Any, where: str) -> LongMemEvalRow:
    """Check one row; a malformed one is refused with its place."""
    try:
        row = LongMemEvalRow.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise DeermemEvalError(f"{where}: {first_problem(error)}") from error
    sessions = row.haystack_sessions
    if not len(row.haystack_session_ids) == len(row.haystack_dates) == len(sessions):
        raise DeermemEvalError(
            f"{where}: {len(row.haystack_session_ids)} session ids, {len(row.haystack_dates)} "
            f"dates and {len(sessions)} sessions; each session needs one of each"
        )
    return row


def record_of(row: LongMemEvalRow, details: Details = HISTORICAL) -> Record:
    """Render a row's evidence: the turns that hold the answer, session by session."""
    blocks = [
        "\n".join([details.session_header.format(session_id=session_id, date=date), *lines])
        for session_id, date, turns in zip(
            row.haystack_session_ids, row.haystack_dates, row.haystack_sessions, strict=True
        )
        if (lines := _evidence_lines(turns, details))
    ]
    evidence = details.session_separator.join(blocks)
    return Record(
        question_id=row.question_id,
        question_type=row.question_type,
        evidence_sessions=len(blocks),
        evidence_chars=len(evidence),
        texts=RecordTexts(evidence, row.question, str(row.answer), row.question_date),
    )


def _evidence_lines(turns: Sequence[_Turn], details: Details) -> list[str]:
    """Render the turns that hold the answer; a session without any gives what the details say."""
    fallback = {
        "user turns": [turn for turn in turns if turn.role == "user"],
        "all turns": turns,
        "none": (),
    }
    chosen = [turn for turn in turns if turn.has_answer] or fallback[details.evidence_fallback]
    written = {"upper": str.upper, "lower": str.lower, "title": str.title}[details.role_case]
    return [f"{written(turn.role)}: {turn.content}" for turn in chosen]
