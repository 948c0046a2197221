"""Scores of all facts of a store at once, in columns: bit for bit those of the functions in `scores`.

Well-formed values go a short way, and equal times are read once; any other value goes through the
function in `scores` that knows what to do with it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deermem_eval.policies.scores import (
    HEAT_SCALE,
    NEVER_CONFIRMED_DISCOUNT,
    SECONDS_A_DAY,
    FactScore,
    HybridParameters,
    access_heat,
    decay_since,
    stored_confidence,
)

Fields = Mapping[str, Any]
LARGEST_PLAIN_HEAT = 1e300
TWO_TO_THE = (2.0).__pow__
BLOCK_FACTS = 8_192
MANY_TIMES = 20_000
"""From so many facts on times are read on arrays, which costs the import of numpy once."""

Decays = Callable[[list[Any], datetime, float], list[float | None]]


@dataclass(frozen=True)
class ScoreColumns:
    """The scores of the facts of a store, in input order.

    Attributes
    ----------
    values : list of float
    components : dict of str to list of float
        Columns by the name of the component.
    """

    values: list[float]
    components: dict[str, list[float]]

    def components_of(self, places: Sequence[int]) -> list[dict[str, float]]:
        """Return the components of the facts at some places."""
        columns = [[column[i] for i in places] for column in self.components.values()]
        return [dict(zip(self.components, row, strict=True)) for row in zip(*columns, strict=True)]

    def scores(self) -> list[FactScore]:
        """Return the score of every fact."""
        every = self.components_of(range(len(self.values)))
        return list(map(FactScore, self.values, every))


def confidence_columns(facts: Sequence[Fields]) -> ScoreColumns:
    """Score facts as `confidence_score()` does."""
    confidences = _confidences(facts)
    return ScoreColumns(confidences, {"confidence": confidences})


def hybrid_columns(
    facts: Sequence[Fields],
    usage_entries: Sequence[object],
    now: datetime,
    parameters: HybridParameters,
) -> ScoreColumns:
    """Score facts, given with the usage entry of each, as `hybrid_score()` does.

    A large store is read block by block, so that its facts are still in the processor's cache when
    the next of their fields is read.
    """
    if len(facts) <= BLOCK_FACTS:
        return _hybrid_block(facts, usage_entries, now, parameters, _decays)
    values: list[float] = []
    components: dict[str, list[float]] = {}
    decays = _decays if len(facts) < MANY_TIMES else _decays_on_arrays
    for start in range(0, len(facts), BLOCK_FACTS):
        block = slice(start, start + BLOCK_FACTS)
        columns = _hybrid_block(facts[block], usage_entries[block], now, parameters, decays)
        values += columns.values
        for name, column in columns.components.items():
            components.setdefault(name, []).extend(column)
    return ScoreColumns(values, components)


def _hybrid_block(
    facts: Sequence[Fields],
    usage_entries: Sequence[object],
    now: datetime,
    parameters: HybridParameters,
    decays: Decays,
) -> ScoreColumns:
    confidences = _confidences(facts)
    freshness = _freshness(facts, now, parameters.confirmation_half_life_days, decays)
    heats = _heats(usage_entries, now, parameters.access_half_life_days, decays)
    a, b, c = (
        parameters.confidence_weight,
        parameters.confirmation_weight,
        parameters.access_weight,
    )
    return ScoreColumns(
        [a * x + b * y + c * z for x, y, z in zip(confidences, freshness, heats, strict=True)],
        {"confidence": confidences, "confirmationFreshness": freshness, "accessHeat": heats},
    )


def _confidences(facts: Sequence[Fields]) -> list[float]:
    return [
        value  # A stored -0.0 scores 0.0, so zeros go the long way.
        if type(value := fact.get("confidence")) is float and 0.0 < value <= 1.0
        else stored_confidence(fact)
        for fact in facts
    ]


def _freshness(
    facts: Sequence[Fields], now: datetime, half_life_days: float, decays: Decays
) -> list[float]:
    times = [fact.get("lastConfirmedAt") for fact in facts]
    never = [i for i, time in enumerate(times) if time is None]
    for i in never:
        times[i] = facts[i].get("createdAt")
    found = decays(times, now, half_life_days)
    for i in never:
        found[i] = NEVER_CONFIRMED_DISCOUNT * (found[i] or 0.0)
    if None in found:
        unread = [i for i, decay in enumerate(found) if decay is None]
        created = decays([facts[i].get("createdAt") for i in unread], now, half_life_days)
        for i, decay in zip(unread, created, strict=True):
            found[i] = NEVER_CONFIRMED_DISCOUNT * (decay or 0.0)
    return found  # type: ignore[return-value]


def _heats(
    usage_entries: Sequence[object], now: datetime, half_life_days: float, decays: Decays
) -> list[float]:
    heats = [0.0] * len(usage_entries)
    warm, stored, times = [], [], []
    for i, entry in enumerate(usage_entries):
        if entry is None:
            continue
        if type(entry) is dict:
            heat = entry.get("accessHeat")
            if (type(heat) is float or type(heat) is int) and 0 < heat < LARGEST_PLAIN_HEAT:
                warm.append(i)
                stored.append(heat)
                times.append(entry.get("lastAccessedAt"))
                continue
        heats[i] = access_heat(entry, now, half_life_days)
    log1p, scale = math.log1p, HEAT_SCALE
    for i, heat, decay in zip(warm, stored, decays(times, now, half_life_days), strict=True):
        if decay is not None:
            warmth = log1p(heat * decay) / scale
            heats[i] = min(1.0, warmth)
    return heats


def _decays(times: list[Any], now: datetime, half_life_days: float) -> list[float | None]:
    """Return `decay_since()` of each time, read once where many are equal."""
    distinct = {time for time in times if type(time) is str}
    if 2 * len(distinct) >= len(times):
        return _decays_of_each(times, now, half_life_days)
    known = dict(zip(distinct, _decays_of_each(distinct, now, half_life_days), strict=True))
    return [
        known[time] if type(time) is str else decay_since(time, now, half_life_days)
        for time in times
    ]


def _decays_on_arrays(times: list[Any], now: datetime, half_life_days: float) -> list[float | None]:
    """Return `decay_since()` of each time, on arrays where all texts have one form."""
    from deermem_eval.policies.time_arrays import half_lives_until  # 0.1 s to import

    texts = [time for time in times if type(time) is str]
    exponents = half_lives_until(texts, now, half_life_days) if texts else None
    if exponents is None:
        return _decays(times, now, half_life_days)
    decays = map(TWO_TO_THE, exponents)
    if len(texts) == len(times):
        return list(decays)
    return [
        next(decays) if type(time) is str else decay_since(time, now, half_life_days)
        for time in times
    ]


def _decays_of_each(
    times: Iterable[Any], now: datetime, half_life_days: float
) -> list[float | None]:
    read = datetime.fromisoformat
    decays: list[float | None] = []
    for time in times:
        if type(time) is not str:
            decays.append(None if time is None else decay_since(time, now, half_life_days))
            continue
        try:
            then = read(time.strip().replace("Z", "+00:00"))  # as parse_timestamp() does
        except ValueError:
            decays.append(None)
            continue
        since = now - (then if then.tzinfo is not None else then.replace(tzinfo=UTC))
        whole = since.days * SECONDS_A_DAY + since.seconds
        days = (since.total_seconds() if since.microseconds else whole) / SECONDS_A_DAY
        decays.append(2.0 ** (-days / half_life_days) if days > 0 else 1.0)
    return decays
