"""Stores: every agent's facts and usage under a DeerMem root, one store at a time; reading never writes."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.memory.fact_files import (
    ACTIVE,
    UnsoundError,
    decoded,
    parse_fact,
    read_fact_file,
    regular_file_bytes,
)
from deermem_eval.memory.pending import read_pending

SIDECAR_BYTES_LIMIT = 100_000_000
USAGE_FILE = Path(".metadata") / "fact-usage.json"
AUDIT_FILE = Path(".metadata") / "eviction-audit.json"
LEGACY_FILE = "memory.json"


@dataclass(frozen=True)
class Unsound:
    """A file that was not read, or a field that a policy has to guess, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class StorePlace:
    """Where a store lies, and whose it is; `user` is empty below the root itself.

    Attributes
    ----------
    user, agent : str
    folder : Path
        Of the agent.
    legacy : Path or None
        The JSON document that holds the facts of an older store; None: they lie in `facts/`.
    """

    user: str
    agent: str
    folder: Path
    legacy: Path | None = None


@dataclass(frozen=True)
class MemoryStore:
    """One agent's facts as DeerMem stores them, with their usage.

    Attributes
    ----------
    place : StorePlace
    facts : tuple of dict
        Active ones, by path; an older store's in the order of its document.
    paths : tuple of str
        Of each fact.
    usage : mapping of str to dict
    unsound : tuple of Unsound
        Files that are left out, and why.
    """

    place: StorePlace
    facts: tuple[dict[str, Any], ...]
    paths: tuple[str, ...]
    usage: Mapping[str, Any] = field(default_factory=dict)
    unsound: tuple[Unsound, ...] = ()


def find_stores(root: Path) -> Iterator[StorePlace]:
    """Yield the stores under a root, users and agents in the order of their names.

    Raises
    ------
    DeermemEvalError
        The root is no folder.
    """
    if not root.is_dir():
        raise DeermemEvalError(
            f"{root} is no folder; name a DeerMem folder, or set DEERMEM_DATA_DIR to one"
        )
    yield from _of_user("", root)
    for user in _folders(root / "users"):
        yield from _of_user(user, root / "users" / user)


def read_store(place: StorePlace) -> MemoryStore:
    """Read a store; whatever is unsound is left out and named."""
    usage, unsound = read_usage(place.folder)
    if place.legacy is not None:
        return _legacy_store(place, place.legacy, usage, unsound)
    facts, paths = [], []
    pending = read_pending(place.folder)
    lying = _fact_files(place.folder)
    coming: dict[str, str] = {}
    if pending:
        coming = {str(place.folder / name): text for name, text in pending.write.items()}
        new = [path for path in coming if path.endswith(".md")]
        lying = sorted({*lying, *new} - {str(place.folder / name) for name in pending.delete})
    for path in lying:
        try:
            fact = parse_fact(coming[path], path) if path in coming else read_fact_file(path)
        except UnsoundError as error:
            unsound.append(Unsound(path, str(error)))
            continue
        if fact.get("status", ACTIVE) == ACTIVE:
            facts.append(fact)
            paths.append(path)
    return MemoryStore(place, tuple(facts), tuple(paths), usage, tuple(unsound))


def read_usage(folder: Path) -> tuple[dict[str, Any], list[Unsound]]:
    """Read the usage sidecar of an agent; a broken one counts as empty and is named."""
    document, unsound = _sidecar(folder / USAGE_FILE, dict)
    return document or {}, unsound


def read_audit_events(folder: Path) -> tuple[list[Any], list[Unsound]]:
    """Read the audit sidecar of an agent, newest last; a broken one counts as empty and is named."""
    document, unsound = _sidecar(folder / AUDIT_FILE, list)
    return document or [], unsound


def fact_paths(folder: Path) -> list[Path]:
    """Return what lies where fact files lie, by name; no link is followed."""
    return [Path(path) for path in _fact_files(folder)]


def _fact_files(folder: Path) -> list[str]:
    found = []
    for entry in _entries(folder / "facts"):
        if entry.is_dir(follow_symlinks=False):
            found += [one.path for one in _entries(entry.path) if _is_fact_name(one.name)]
        if _is_fact_name(entry.name):
            found.append(entry.path)
    return sorted(found)


def _of_user(user: str, folder: Path) -> Iterator[StorePlace]:
    legacy = folder / LEGACY_FILE
    if _holds_facts(legacy):
        yield StorePlace(user, "", folder, legacy)
    for agent in _folders(folder / "agents"):
        of_agent = folder / "agents" / agent
        if (of_agent / "facts").is_dir():
            yield StorePlace(user, agent, of_agent)
        elif _holds_facts(of_agent / LEGACY_FILE):
            yield StorePlace(user, agent, of_agent, of_agent / LEGACY_FILE)


def _holds_facts(path: Path) -> bool:
    """Whether a JSON document is an older store, or might be one and cannot be read."""
    if not os.path.lexists(path):
        return False
    try:
        document = json.loads(decoded(regular_file_bytes(path, SIDECAR_BYTES_LIMIT)))
    except (UnsoundError, ValueError, RecursionError):
        return True
    return isinstance(document, dict) and "facts" in document


def _legacy_store(
    place: StorePlace, path: Path, usage: Mapping[str, Any], unsound: list[Unsound]
) -> MemoryStore:
    document, problems = _sidecar(path, dict)
    unsound = [*unsound, *problems]
    listed = (document or {}).get("facts", [])
    facts, paths = [], []
    for i, fact in enumerate(listed if isinstance(listed, list) else []):
        where = f"{path} fact {i}"
        if not isinstance(fact, dict) or not isinstance(fact.get("id"), str) or not fact["id"]:
            unsound.append(Unsound(where, "it is no object with an id"))
        elif fact.get("status", ACTIVE) == ACTIVE:
            facts.append(fact)
            paths.append(where)
    if not isinstance(listed, list):
        unsound.append(Unsound(str(path), "its facts are no list"))
    return MemoryStore(place, tuple(facts), tuple(paths), usage, tuple(unsound))


def _sidecar(path: Path, kind: type) -> tuple[Any, list[Unsound]]:
    pending = read_pending(path.parent.parent)
    coming = pending.write.get(f"{path.parent.name}/{path.name}") if pending else None
    if coming is None and not os.path.lexists(path):
        return None, []
    try:
        text = coming or decoded(regular_file_bytes(path, SIDECAR_BYTES_LIMIT))
        document = json.loads(text)
    except UnsoundError as error:
        return None, [Unsound(str(path), f"{error}; it counts as empty")]
    except (ValueError, RecursionError):
        return None, [Unsound(str(path), "it is not valid JSON; it counts as empty")]
    if not isinstance(document, kind):
        return None, [Unsound(str(path), f"it is no {kind.__name__}; it counts as empty")]
    return document, []


def _folders(folder: Path) -> list[str]:
    return sorted(entry.name for entry in _entries(folder) if entry.is_dir(follow_symlinks=False))


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:  # there is none, or it may not be read
        return []


def _is_fact_name(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")
