"""The grader `unicode-overlap-v2`: mends what the frozen grader gets wrong; reported beside it.

Like `deterministic-overlap-v1` it is blind to the policy, deterministic and lexical: it knows no
synonyms. What it adds: any script, decimals and thousands separators, number words to one hundred,
durations in other units, answers that a reference calls acceptable too, hedges, negation, and
predictions that say nothing.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

from deermem_eval.grades.grade import Grade, UngradableReferenceError
from deermem_eval.grades.overlap_v1 import (
    FUNCTION_WORDS,
    SENTINEL,
    has_run,
    overlap_grade,
)
from deermem_eval.grades.unicode_tokens import (
    NEGATIONS,
    TIME_UNITS,
    is_number,
    is_quantity,
    unicode_tokens,
    with_durations,
)

VERSION = "unicode-overlap-v2"
CANDIDATES_LIMIT = 100

_SILENT = FUNCTION_WORDS - NEGATIONS
_ALSO_ACCEPTABLE = re.compile(r"\b(?:is|are) (?:also )?(?:acceptable|accepted|fine|correct)\b")
_RANGE = re.compile(r"\branging from (-?[\d.]+) ?(\w*).*?\bto (-?[\d.]+)")
_PARTICLE = re.compile(r"\W*(yes|no)\b(?=\s*(?:[,.;:!–—-]|$))", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]*\)|（[^（）]*）")
_EITHER = re.compile(r"\bor\b|或者?|\s/\s|(?<=[^\W\d]{3})/(?=[^\W\d]{3})", re.IGNORECASE)
_LISTED = re.compile(r",|、|\band\b|和", re.IGNORECASE)
_SEGMENT = re.compile(r"[,.;:，。；：]+(?!\d)|\bbut\b", re.IGNORECASE)


def grade(prediction: str, reference: str) -> Grade:
    """Grade a prediction; the first rule that applies decides.

    Returns
    -------
    Grade
        Rule `empty-prediction`, `insufficient`, `exact`, `hedge` (names the sentinel beside an
        answer, or several candidates of which not all are right), `function-words` (nothing
        else is said), `negation-conflict` (one side denies what the other affirms), `substring`,
        `numeric-range`, `numeric-conflict`, `overlap` or `overlap-reject`; the last five as in
        `deterministic-overlap-v1`.

    Raises
    ------
    UngradableReferenceError
        The reference holds no letter and no digit of any script.
    """
    if not unicode_tokens(reference):
        raise UngradableReferenceError(
            f"reference {reference!r} has no letter and no digit of any script, and no grader can "
            "compare with it; give it words"
        )
    answer = unicode_tokens(prediction)
    if not answer:
        return Grade(False, "empty-prediction")
    if answer == [SENTINEL]:
        return Grade(False, "insufficient")
    accepted = _accepted(reference)
    if answer in (unicode_tokens(text) for text in (reference, *accepted)):
        return Grade(True, "exact")
    if SENTINEL in answer and SENTINEL not in unicode_tokens(reference):
        return Grade(False, "hedge")
    bounds = _RANGE.search(" ".join(unicode_tokens(reference)))
    candidates = dict.fromkeys(_candidates(prediction, accepted))
    if len(candidates) > CANDIDATES_LIMIT:
        return Grade(False, "hedge")
    grades = [
        _best(_compare(candidate, text, bounds) for text in accepted) for candidate in candidates
    ]
    if len({one.correct for one in grades}) > 1:
        return Grade(False, "hedge")
    return grades[0]


def _best(grades: Iterable[Grade]) -> Grade:
    """Return the first right grade, else the first one."""
    return max(grades, key=lambda one: one.correct)


def _accepted(reference: str) -> list[str]:
    """Return the answers that a reference accepts: itself, and what it says is acceptable too."""
    main, others = [], []
    for sentence in re.split(r"(?<=[.;])\s+", reference):
        text = _ASIDE.sub(" ", sentence)
        match = _ALSO_ACCEPTABLE.search(text)
        if not match and not _RANGE.search(text):
            main.append(sentence)
        elif match and not _RANGE.search(text):
            others.append(text[: match.start()])
    found = [text for text in (" ".join(main), *others) if unicode_tokens(text)]
    return found or [reference]


def _candidates(prediction: str, accepted: Sequence[str]) -> list[str]:
    """Return the answers that a prediction offers: most often one, itself.

    Several are parted by "or" (a softening "or so", "more or less" aside), or are a list of three and
    more of which one is an accepted answer; a reference of the same form is compared as a whole.
    """
    text = re.sub(r"\bmore or less\b", "about", prediction, flags=re.IGNORECASE)
    text = re.sub(r"\bor (?:so|thereabouts)\b|\beither\b", " ", text, flags=re.IGNORECASE)
    if not any(_EITHER.search(one) for one in accepted):
        parts = [part for part in _EITHER.split(text) if unicode_tokens(part)]
        if len(parts) > 1:
            return parts
    if not any(_LISTED.search(one) for one in accepted):
        items = [item for item in _LISTED.split(text) if unicode_tokens(item)]
        wanted = [unicode_tokens(one) for one in accepted]
        if len(items) > 2 and any(unicode_tokens(item) in wanted for item in items):
            return items
    return [prediction]


def _compare(prediction: str, reference: str, bounds: re.Match[str] | None) -> Grade:
    """Grade one candidate against one accepted answer."""
    says, wanted_says = _particle(prediction), _particle(reference)
    if says and wanted_says and says != wanted_says:
        return Grade(False, "negation-conflict")
    rest, wanted_rest = _assertion(prediction), _assertion(reference)
    if says and wanted_says and not (rest and wanted_rest):
        return Grade(True, "substring")
    answer, expected = unicode_tokens(rest or prediction), unicode_tokens(wanted_rest or reference)
    if answer == expected:
        return Grade(True, "exact")
    silent = _SILENT | set(TIME_UNITS) if any(map(is_number, expected)) else _SILENT
    if set(answer) <= silent and not set(expected) <= silent:
        return Grade(False, "function-words")
    if NEGATIONS.isdisjoint(answer) != NEGATIONS.isdisjoint(expected):
        return Grade(False, "negation-conflict")
    both = [with_durations(tokens, compound_only=False) for tokens in (answer, expected)]
    if not all(any(token.startswith("=") for token in tokens) for tokens in both):
        both = [with_durations(tokens, compound_only=True) for tokens in (answer, expected)]
    answer, expected = both
    if has_run(answer, expected) or has_run(expected, answer):
        return Grade(True, "substring")
    if bounds and _is_within(rest or prediction, bounds):
        return Grade(True, "numeric-range")
    found, wanted = set(filter(is_quantity, answer)), set(filter(is_quantity, expected))
    if found and wanted and found != wanted:
        return Grade(False, "numeric-conflict")
    return overlap_grade(set(answer) - _SILENT, set(expected) - _SILENT)


def _particle(text: str) -> str:
    """Return the `yes` or `no` that an answer begins with and a mark or the end sets off."""
    match = _PARTICLE.match(text)
    return match[1].lower() if match else ""


def _assertion(text: str) -> str:
    """Leave out a leading yes or no, asides, and segments that only deny something.

    "No, it was Kraków (in May), not Warsaw" asserts "it was Kraków".
    """
    text = _PARTICLE.sub("", text, count=1)
    without_asides = _ASIDE.sub(" ", text)
    text = without_asides if unicode_tokens(without_asides) else text
    segments = [part for part in _SEGMENT.split(text) if unicode_tokens(part)]
    affirmed = [part for part in segments if unicode_tokens(part)[0] not in NEGATIONS]
    return ", ".join(affirmed or segments)


def _is_within(prediction: str, bounds: re.Match[str]) -> bool:
    """Whether a prediction has quantities, all of them within a reference's range.

    Durations are converted to the range's unit; a bare number is taken to be in it.
    """
    lowest, unit, highest = bounds.groups()
    base, size = TIME_UNITS.get(unit, ("", 1))
    values = []
    for token in with_durations(unicode_tokens(prediction), compound_only=False):
        if is_number(token):
            values.append(Decimal(token))
        elif token.startswith("=") and token.endswith(base):
            value = Fraction(re.sub(r"[=a-z]", "", token)) / size
            values.append(Decimal(value.numerator) / value.denominator)
        elif token.startswith("="):
            return False
    return bool(values) and all(Decimal(lowest) <= value <= Decimal(highest) for value in values)
