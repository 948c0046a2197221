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
from deermem_eval.reading import parse_json, read_bytes


class _Turn(BaseModel):
    model_config = ConfigDict(strict=True)

    role: Annotated[str, StringConstraints(min_length=1)]
    content: str
    has_answer: bool | None = None


class _Row(BaseModel):
    model_config = ConfigDict(strict=True)

    question_id: Annotated[str, StringConstraints(min_length=1)]
    question_type: str
    question: str
    answer: str | int | float
    question_date: str
    haystack_session_ids: list[str]
    haystack_dates: list[str]
    haystack_sessions: list[list[_Turn]]


def read_longmemeval(path: Path, expected_sha256: str) -> tuple[Record, ...]:
    """Read a LongMemEval JSON file, whole or a subset.

    Parameters
    ----------
    path : Path
        The file: a JSON list of rows.
    expected_sha256 : str
        The SHA-256 that the protocol pins.

    Returns
    -------
    tuple of Record
        In file order, with texts.

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
    records: dict[str, Record] = {}
    for index, value in enumerate(document):
        record = _record(value, f"data set {path}, row {index}")
        if record.question_id in records:
            raise DeermemEvalError(
                f"data set {path}, row {index}: question_id {record.question_id!r} stands twice"
            )
        records[record.question_id] = record
    return tuple(records.values())


def _record(value: Any, where: str) -> Record:
    try:
        row = _Row.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise DeermemEvalError(f"{where}: {first_problem(error)}") from error
    sessions = row.haystack_sessions
    if not len(row.haystack_session_ids) == len(row.haystack_dates) == len(sessions):
        raise DeermemEvalError(
            f"{where}: {len(row.haystack_session_ids)} session ids, {len(row.haystack_dates)} "
            f"dates and {len(sessions)} sessions; each session needs one of each"
        )
    blocks = [
        f"SESSION {session_id} AT {date}\n" + "\n".join(lines)
        for session_id, date, turns in zip(
            row.haystack_session_ids, row.haystack_dates, sessions, strict=True
        )
        if (lines := _evidence_lines(turns))
    ]
    evidence = "\n\n".join(blocks)
    return Record(
        question_id=row.question_id,
        question_type=row.question_type,
        evidence_sessions=len(blocks),
        evidence_chars=len(evidence),
        texts=RecordTexts(evidence, row.question, str(row.answer), row.question_date),
    )


def _evidence_lines(turns: Sequence[_Turn]) -> list[str]:
    """Render the turns that hold the answer; a session without any gives its user turns."""
    chosen = [turn for turn in turns if turn.has_answer] or [
        turn for turn in turns if turn.role == "user"
    ]
    return [f"{turn.role.upper()}: {turn.content}" for turn in chosen]
