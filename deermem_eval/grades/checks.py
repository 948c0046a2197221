"""Checks: what was compared, how much of it is equal, and where it is not."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Difference:
    """Where a run and what was recomputed part: what was expected, and what the run has."""

    where: str
    expected: Any
    found: Any


@dataclass(frozen=True)
class Check:
    """One thing that was compared.

    Attributes
    ----------
    name : str
    compared, equal : int
        How many, and how many of them are equal.
    differences : tuple of Difference
        All of the others.
    note : str
        Why nothing was compared, or what the comparison could not take in.
    """

    name: str
    compared: int
    differences: tuple[Difference, ...] = ()
    note: str = ""

    @property
    def equal(self) -> int:
        """How many of what was compared are equal."""
        return self.compared - len(self.differences)


@dataclass(frozen=True)
class Verification:
    """All checks of a run, and the SHA-256 of its graded rows (empty if it has none)."""

    checks: tuple[Check, ...]
    rows_sha256: str

    @property
    def holds(self) -> bool:
        """Whether everything that could be compared is equal."""
        return not any(check.differences for check in self.checks)

    @property
    def is_complete(self) -> bool:
        """Whether every check could be made, and in full."""
        return not any(check.note for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; of the differences of a check the first ten."""
        return {
            "checks": [
                {
                    "name": check.name,
                    "equal": check.equal,
                    "compared": check.compared,
                    "note": check.note,
                    "differences": [asdict(one) for one in check.differences[:10]],
                }
                for check in self.checks
            ],
            "holds": self.holds,
            "complete": self.is_complete,
            "rows_sha256": self.rows_sha256,
        }

    def table(self) -> pd.DataFrame:
        """Return one row a check: `check`, `equal`, `compared`; `-` where nothing was compared."""
        rows = [
            (check.name, *((check.equal, check.compared) if check.compared else ("-", "-")))
            for check in self.checks
        ]
        return pd.DataFrame(rows, columns=["check", "equal", "compared"])


def compare(name: str, expected: Mapping[str, Any], found: Callable[[str], Any]) -> Check:
    """Compare value by value; a number is equal only in its own type (`1` is not `true`)."""
    values = {key: (value, found(key)) for key, value in expected.items()}
    return Check(
        name,
        len(values),
        tuple(Difference(key, *pair) for key, pair in values.items() if not same(*pair)),
    )


def same(expected: Any, found: Any) -> bool:
    """Whether two values are equal, and not only because `True == 1`."""
    return bool(expected == found) and isinstance(found, bool) == isinstance(expected, bool)


def same_lines(name: str, expected: bytes, found: bytes) -> Check:
    """Compare two files byte for byte, and name the first line that differs."""
    if expected == found:
        return Check(name, 1)
    lines = [content.decode(errors="backslashreplace").split("\n") for content in (expected, found)]
    for number, pair in enumerate(zip_longest(*lines, fillvalue="(nothing)"), start=1):
        if pair[0] != pair[1]:
            return Check(name, 1, (Difference(f"line {number}", *map(str.strip, pair)),))
    return Check(name, 1, (Difference("bytes", len(expected), len(found)),))
