"""Tokens of `unicode-overlap-v2`: an answer in any script as comparable words and numbers.

Two texts that say the same thing in another spelling (full-width digits, `1,200` and `1200`, `twelve` and
`12`, `every week` and `weekly`, `about 5` and `5`) give the same tokens.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from deermem_eval.grades.number_words import (
    TIME_UNITS,
    is_number,
    plain_number,
    with_english_numbers,
    with_han_numbers,
)

NEGATIONS = frozenset(
    (
        *("no", "not", "never", "neither", "nor", "none", "nobody", "nothing", "without"),
        *("hardly", "doubt", "否"),
    )
)
_HAN_DENIES = {
    **dict.fromkeys("不没沒", "是会會能要在去吃想用有"),
    **dict.fromkeys("未别別", "是会會能要在去吃想用"),
}
"""Han signs that deny only before one of these, or at the end; elsewhere they are parts of words."""

_EVERY = {"day": "daily", "week": "weekly", "month": "monthly", "year": "yearly"}
_SAME_WORD = {"annually": "yearly", "yeah": "yes", "nope": "no", "cannot": "not", "percent": "%"}
_APPROXIMATIONS = frozenset(
    (
        *("about", "approximately", "approx", "around", "roughly", "circa", "ca", "almost"),
        *("nearly", "~", "约"),
    )
)
_FREQUENCIES = frozenset(("once", "twice", "times", "time"))
_SPELLINGS = (
    (r"\b(?:[a-z]\.){2,}", lambda match: match[0].replace(".", "") + " "),  # U.S., p.m.
    (r"(?<![\d/])(\d)/([2458])(?![\d/])", lambda match: f"{int(match[1]) / int(match[2]):g}"),
    (r"\b(\d{1,2}):00(?!\d)", r"\1"),
    (r"\bwon'?t\b", "will not"),
    (r"\bcan'?t\b", "can not"),
    (r"\b(is|are|was|were|do|does|did|has|have|had|could|should|would)n'?t\b", r"\1 not"),
    (r"\banything but\b", "not"),
    (r"(?<=\w)'s\b", ""),
)
_KEPT_MARKS = frozenset(".,:-−%~'")
_HAN = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(
    r"(?P<time>\d{1,2}:\d\d(?!\d))"
    r"|(?P<sign>(?<![\w.,])[-−](?=\d))?(?P<number>\d+(?:,\d+)*(?:\.\d+)?|(?<!\w)\.\d+)"
    r"(?P<behind>(?:st|nd|rd|th|[a-z])\b)?"
    rf"|(?P<han>[{_HAN}])|(?P<word>[^\s\d.,:\-−%~'{_HAN}]+)|(?P<mark>[%~])"
)


def unicode_tokens(text: str) -> list[str]:
    """Return the words and numbers of a text in comparable form.

    Compatibility forms are unified (NFKC), case is folded, accents stay. Han and kana count by
    character, other scripts by word. Numbers are plain decimals without needless zeros; a comma
    before each three digits parts thousands, any other parts numbers.
    """
    tokens = [token for match in _TOKEN.finditer(_folded(text)) for token in _canonical(match)]
    tokens = with_english_numbers(with_han_numbers(tokens))
    return _without_approximations(_with_frequencies(tokens))


def denies(tokens: Sequence[str]) -> bool:
    """Whether a text denies something: `not`, `without`, 不是 ..."""
    for token, following in zip(tokens, [*tokens[1:], ""], strict=False):
        if token in NEGATIONS or (token in _HAN_DENIES and following in _HAN_DENIES[token]):
            return True
    return False


def _folded(text: str) -> str:
    """Unify spellings; leave letters, their marks, digits, and the signs that a number may need."""
    text = re.sub(r"(\d)?([¼½¾⅐-⅞])", _decimal_fraction, text)
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = text.replace("’", "'").replace("≈", "~")
    for pattern, replacement in _SPELLINGS:
        text = re.sub(pattern, replacement, text)
    return "".join(map(_folded_sign, text))


@cache
def _folded_sign(sign: str) -> str:
    category = unicodedata.category(sign)
    if category == "Nd":
        return str(unicodedata.decimal(sign))
    if category[0] in "LMN" or sign in _KEPT_MARKS:
        return sign
    return "" if category == "Cf" else " "


def _decimal_fraction(match: re.Match[str]) -> str:
    value = f"{unicodedata.numeric(match[2]):g}"
    return match[1] + value.removeprefix("0") if match[1] else value


def _canonical(match: re.Match[str]) -> Iterator[str]:
    number, behind = match["number"], match["behind"] or ""
    if number is None:
        yield _SAME_WORD.get(match[0], match[0])
        return
    groups = number.split(",")
    if all(len(group.partition(".")[0]) == 3 for group in groups[1:]) and len(groups[0]) < 4:
        groups = ["".join(groups)]
    *others, last = map(plain_number, groups)
    yield from others
    sign = "-" if match["sign"] and last != "0" else ""
    yield f"{sign}{last}{behind if len(behind) == 1 else 'th' if behind else ''}"


def _with_frequencies(tokens: Sequence[str]) -> list[str]:
    """Say `weekly` for `every week`, `each week`, `once a week`; likewise day, month and year."""
    text = f" {' '.join(tokens)} "
    for unit, adverb in _EVERY.items():
        text = re.sub(rf" (?:every|each|once (?:a|per|every)) {unit}(?= )", f" {adverb}", text)
    return text.split()


def _without_approximations(tokens: Sequence[str]) -> list[str]:
    """Leave out what only softens the quantity after it, and `or so` behind one; `a week` is one."""
    kept: list[str] = []
    for token, following in zip(tokens, [*tokens[1:], ""], strict=False):
        if token in _APPROXIMATIONS and (is_number(following) or following in ("a", "an")):
            continue
        last = kept[-1] if kept else ""
        is_rate = is_number(last) or last in _FREQUENCIES
        is_one = token in ("a", "an") and following in TIME_UNITS and not is_rate
        kept.append("1" if is_one else token)
    text = f" {' '.join(kept)} "
    return re.sub(r"(?<=\d)((?: \w+)?) or so(?= )", r"\1", text).split()
