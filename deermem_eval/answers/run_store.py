"""The store of a run: one writer, one durable file a row, and a journal of every attempt.

Promises: a row is on disk, whole, before anybody is told of it; what a crash loses is calls in flight; the
journal only grows.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deermem_eval import __version__
from deermem_eval.answers.messages import AnswerTask
from deermem_eval.answers.replies import Reply, reply_class
from deermem_eval.answers.run_directory import (
    MARKER,
    MARKER_SCHEMA_VERSION,
    RESPONSES,
    StoredRow,
    read_marker,
)
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import json_document, refuse_unwritable, sha256_hex, write_file
from deermem_eval.protocol import Protocol
from deermem_eval.protocol.contract import parse_contract
from deermem_eval.protocol.overrides import RUN_CONFIG
from deermem_eval.reading import parse_json, read_bytes

JOURNAL = "attempts.jsonl"
LOCK = ".lock"
ROW_SCHEMA_VERSION = 1
IDENTITY_FIELDS = (
    *("schema_version", "row_id", "case_id", "source", "scenario", "policy", "capacity"),
    *("kept_fact_ids", "request_fingerprint"),
)


@dataclass(frozen=True)
class StoredAnswer:
    """What a run holds of a task: the row if it can be used, else why it cannot."""

    row: StoredRow | None
    problem: str


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Hold a run directory, and make it if it is missing.

    Raises
    ------
    DeermemEvalError
        Somebody else holds it, or it cannot be written.
    """
    from filelock import FileLock, Timeout

    refuse_unwritable(folder)
    try:
        with FileLock(folder / LOCK, timeout=0):
            yield
    except Timeout as error:
        raise DeermemEvalError(
            f"another run is at work in {folder}; wait for it, or name another --output-dir"
        ) from error


def open_run(folder: Path, marker: Mapping[str, Any], config: bytes | None) -> None:
    """Write the marker of a new run, or compare it with the one that is there.

    Parameters
    ----------
    folder : Path
    marker : mapping
        As `qa_run.json` is to hold it.
    config : bytes, optional
        The run's own config, where it is not the protocol's.

    Raises
    ------
    DeermemEvalError
        The folder holds a run that was made from something else (named), or other files.
    """
    path = folder / MARKER
    journal = folder / JOURNAL
    if journal.exists() and not journal.is_file():
        raise DeermemEvalError(f"{journal} is no regular file; move it away")
    if not path.exists():
        foreign = [one.name for one in folder.iterdir() if one.name not in (LOCK, RUN_CONFIG)]
        own = folder / RUN_CONFIG  # a start may have been killed between the two files
        if own.exists() and read_bytes(own, "run config") != config:
            foreign.append(RUN_CONFIG)
        if foreign:
            raise DeermemEvalError(
                f"{folder} holds {foreign[0]} and no {MARKER}: it is no run; name a new folder"
            )
        if config is not None:
            write_file(folder / RUN_CONFIG, config)
        write_file(path, json_document(dict(marker)))
        return
    stored = read_marker(folder)
    changed = [
        name.removesuffix("_sha256").replace("_", " ")
        for name, sha256 in marker["artifacts"].items()
        if stored.artifacts.get(name) != sha256
    ]
    if changed:
        raise DeermemEvalError(
            f"{path}: the run was made with another {' and '.join(changed)}; name a new folder, or "
            "go back to what it was made with"
        )
    if (stored.provider or marker["provider"]) != marker["provider"]:
        raise DeermemEvalError(
            f"{path}: the run is answered by another provider; name a new folder, or that provider"
        )
    if config is not None and sha256_hex(
        read_bytes(folder / RUN_CONFIG, "run config")
    ) != sha256_hex(config):
        raise DeermemEvalError(
            f"{folder / RUN_CONFIG} was changed; restore it, or name a new folder"
        )


def stored_answer(folder: Path, task: AnswerTask) -> StoredAnswer:
    """Return the stored row of a task, if its whole identity is that of the task."""
    path = row_path(folder, task.row_id)
    if not path.exists():
        return StoredAnswer(None, "")
    try:
        document = parse_json(read_bytes(path, "answer"), path, "answer")
        row = parse_contract(StoredRow, document, path, "answer")
    except DeermemEvalError as error:
        return StoredAnswer(None, str(error))
    expected = task_identity(task)
    wrong = [name for name in IDENTITY_FIELDS if getattr(row, name) != expected[name]]
    problem = f"{path.name}: {', '.join(wrong)} differ from the protocol's" if wrong else ""
    return StoredAnswer(None if wrong else row, problem)


def task_identity(task: AnswerTask) -> dict[str, Any]:
    """Return what a row must say of the task that it answers."""
    case = task.decision.case
    return {
        "schema_version": ROW_SCHEMA_VERSION,
        "row_id": task.row_id,
        "case_id": case.case_id,
        "source": case.source,
        "scenario": case.scenario,
        "policy": task.decision.policy,
        "capacity": task.decision.capacity,
        "kept_fact_ids": task.decision.kept_fact_ids,
        "request_fingerprint": task.fingerprint,
    }


def write_answer(
    folder: Path, task: AnswerTask, reply: Reply, *, attempts: int, created_at: str, seconds: float
) -> None:
    """Store an answer under the published keys, with `class`, `finish_reason` and `seconds` beside."""
    row = {
        **task_identity(task),
        "prediction": reply.prediction,
        "attempts": attempts,
        "response_model": reply.response_model,
        "usage": reply.usage,
        "created_at": created_at,
        "class": reply_class(reply),
        "finish_reason": reply.finish_reason,
        "seconds": round(seconds, 3),
    }
    write_file(row_path(folder, task.row_id), json_document(row))


def row_path(folder: Path, row_id: str) -> Path:
    """Return where the row of that id is stored."""
    return folder / RESPONSES / f"{row_id}.json"


def append_attempt(folder: Path, entry: Mapping[str, Any]) -> None:
    """Add a line to the journal, durable when this returns; a torn last line is closed first."""
    line = (json.dumps(entry, ensure_ascii=False, sort_keys=True) + "\n").encode()
    descriptor = os.open(folder / JOURNAL, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def run_marker(protocol: Protocol, *, provider: str, created_at: str) -> dict[str, Any]:
    """Return the marker of a run: the published keys, and the provider beside.

    Parameters
    ----------
    protocol : Protocol
        With the run's own config, if it has one.
    provider : str
    created_at : str
    """
    config = protocol.config
    return {
        "schema_version": MARKER_SCHEMA_VERSION,
        "protocol_id": config.protocol_id,
        "created_at": created_at,
        "software": {"name": "deermem-eval", "version": __version__},
        "provider": provider,
        "artifacts": protocol.identity.as_dict(),
        "dataset": config.dataset.model_dump(),
        "qa": {
            "capacity": config.pool.qa_capacity,
            **config.qa.model_dump(
                mode="json", exclude={"answer_prompt", "provider"}, exclude_none=True
            ),
        },
    }
