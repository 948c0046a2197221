"""The grader `unicode-overlap-v2`: mends what the frozen grader gets wrong; reported beside it.

Like `deterministic-overlap-v1` it is blind to the policy, deterministic and lexical: it knows no
synonyms. What it adds: any script, decimals and thousands separators, number words to one hundred,
durations in other units, answers that a reference calls acceptable too, hedges, negation, and
predictions that say nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from deermem_eval.grades.grade import Grade, UngradableReferenceError
from deermem_eval.grades.number_words import (
    TIME_UNITS,
    is_number,
    is_quantity,
    with_durations,
)
from deermem_eval.grades.overlap_v1 import (
    FUNCTION_WORDS,
    SENTINEL,
    has_run,
    overlap_grade,
)
from deermem_eval.grades.unicode_tokens import NEGATIONS, denies, unicode_tokens

VERSION = "unicode-overlap-v2"
CANDIDATES_LIMIT = 100

_SILENT = (FUNCTION_WORDS | {"%"}) - NEGATIONS
_ALSO_ACCEPTABLE = re.compile(r"\b(?:is|are) (?:also )?(?:acceptable|accepted|fine|correct)\b")
_RANGE_FROM = re.compile(r"\branging from (-?[\d.]+)(?: (\w+))?")
_RANGE_TO = re.compile(r"\bto (-?[\d.]+)(?: (\w+))?")
_PARTICLE = re.compile(r"\W*(yes|no)\b(?=\s*(?:[,.;:!–—-]|$))", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]*\)|（[^（）]*）")
_EITHER = re.compile(r"\bor\b|或者?|还是|\s/\s|(?<=[^\W\d]{3})/(?=[^\W\d]{3})", re.IGNORECASE)
_MAYBE = re.compile(
    r"\b(?:maybe|perhaps|possibly|(?:could|may|might) be)\b|可能|也许", re.IGNORECASE
)
_AND = re.compile(r"\band\b|[和、&]", re.IGNORECASE)
_LISTED = re.compile(r"[,，、和&]|\band\b", re.IGNORECASE)
_SEVERAL_NUMBERS = re.compile(r"\d\s*(?:[-–/和、]|,(?!\d{3})|\band\b|\bto\b)\s*\d", re.IGNORECASE)
_HAN_SIGN = re.compile(r"[\u3400-\u9fff]")
_NAMES = re.compile(r"\b(?:May|Will|US|IT)\b")
_SEGMENT = re.compile(r"[,.;:，。；：]+(?!\d)|\bbut\b|也", re.IGNORECASE)
_SEGMENT_AND = re.compile(rf"{_SEGMENT.pattern}|\band\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Range:
    lowest: Decimal
    highest: Decimal
    unit: str


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
    bounds = _range(reference)
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
        if not match and not _RANGE_FROM.search(text):
            main.append(sentence)
        elif match and not _RANGE_FROM.search(text):
            others.append(text[: match.start()])
    found = [text for text in (" ".join(main), *others) if unicode_tokens(text)]
    return found or [reference]


def _candidates(prediction: str, accepted: Sequence[str]) -> list[str]:
    """Return the answers that a prediction offers: most often one, itself.

    Several are parted by "or" (a softening "or so", "more or less" aside), stand in sentences of
    which one says "maybe", or are a list of which one is an accepted answer: of two joined by "and",
    or of three and more. A reference of the same form is compared as a whole.
    """
    text = re.sub(r"\bmore or less\b", "about", prediction, flags=re.IGNORECASE)
    text = re.sub(r"\bor (?:so|thereabouts)\b|\beither\b", " ", text, flags=re.IGNORECASE)
    if not any(_EITHER.search(one) for one in accepted):
        parts = [part for part in _EITHER.split(text) if unicode_tokens(part)]
        if len(parts) > 1:
            return parts
    if _MAYBE.search(text):
        parts = [part for part in _SEGMENT.split(_MAYBE.sub(" ", text)) if unicode_tokens(part)]
        if len(parts) > 1:
            return parts
    if not any(_LISTED.search(one) for one in accepted):
        items = [item for item in _LISTED.split(text) if unicode_tokens(item)]
        items = [item for item in items if not denies(unicode_tokens(item))]
        wanted = [unicode_tokens(one) for one in accepted]
        joined = with_durations(unicode_tokens(text), compound_only=True)
        is_duration = any(token.startswith("=") for token in joined)  # 11 weeks and 4 days
        is_list = len(items) > 2 or (len(items) == 2 and _AND.search(text) and not is_duration)
        if is_list and any(unicode_tokens(item) in wanted for item in items):
            return [item for item in items if not set(unicode_tokens(item)) <= _SILENT] or items
    return [prediction]


def _compare(prediction: str, reference: str, bounds: _Range | None) -> Grade:
    """Grade one candidate against one accepted answer."""
    says, wanted_says = _particle(prediction), _particle(reference)
    if wanted_says and {"yes", "no"} <= set(unicode_tokens(prediction)):
        return Grade(False, "hedge")
    if says and wanted_says and says != wanted_says:
        return Grade(False, "negation-conflict")
    rest, wanted_rest = _assertion(prediction), _assertion(reference)
    if says and wanted_says and not (rest and wanted_rest):
        return Grade(True, "substring")
    answer, expected = unicode_tokens(rest or prediction), unicode_tokens(wanted_rest or reference)
    if answer == expected:
        return Grade(True, "exact")
    silent = _SILENT - {name.lower() for name in _NAMES.findall(reference)}
    if any(map(is_number, expected)):
        silent |= set(TIME_UNITS)
    if set(answer) <= silent and not set(expected) <= silent:
        return Grade(False, "function-words")
    if denies(answer) != denies(expected):
        return Grade(False, "negation-conflict")
    if bounds and _is_within(rest or prediction, bounds):
        return Grade(True, "numeric-range")
    lists_numbers = _SEVERAL_NUMBERS.search(rest) and not _SEVERAL_NUMBERS.search(reference)
    if lists_numbers and any(map(is_number, expected)):
        return Grade(False, "numeric-conflict")
    both = [with_durations(tokens, compound_only=False) for tokens in (answer, expected)]
    if not all(any(token.startswith("=") for token in tokens) for tokens in both):
        both = [with_durations(tokens, compound_only=True) for tokens in (answer, expected)]
    answer, expected = both
    is_part_of_word = len(answer) == 1 < len(expected) and _HAN_SIGN.fullmatch(answer[0])
    if has_run(answer, expected) or (has_run(expected, answer) and not is_part_of_word):
        return Grade(True, "substring")
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
    particle = _PARTICLE.match(text)
    text = text[particle.end() :] if particle else text
    without_asides = _ASIDE.sub(" ", text)
    text = without_asides if unicode_tokens(without_asides) else text
    if not denies(unicode_tokens(text)):
        return text
    text = re.sub(r"\banything but\b", "not", text, flags=re.IGNORECASE)
    segments = [part for part in _SEGMENT_AND.split(text) if unicode_tokens(part)]
    affirmed = [part for part in segments if not denies(unicode_tokens(part))]
    return ", ".join(affirmed) or text


def _range(reference: str) -> _Range | None:
    """Return what "ranging from X ... to Y" allows; the unit may stand behind either number."""
    text = " ".join(unicode_tokens(reference))
    start = _RANGE_FROM.search(text)
    end = _RANGE_TO.search(text, start.end(1)) if start else None
    if not start or not end:
        return None
    units = [unit for unit in (start[2], end[2]) if unit in TIME_UNITS]
    return _Range(Decimal(start[1]), Decimal(end[1]), units[0] if units else "")


def _is_within(prediction: str, bounds: _Range) -> bool:
    """Whether a prediction has quantities, all of them within a reference's range.

    Durations are converted to the range's unit; a bare number is taken to be in it.
    """
    base, size = TIME_UNITS.get(bounds.unit, ("", 1))
    values = []
    for token in with_durations(unicode_tokens(prediction), compound_only=False):
        if is_number(token):
            values.append(Decimal(token))
        elif token.startswith("="):
            if not base or not token.endswith(base):
                return False
            value = Fraction(token[1:].removesuffix(base)) / size
            values.append(Decimal(value.numerator) / value.denominator)
    return bool(values) and all(bounds.lowest <= value <= bounds.highest for value in values)
