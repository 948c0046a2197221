"""The grader `deterministic-overlap-v1`: the published one, frozen, faults included.

Source: deer-flow PR #4810 (README, "Deterministic grading"), equal to it on every recorded pair. Blind
to the policy: it sees two strings and nothing else. What it gets wrong stays wrong here;
`unicode-overlap-v2` stands beside it.
"""

import re
from collections.abc import Sequence
from decimal import Decimal

from deermem_eval.grades.grade import Grade, UngradableReferenceError

VERSION = "deterministic-overlap-v1"
SENTINEL = "insufficient"
OVERLAP_REQUIRED = 0.6

_FUNCTION_WORDS = """
a about above after again against all also although am an and any are at be because been
before being below between both but by can could did do does doing down during each few for
from further had has have having he her here hers him his how i if in into is it its just
may me might mine more most must my nor of off on once only or other our ours out over own
same shall she should so some such than that the their theirs them then there these they
this those though through to too under until up us very was we were what when where whether
which while who whom whose why will with would yet you your yours
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that the overlap leaves out, 126; `yes`, `no` and `not` can be a whole answer and stay."""

NUMBER_WORDS = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "fifteen": "15",
}


def grade(prediction: str, reference: str) -> Grade:
    """Grade a prediction; the first rule that applies decides.

    Returns
    -------
    Grade
        Rule `empty-prediction`, `insufficient`, `exact`, `substring` (one is a contiguous run of
        the other's tokens), `numeric-range` (all integers within "ranging from X ... to Y"),
        `numeric-conflict` (both have integers, and not the same ones), `overlap` or
        `overlap-reject` (60 % of the unique words of either side, function words left out).

    Raises
    ------
    UngradableReferenceError
        The reference holds no letter a to z and no digit.
    """
    answer, expected = tokens(prediction), tokens(reference)
    if not expected:
        raise UngradableReferenceError(
            f"reference {reference!r} has no letter a-z and no digit, all that {VERSION} reads; "
            "grade it with unicode-overlap-v2"
        )
    if not answer:
        return Grade(False, "empty-prediction")
    if answer == [SENTINEL]:
        return Grade(False, "insufficient")
    if answer == expected:
        return Grade(True, "exact")
    if has_run(answer, expected) or has_run(expected, answer):
        return Grade(True, "substring")
    found, wanted = _integers(answer), _integers(expected)
    bounds = _range(" ".join(expected))
    if bounds and found and all(_is_within(number, *bounds) for number in found):
        return Grade(True, "numeric-range")
    if found and wanted and set(map(Decimal, found)) != set(map(Decimal, wanted)):
        return Grade(False, "numeric-conflict")
    return overlap_grade(set(answer) - FUNCTION_WORDS, set(expected) - FUNCTION_WORDS)


def tokens(text: str) -> list[str]:
    """Return the runs of letters a to z and digits, in lower case, number words as digits."""
    words = re.sub(r"[^a-z0-9]+", " ", text.lower()).split()
    return [NUMBER_WORDS.get(word, word) for word in words]


def has_run(longer: Sequence[str], shorter: Sequence[str]) -> bool:
    """Whether `shorter` stands in `longer` as a contiguous run of whole tokens."""
    return f" {' '.join(shorter)} " in f" {' '.join(longer)} "


def overlap_grade(answer: set[str], expected: set[str]) -> Grade:
    """Accept if enough unique words of either side stand on the other, too."""
    shared = len(answer & expected)
    is_enough = min(len(answer), len(expected)) > 0 and all(
        shared / len(side) >= OVERLAP_REQUIRED for side in (answer, expected)
    )
    return Grade(True, "overlap") if is_enough else Grade(False, "overlap-reject")


def _range(text: str) -> tuple[str, str] | None:
    """Return X and Y of "ranging from X ... to Y"."""
    start = re.search(r"\branging from (\d+)\b", text)
    end = re.compile(r"\bto (\d+)\b").search(text, start.end()) if start else None
    return (start[1], end[1]) if start and end else None


def _is_within(number: str, lowest: str, highest: str) -> bool:
    return Decimal(lowest) <= Decimal(number) <= Decimal(highest)


def _integers(words: Sequence[str]) -> list[str]:
    return [word for word in words if word.isdigit()]
