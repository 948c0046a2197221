"""Sources: the files that a protocol of facts was made from, each pinned by its SHA-256."""

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol.identity import Identity
from deermem_eval.protocol.protocol import Protocol
from deermem_eval.reading import parse_csv, read_bytes

SOURCE_COLUMNS = ("artifact", "path", "sha256")
ARTIFACTS = ("config", "official_manifest", "synthetic_manifest", "answer_prompt")
PUBLISHED = "published"


@dataclass(frozen=True)
class Source:
    """One upstream file.

    Attributes
    ----------
    artifact : str
        One of `ARTIFACTS`, or `published` for a file of a published run.
    path : str
        Where it lies in the upstream folder, with `/`.
    sha256 : str
    """

    artifact: str
    path: str
    sha256: str


def read_sources(protocol: Protocol) -> tuple[Source, ...]:
    """Read a protocol's `sources.csv`; empty where it has none, because it is itself complete.

    Raises
    ------
    DeermemEvalError
        An artifact is unknown, missing or there twice, a path leaves its folder, or a hash is
        none; the message names file and line.
    """
    path, what = protocol.folder / "sources.csv", "sources"
    if not (path.exists() or path.is_symlink()):
        return ()
    sources = []
    for line, row in parse_csv(read_bytes(path, what), path, what, SOURCE_COLUMNS):
        parts = PurePosixPath(row["path"])
        if not parts.name or parts.is_absolute() or ".." in parts.parts or "\\" in row["path"]:
            raise DeermemEvalError(
                f"{what} {path}, line {line}: path {row['path']!r} leaves its folder; correct it"
            )
        if not re.fullmatch(r"[0-9a-f]{64}", row["sha256"]):
            raise DeermemEvalError(
                f"{what} {path}, line {line}: sha256 {row['sha256']!r} is not 64 lower-case "
                "hexadecimal digits; correct it"
            )
        if row["artifact"] not in (*ARTIFACTS, PUBLISHED):
            raise DeermemEvalError(
                f"{what} {path}, line {line}: artifact {row['artifact']!r} is not one of "
                f"{', '.join((*ARTIFACTS, PUBLISHED))}"
            )
        sources.append(Source(**row))
    for artifact in ARTIFACTS:
        count = sum(source.artifact == artifact for source in sources)
        if count != 1:
            raise DeermemEvalError(
                f"{what} {path} names {count} files as {artifact}; name exactly one"
            )
    return tuple(sources)


def upstream_identity(protocol: Protocol) -> Identity:
    """Return the identity of the protocol that a protocol of facts was made from.

    Where the protocol is itself complete, this is its own identity.
    """
    pins = {f"{source.artifact}_sha256": source.sha256 for source in read_sources(protocol)}
    pins.pop(f"{PUBLISHED}_sha256", None)
    return replace(protocol.identity, **pins)
