"""Half-lives since very many stored times, on arrays: bit for bit as `decay_since()` counts them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from deermem_eval.policies.scores import SECONDS_A_DAY

ENDINGS = {19: "", 20: "Z", 25: "+00:00", 26: "", 27: "Z", 32: "+00:00"}
"""How a text of a length may end; from 26 characters it has six decimals."""
SEPARATORS = {4: "-", 7: "-", 10: "T", 13: ":", 16: ":"}
EXACT_MICROSECONDS = 2**53
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def half_lives_until(
    texts: Sequence[str], now: datetime, half_life_days: float
) -> list[float] | None:
    """Return minus the half-lives from each time to `now`; zero where it is to come.

    Returns
    -------
    list of float or None
        None unless all texts have one form, `YYYY-MM-DDTHH:MM:SS` with or without six decimals and
        `Z` or `+00:00`, and name times within 285 years of `now`.
    """
    length = len(texts[0])
    joined = "".join(texts)
    if length not in ENDINGS or set(map(len, texts)) != {length} or not joined.isascii():
        return None
    signs = np.frombuffer(joined.encode("ascii"), dtype=np.uint8).reshape(-1, length).T.copy()
    ending = ENDINGS[length]
    fixed = SEPARATORS | dict(enumerate(ending, length - len(ending)))
    if length >= 26:
        fixed[19] = "."
    if any((signs[place] != ord(sign)).any() for place, sign in fixed.items()):
        return None
    digits = {place: signs[place] - np.uint8(48) for place in range(length) if place not in fixed}
    if any(digit.max() > 9 for digit in digits.values()):
        return None

    def number(start: int, stop: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        value = np.zeros(len(texts), dtype=np.int64)
        for place in range(start, stop):
            value = value * 10 + digits[place]
        return value

    year, month, day = number(0, 4), number(5, 7), number(8, 10)
    hour, minute, second = number(11, 13), number(14, 16), number(17, 19)
    first = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    first_day = first.astype("M8[D]").astype(np.int64)
    month_days = (first + 1).astype("M8[D]").astype(np.int64) - first_day
    is_date = (year > 0) & (month > 0) & (month < 13) & (day > 0) & (day <= month_days)
    if not (is_date & (hour < 24) & (minute < 60) & (second < 60)).all():
        return None
    seconds = (first_day + day - 1) * SECONDS_A_DAY + hour * 3600 + minute * 60 + second
    then = seconds * 1_000_000 + (number(20, 26) if length >= 26 else 0)
    since = (now - EPOCH) // timedelta(microseconds=1) - then
    if np.abs(since).max() >= EXACT_MICROSECONDS:
        return None
    days = since / 1_000_000 / SECONDS_A_DAY
    exponents: list[float] = (-np.maximum(days, 0.0) / half_life_days).tolist()
    return exponents
