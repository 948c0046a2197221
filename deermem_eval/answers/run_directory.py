"""A run directory: its marker `qa_run.json`, and its answers, one file a row.

The format is that of deer-flow PR #4810. What is read here is only well-formed; whether it is true is
for `deermem_eval.grades.verify` to say.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol.contract import Count, Sha256, Text, parse_contract
from deermem_eval.reading import CONTRACT_BYTES_LIMIT, parse_json, parse_json_lines, read_bytes

MARKER = "qa_run.json"
RESPONSES = "responses"
ROWS = "qa.rows.jsonl"
ROW_BYTES_LIMIT = 50_000_000

MARKER_SCHEMA_VERSION = 2


class RunMarker(BaseModel):
    """What a run says it was made from; keys that we do not know are passed over."""

    model_config = ConfigDict(strict=True, frozen=True)

    schema_version: int
    protocol_id: Text
    created_at: str = ""
    provider: str | None = None
    git: dict[str, Any] = Field(default_factory=dict)
    artifacts: dict[str, str]
    dataset: dict[str, Any]
    qa: dict[str, Any]


class AnswerRow(BaseModel):
    """One answer and what it answers; keys that we do not know are passed over."""

    model_config = ConfigDict(strict=True, frozen=True)

    schema_version: int
    row_id: Text
    case_id: Text
    source: Text
    scenario: Text
    policy: Text
    capacity: int
    kept_fact_ids: tuple[str, ...]
    prediction: str
    attempts: int | None
    request_fingerprint: Sha256
    response_model: str | None
    usage: dict[str, Count | None] | None


class StoredRow(AnswerRow):
    """An answer as a run directory keeps it, with what we add to the published keys."""

    reply_class: str | None = Field(default=None, alias="class")
    finish_reason: str | None = None
    seconds: float | None = None


def read_marker(folder: Path) -> RunMarker:
    """Read the `qa_run.json` of a folder.

    Raises
    ------
    DeermemEvalError
        It is missing or malformed.
    """
    path, what = folder / MARKER, "run marker"
    if not path.exists() and (folder / "run.json").exists():
        raise DeermemEvalError(
            f"{folder} holds decisions (run.json), not answers; name the folder of an answered run, "
            f"with a {MARKER}"
        )
    content = read_bytes(path, what, limit=CONTRACT_BYTES_LIMIT)
    return parse_contract(RunMarker, parse_json(content, path, what), path, what)


def class_table(folder: Path) -> pd.DataFrame:
    """Count the answers of a run directory by policy and class.

    Returns
    -------
    DataFrame
        Columns `policy`, `class` (one of `deermem_eval.answers.REPLY_CLASSES`), `rows`.
    """
    rows = [(row.policy, row.reply_class or "answered") for row in read_answers(folder).values()]
    table = pd.DataFrame(rows, columns=["policy", "class"])
    return table.groupby(["policy", "class"]).size().rename("rows").reset_index()


def read_rows(folder: Path) -> Sequence[AnswerRow]:
    """Read the answers of a folder: its published rows where there are any, else its answers.

    Raises
    ------
    DeermemEvalError
        There is none, or one is malformed; the message names file and line.
    """
    path, what = folder / ROWS, "published rows"
    if not (path.exists() or path.is_symlink()):
        return tuple(read_answers(folder).values())
    return tuple(
        parse_contract(AnswerRow, values, path, f"{what} line {line} of")
        for line, values in parse_json_lines(read_bytes(path, what), path, what)
    )


def read_answers(folder: Path) -> Mapping[str, StoredRow]:
    """Read the answers of a run directory.

    Returns
    -------
    mapping of str to StoredRow
        By the name of the file, without its ending.

    Raises
    ------
    DeermemEvalError
        There is none, or one is malformed; the message names the file.
    """
    paths = sorted((folder / RESPONSES).glob("*.json"))
    if not paths:
        raise DeermemEvalError(
            f"{folder} holds neither qa.rows.jsonl nor answers in {RESPONSES}/; name a run "
            "directory, or a folder of published rows"
        )
    rows = {}
    for path in paths:
        content = read_bytes(path, "answer", limit=ROW_BYTES_LIMIT)
        document = parse_json(content, path, "answer")
        rows[path.stem] = parse_contract(StoredRow, document, path, "answer")
    return rows
