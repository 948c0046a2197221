"""Words: the first differences of a layer, for a screen. Requests may be quoted: never store them."""

from collections.abc import Hashable
from typing import Any

from deermem_eval.drift.ladder import Ladder, Rung, first_differing_byte

CHARS = 90
HASHED = ("request bytes", "answer text")


def differences_in_words(ladder: Ladder, rung: Rung, *, most: int = 3) -> list[str]:
    """Say what the first differences of a layer are, one line each, and how many follow.

    Parameters
    ----------
    ladder : Ladder
    rung : Rung
        One of its layers.
    most : int
        How many are said.
    """
    lines = [
        f"{rung.layer}, {_key(key)}: {_said(ladder, rung, key, of_a, of_b)}"
        for key, of_a, of_b in rung.differences[:most]
    ]
    rest = len(rung.differences) - most
    return [*lines, f"{rung.layer}: {rest} more"] if rest > 0 else lines


def _said(ladder: Ladder, rung: Rung, key: Hashable, of_a: Any, of_b: Any) -> str:
    a, b = ladder.a, ladder.b
    if of_a is None or of_b is None:
        return f"only in {b.name if of_a is None else a.name}"
    if rung.layer == "bank":
        return "only in one" if of_a is True else f"place {of_a} in {a.name}, {of_b} in {b.name}"
    if isinstance(of_a, frozenset):
        only = (
            f"only in {side.name}: {printable(' '.join(sorted(part))) or 'nothing'}"
            for side, part in ((a, of_a - of_b), (b, of_b - of_a))
        )
        return "; ".join(only)
    row = str(key)
    if rung.layer == "request bytes" and row in a.requests and row in b.requests:
        place, shown_a, shown_b = first_differing_byte(a.requests[row], b.requests[row])
        return f"byte {place}: …{shown_a!r}… in {a.name}, …{shown_b!r}… in {b.name}"
    if rung.layer == "answer text" and row in a.answers and row in b.answers:
        of_a, of_b = repr(a.answers[row]), repr(b.answers[row])
    elif rung.layer in HASHED:
        return f"SHA-256 {of_a[:12]}… in {a.name}, {of_b[:12]}… in {b.name}"
    return f"{_short(of_a)} in {a.name}, {_short(of_b)} in {b.name}"


def _key(key: Hashable) -> str:
    return printable(" ".join(map(str, key)) if isinstance(key, tuple) else str(key))


def _short(value: Any) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    text = " ".join(f"{part:.10g}" if isinstance(part, float) else str(part) for part in parts)
    text = printable(text)
    return text if len(text) <= CHARS else f"{text[: CHARS - 1]}…"


def printable(text: str) -> str:
    """Escape what would break a line or command a terminal."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
