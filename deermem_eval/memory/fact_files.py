"""Fact files: one Markdown file of a DeerMem store in, one fact or the reason why it is none out.

Nothing here follows a link, executes or expands what a file says, or writes.
"""

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from deermem_eval.policies.scores import parse_timestamp
from deermem_eval.reading import parse_plain_yaml

FACT_BYTES_LIMIT = 20_000_000
FRONT_MATTER_CHARS_LIMIT = 100_000
READ_BYTES = 1 << 20
FACT_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
ACTIVE = "active"


class UnsoundError(Exception):
    """A file of a store that cannot be read as what it should be; the message is the reason."""


def read_fact_file(path: str | Path) -> dict[str, Any]:
    """Read a fact as DeerMem stores it.

    Parameters
    ----------
    path : str or Path
        `facts/{prefix}/{id}.md`.

    Returns
    -------
    dict
        The front matter's fields, and `content`: the text below the title line, or all of it where
        that is missing.

    Raises
    ------
    UnsoundError
        The file is no fact: a link, a folder, too large, not UTF-8, without front matter, or of
        another id than its name.
    """
    return parse_fact(decoded(regular_file_bytes(path, FACT_BYTES_LIMIT)), path)


def parse_fact(text: str, path: str | Path) -> dict[str, Any]:
    """Parse the text of a fact file; see `read_fact_file`."""
    lines = text.replace("\r\n", "\n")
    if not lines.startswith("---\n"):
        raise UnsoundError("it has no front matter between --- lines")
    end = lines.find("\n---\n", 3)
    if end < 0 or end > FRONT_MATTER_CHARS_LIMIT:
        raise UnsoundError("its front matter does not end")
    fields = front_matter(lines[4 : end + 1])
    id_ = fields.get("id")
    if not isinstance(id_, str) or not FACT_ID.fullmatch(id_):
        raise UnsoundError(f"its id {str(id_)[:40]!r} is none: letters, digits, _ and - only")
    folder, name = os.path.split(path)  # quicker than a Path, for very many files
    if name != f"{id_}.md":
        raise UnsoundError(f"its id {id_[:40]!r} does not match its name")
    if os.path.split(folder)[1] != prefix_of(id_):
        raise UnsoundError(f"it belongs into the folder {prefix_of(id_)}")
    return {**fields, "content": _content(lines[end + 5 :])}


def prefix_of(fact_id: str) -> str:
    """Return the folder of a fact: the first two hex digits of the SHA-256 of its id."""
    return hashlib.sha256(fact_id.encode()).hexdigest()[:2]


def regular_file_bytes(path: str | Path, limit: int) -> bytes:
    """Return the bytes of a regular file, at most `limit`; no link is followed.

    Raises
    ------
    UnsoundError
        It is a link, a folder or a device, too large, or unreadable.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        is_link = Path(path).is_symlink()
        reason = "it is a symbolic link, which is not followed" if is_link else str(error.strerror)
        raise UnsoundError(reason) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsoundError("it is no regular file")
        if status.st_size > limit:
            raise UnsoundError(f"it is {status.st_size} bytes, and {limit} are the most")
        parts = []
        while part := os.read(descriptor, READ_BYTES):
            parts.append(part)
        return b"".join(parts)
    except OSError as error:
        raise UnsoundError(str(error.strerror)) from error
    finally:
        os.close(descriptor)


def decoded(content: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Raises
    ------
    UnsoundError
        It is something else.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnsoundError("it is not UTF-8") from error


def front_matter(text: str) -> dict[str, Any]:
    """Parse front matter: plain values, dates as text; no tag, alias or duplicate key.

    Raises
    ------
    UnsoundError
        It is no YAML, or no mapping.
    """
    try:
        fields = parse_plain_yaml(text)
    except yaml.MarkedYAMLError as error:
        raise UnsoundError(f"its front matter is not plain YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnsoundError(
            f"its front matter is not YAML: {' '.join(str(error).split())[:80]}"
        ) from error
    if not isinstance(fields, Mapping):
        raise UnsoundError(f"its front matter is a {type(fields).__name__}, no mapping")
    return dict(fields)


def dirty_fields(fact: Mapping[str, Any], now: float) -> list[str]:
    """Say which fields of a fact a policy has to guess, one reason each.

    Parameters
    ----------
    fact : mapping
    now : float
        The evaluation clock, in seconds since 1970: a time after it is in the future.
    """
    reasons = []
    confidence = fact.get("confidence")
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not is_number or not 0 <= confidence <= 1:  # type: ignore[operator]
        reasons.append(f"confidence {str(confidence)[:20]!r} is no number in 0..1")
    for name in ("createdAt", "updatedAt", "lastConfirmedAt"):
        value = fact.get(name)
        if value is None and name != "createdAt":
            continue
        time = parse_timestamp(value)
        if time is None:
            reasons.append(f"{name} {str(value)[:30]!r} is no time")
        elif time.timestamp() > now:
            reasons.append(f"{name} {value} is in the future")
    if not isinstance(fact.get("category"), str):
        reasons.append("category is missing")
    return reasons


def _content(text: str) -> str:
    body = text.lstrip("\n")
    if body.startswith("# "):
        body = body.partition("\n")[2].lstrip("\n")
    return body.rstrip("\n")
