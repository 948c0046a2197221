"""The pending change of a store: what a crash may leave behind, read as if it had been finished."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from deermem_eval.memory.fact_files import UnsoundError, decoded, regular_file_bytes

PENDING_FILE = Path(".metadata") / "pending-change.json"
PENDING_BYTES_LIMIT = 500_000_000
INNER_PATH = re.compile(
    r"facts/[0-9a-f]{2}/[A-Za-z0-9_-]{1,200}\.md|\.metadata/(fact-usage|eviction-audit)\.json"
)


@dataclass(frozen=True)
class Pending:
    """Files to write, by their path in the store, and files to delete."""

    write: dict[str, str]
    delete: list[str]


def read_pending(folder: Path) -> Pending | None:
    """Return the change that was committed and not finished; None where there is none.

    A file that is none, or names a path that no change of ours touches, counts as none.
    """
    path = folder / PENDING_FILE
    if not os.path.lexists(path):
        return None
    try:
        document = json.loads(decoded(regular_file_bytes(path, PENDING_BYTES_LIMIT)))
        write, delete = document["write"], document["delete"]
        texts = all(isinstance(text, str) for text in write.values())
        inner = all(INNER_PATH.fullmatch(name) for name in (*write, *delete))
    except (UnsoundError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Pending(write, delete) if texts and inner else None
