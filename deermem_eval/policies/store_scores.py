"""Scores of all facts of a store at once, in columns: bit for bit those of the functions in `scores`.

Well-formed values go a short way, and equal times are read once; any other value goes through the
function in `scores` that knows what to do with it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
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
MANY_TIMES = 20_000
"""From here on times are read on arrays, which costs the import of numpy once."""


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
    """Score facts, given with the usage entry of each, as `hybrid_score()` does."""
    confidences = _confidences(facts)
    freshness = _freshness(facts, now, parameters.confirmation_half_life_days)
    heats = _heats(usage_entries, now, parameters.access_half_life_days)
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


def _freshness(facts: Sequence[Fields], now: datetime, half_life_days: float) -> list[float]:
    found = _decays([fact.get("lastConfirmedAt") for fact in facts], now, half_life_days)
    never = [i for i, decay in enumerate(found) if decay is None]
    created = _decays([facts[i].get("createdAt") for i in never], now, half_life_days)
    for i, decay in zip(never, created, strict=True):
        found[i] = 0.0 if decay is None else NEVER_CONFIRMED_DISCOUNT * decay
    return found  # type: ignore[return-value]


def _heats(usage_entries: Sequence[object], now: datetime, half_life_days: float) -> list[float]:
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
    for i, heat, decay in zip(warm, stored, _decays(times, now, half_life_days), strict=True):
        if decay is not None:
            heats[i] = min(1.0, log1p(heat * decay) / scale)
    return heats


def _decays(times: list[Any], now: datetime, half_life_days: float) -> list[float | None]:
    """Return `decay_since()` of each time, read once where many are equal."""
    texts = [time for time in times if type(time) is str]
    distinct = set(texts)
    if 2 * len(distinct) < len(times):
        decays = _decays_of_each(distinct, now, half_life_days)
        known = dict(zip(distinct, decays, strict=True))
        return [
            known[time] if type(time) is str else decay_since(time, now, half_life_days)
            for time in times
        ]
    if len(texts) >= MANY_TIMES:
        from deermem_eval.policies.time_arrays import days_since  # 0.1 s to import

        days = days_since(texts, now)
        if days is not None:
            decays = [2.0 ** (-d / half_life_days) if d > 0 else 1.0 for d in days]
            if len(decays) == len(times):
                return decays
            rest = iter(decays)
            return [
                next(rest) if type(time) is str else decay_since(time, now, half_life_days)
                for time in times
            ]
    return _decays_of_each(times, now, half_life_days)


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
