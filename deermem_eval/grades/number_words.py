"""Numbers in words, English and Chinese, and durations in one unit; on the tokens of a text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = (
    *("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"),
    *("twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
    *("eighteenth", "nineteenth"),
)
UNITS = {word: value for value, word in enumerate(_UNITS)}
TENS = {word: 10 * value for value, word in enumerate(_TENS, start=2)}
ORDINALS = {word: value for value, word in enumerate(_ORDINALS, start=3)}
ORDINALS |= {"twentieth": 20, "thirtieth": 30}
"""First and second say more often something else; they count only behind twenty and thirty."""
MULTIPLES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}
MONTHS = frozenset(
    (
        *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
        *("october", "november", "december"),
    )
)
HAN_DIGITS: Mapping[str, int] = {
    **{sign: value for value, sign in enumerate("零一二三四五六七八九")},
    "〇": 0,
    "两": 2,
    "兩": 2,
}
HAN_SIZES = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "萬": 10_000}

_TIME_UNITS = {
    **dict.fromkeys(("second", "sec"), ("second", 1)),
    **dict.fromkeys(("minute", "min"), ("second", 60)),
    **dict.fromkeys(("hour", "hr"), ("second", 3600)),
    "day": ("day", 1),
    "week": ("day", 7),
    "fortnight": ("day", 14),
    "month": ("month", 1),
    "year": ("month", 12),
}
TIME_UNITS = _TIME_UNITS | {f"{name}s": unit for name, unit in _TIME_UNITS.items()}
"""Base unit and how many of it; days, months and seconds are not converted into each other."""


def is_number(token: str) -> bool:
    """Whether a token is a number (`12`, `-3`, `2.5`), and not `12a`, `10:30` or `5th`."""
    return re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", token) is not None


def is_quantity(token: str) -> bool:
    """Whether a token is a number or a duration."""
    return token.startswith("=") or is_number(token)


def with_english_numbers(tokens: Iterable[str]) -> list[str]:
    """Turn number words into numbers: `twenty-one` 21, `a hundred` 100, `2 million` 2000000."""
    joined: list[str] = []
    previous = ""  # the kind of word that the last number was made from
    for token in tokens:
        last = joined[-1] if joined else ""
        unit = UNITS.get(token)
        ordinal = ORDINALS.get(token) or (
            {"first": 1, "second": 2}.get(token) if previous == "tens" else None
        )
        if previous == "tens" and unit and unit < 10:
            joined[-1] = str(int(last) + unit)
        elif previous == "tens" and ordinal and ordinal < 10:
            joined[-1] = f"{int(last) + ordinal}th"
        elif token in MULTIPLES and (last == "a" or (is_number(last) and len(last) < 16)):
            product = MULTIPLES[token] * (1 if last == "a" else Decimal(last))
            joined[-1] = plain_number(f"{product:f}")
        elif ordinal:
            joined.append(f"{ordinal}th")
        else:
            value = MULTIPLES.get(token) if token == "hundred" else TENS.get(token, unit)
            joined.append(token if value is None else str(value))
        previous = "tens" if token in TENS else ""
    return _with_halves(_with_dates(joined))


def with_han_numbers(tokens: Sequence[str]) -> list[str]:
    """Turn Han number signs into numbers: 二十一 21, 三千 3000, 二零二三 2023."""
    joined: list[str] = []
    signs: list[str] = []
    for token in [*tokens, ""]:
        if token in HAN_DIGITS or token in HAN_SIZES:
            signs.append(token)
            continue
        if signs:
            joined.append(str(_han_number(signs)))
            signs = []
        joined.append(token)
    return joined[:-1]


def plain_number(text: str) -> str:
    """Return a number without needless zeros: `007` as `7`, `2.50` as `2.5`."""
    whole, _, fraction = text.partition(".")
    value = whole.lstrip("0") or "0"
    return f"{value}.{fraction.rstrip('0')}" if fraction.rstrip("0") else value


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


def _is_duration(pair: Sequence[str]) -> bool:
    return len(pair) == 2 and is_number(pair[0]) and len(pair[0]) < 16 and pair[1] in TIME_UNITS


def _with_dates(tokens: Sequence[str]) -> list[str]:
    """Take an ordinal beside a month for the day that it is: `the 3rd of June` as `the 3 of June`."""
    found = list(tokens)
    for place, token in enumerate(tokens):
        before, after = tokens[max(0, place - 1) : place], tokens[place + 1 : place + 3]
        beside = {*before, *(after[1:] if after[:1] == ["of"] else after[:1])}
        if re.fullmatch(r"\d+th", token) and beside & MONTHS:
            found[place] = token.removesuffix("th")
    return found


def _with_halves(tokens: Sequence[str]) -> list[str]:
    """Say `0.5 hour` for `half an hour`, and `1.5 hours` for `one and a half hours`."""
    text = f" {' '.join(tokens)} "
    text = re.sub(r" half an? (?=[a-z])", " 0.5 ", text)
    text = re.sub(r" (\d+) and a half(?= )", r" \1.5", text)
    return text.split()


def _han_number(signs: Sequence[str]) -> int:
    if not any(sign in HAN_SIZES for sign in signs):  # digit by digit, as years are written
        return int("".join(str(HAN_DIGITS[sign]) for sign in signs[:4000]))
    total = digit = 0
    for sign in signs:
        if sign in HAN_DIGITS:
            digit = HAN_DIGITS[sign]
        else:
            total += (digit or 1) * HAN_SIZES[sign]
            digit = 0
    return total + digit
