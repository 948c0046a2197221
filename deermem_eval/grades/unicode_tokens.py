"""Tokens of `unicode-overlap-v2`: an answer in any script as comparable words, numbers and durations.

Two texts that say the same thing in another spelling (full-width digits, `1,200` and `1200`, `twelve` and
`12`, `every week` and `weekly`, `about 5` and `5`) give the same tokens.
"""

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

NEGATIONS = frozenset(("no", "not", "never", "neither", "nor", "不", "没", "沒", "否"))

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
UNITS = {word: value for value, word in enumerate(_UNITS)}
TENS = {word: 10 * value for value, word in enumerate(_TENS, start=2)}
HAN_DIGITS = {sign: value for value, sign in enumerate("一二三四五六七八九", start=1)} | {"两": 2}

_TIME_UNITS = {
    "second": ("second", 1),
    "sec": ("second", 1),
    "minute": ("second", 60),
    "min": ("second", 60),
    "hour": ("second", 3600),
    "day": ("day", 1),
    "week": ("day", 7),
    "fortnight": ("day", 14),
    "month": ("month", 1),
    "year": ("month", 12),
}
TIME_UNITS = _TIME_UNITS | {f"{name}s": unit for name, unit in _TIME_UNITS.items()}
"""Base unit and how many of it; days, months and seconds are not converted into each other."""

_EVERY = {"day": "daily", "week": "weekly", "month": "monthly", "year": "yearly"}
_SAME_WORD = {"annually": "yearly", "yeah": "yes", "nope": "no", "cannot": "not", "percent": "%"}
_APPROXIMATIONS = frozenset(
    (
        *("about", "approximately", "approx", "around", "roughly", "circa", "ca", "almost"),
        *("nearly", "~", "约"),
    )
)
_CONTRACTIONS = ((r"\bwon't\b", "will not"), (r"\bcan't\b", "can not"), (r"n't\b", " not"))
_KEPT_MARKS = frozenset(".,-−%~'")
_TOKEN = re.compile(
    r"(?P<sign>(?<![\w.,])[-−](?=\d))?"
    r"(?P<number>\d+(?:,\d{3})+(?:\.\d+)?(?!\d|,\d)|\d+(?:\.\d+)?)(?:(?:st|nd|rd|th)\b)?"
    r"|(?P<han>[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
    r"|(?P<word>[^\s\d.,\-−%~'\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)"
    r"|(?P<mark>[%~])"
)


def unicode_tokens(text: str) -> list[str]:
    """Return the words and numbers of a text in comparable form.

    Compatibility forms are unified (NFKC), case is folded, accents stay. Han and kana count by
    character, other scripts by word. Numbers are plain decimals without needless zeros.
    """
    words = [_canonical(match) for match in _TOKEN.finditer(_folded(text))]
    words = _english_numbers(_han_numbers(words))
    return _without_approximations(_frequencies(words))


def is_number(token: str) -> bool:
    """Whether a token is a number."""
    return token.removeprefix("-")[:1].isdigit()


def with_durations(tokens: Sequence[str], *, compound_only: bool) -> list[str]:
    """Replace durations by one token each, in base units: `1 week` and `7 days` become `=7day`.

    Parameters
    ----------
    tokens : sequence of str
    compound_only : bool
        Whether a number with one unit stays as it is, and only `11 weeks and 4 days` is joined.
    """
    joined: list[str] = []
    place = 0
    while place < len(tokens):
        total, base, parts, end = Fraction(0), "", 0, place
        while _is_duration(tokens[end : end + 2]):
            unit, size = TIME_UNITS[tokens[end + 1]]
            if base not in ("", unit):
                break
            base, total, parts = unit, total + Fraction(tokens[end]) * size, parts + 1
            end += 2
            if tokens[end : end + 1] == ["and"] and _is_duration(tokens[end + 1 : end + 3]):
                end += 1
        if parts > compound_only:
            joined.append(f"={total}{base}")
            place = end
        else:
            joined.append(tokens[place])
            place += 1
    return joined


def is_quantity(token: str) -> bool:
    """Whether a token is a number or a duration."""
    return token.startswith("=") or is_number(token)


def _is_duration(pair: Sequence[str]) -> bool:
    return len(pair) == 2 and is_number(pair[0]) and len(pair[0]) < 16 and pair[1] in TIME_UNITS


def _folded(text: str) -> str:
    """Unify spellings; leave letters, their marks, digits, and the signs that a number may need."""
    text = re.sub(r"(\d)?([¼½¾⅐-⅞])", _decimal_fraction, text)
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = text.replace("’", "'").replace("≈", "~")
    for pattern, replacement in _CONTRACTIONS:
        text = re.sub(pattern, replacement, text)
    text = re.sub(r"(?<=\w)'s\b", "", text)
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


def _canonical(match: re.Match[str]) -> str:
    number = match["number"]
    if number is None:
        return _SAME_WORD.get(match[0], match[0])
    whole, _, fraction = number.replace(",", "").partition(".")
    value = whole.lstrip("0") or "0"
    if fraction.rstrip("0"):
        value = f"{value}.{fraction.rstrip('0')}"
    return f"-{value}" if match["sign"] and value != "0" else value


def _han_numbers(words: Sequence[str]) -> list[str]:
    """Join 一 to 九, 十 and 百 into numbers: 二十一 becomes 21."""
    joined: list[str] = []
    place = 0
    while place < len(words):
        value, end = _han_number(words, place)
        joined.append(words[place] if value is None else str(value))
        place = max(end, place + 1)
    return joined


def _han_number(words: Sequence[str], place: int) -> tuple[int | None, int]:
    value: int | None = None
    for sign, size in (("百", 100), ("十", 10), ("", 1)):
        digit = HAN_DIGITS.get(words[place]) if place < len(words) else None
        at_sign = place + (digit is not None)
        if sign and words[at_sign : at_sign + 1] == [sign]:
            value = (value or 0) + (digit or 1) * size
            place = at_sign + 1
        elif not sign and digit is not None:
            value = (value or 0) + digit
            place += 1
    return value, place


def _english_numbers(words: Sequence[str]) -> list[str]:
    """Turn zero to one hundred into digits: `twenty-one` becomes 21, `a hundred` 100."""
    joined: list[str] = []
    follows_tens = False
    for word in words:
        unit = UNITS.get(word)
        if follows_tens and unit and unit < 10:
            joined[-1] = str(int(joined[-1]) + unit)
        elif word == "hundred" and joined[-1:] in (["a"], ["1"]):
            joined[-1] = "100"
        else:
            value = {"hundred": 100}.get(word, TENS.get(word, unit))
            joined.append(word if value is None else str(value))
        follows_tens = word in TENS
    return joined


def _frequencies(words: Sequence[str]) -> list[str]:
    """Say `weekly` for `every week`, `each week`, `once a week`; likewise day, month and year."""
    text = f" {' '.join(words)} "
    for unit, adverb in _EVERY.items():
        text = re.sub(rf" (?:every|each|once (?:a|per|every)) {unit}(?= )", f" {adverb}", text)
    return text.split()


def _without_approximations(words: Sequence[str]) -> list[str]:
    """Leave out what only softens the quantity after it, and `or so` behind one."""
    kept: list[str] = []
    may_count = True  # `a week` is a quantity at the start, and where it is softened
    for word, following in zip(words, [*words[1:], ""], strict=False):
        is_softener = word in _APPROXIMATIONS
        if is_softener and (is_number(following) or following in ("a", "an")):
            may_count = True
            continue
        is_one = may_count and word in ("a", "an") and following in TIME_UNITS
        kept.append("1" if is_one else word)
        may_count = False
    text = f" {' '.join(kept)} "
    return re.sub(r"(?<=\d)((?: \w+)?) or so(?= )", r"\1", text).split()
