"""Scores: what a fact is worth to an eviction policy, and the components that make it up.

A stored fact may be dirty: any value of any field gives a score, none an exception.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.weights import weights_problem

SECONDS_A_DAY = 86_400
UNKNOWN_CONFIDENCE = 0.5
NEVER_CONFIRMED_DISCOUNT = 0.5
SATURATING_HEAT = 8
HEAT_SCALE = math.log(1 + SATURATING_HEAT)
LONGEST_HALF_LIFE_DAYS = 1e9


@dataclass(frozen=True)
class HybridParameters:
    """The parameters of `hybrid-v1`; the defaults are the published ones (deer-flow PR #4789).

    Attributes
    ----------
    confidence_weight, confirmation_weight, access_weight : float
        In [0, 1], summing to 1.
    confirmation_half_life_days, access_half_life_days : float
        Positive, in days.
    correction_reserved_fraction : float
        Share of the capacity that is reserved for corrections, in [0, 1].
    correction_reserved_max : int
        Most slots that are ever reserved, at least 0.

    Raises
    ------
    DeermemEvalError
        A parameter is out of its range.
    """

    confidence_weight: float = 0.65
    confirmation_weight: float = 0.25
    access_weight: float = 0.10
    confirmation_half_life_days: float = 90
    access_half_life_days: float = 30
    correction_reserved_fraction: float = 0.10
    correction_reserved_max: int = 10

    def __post_init__(self) -> None:
        problem = weights_problem(
            self.confidence_weight, self.confirmation_weight, self.access_weight
        )
        if problem:
            raise DeermemEvalError(f"{problem}; correct it")
        fraction = self.correction_reserved_fraction
        if not (_is_number(fraction) and 0 <= fraction <= 1):
            raise DeermemEvalError(
                f"correction_reserved_fraction is {fraction!r}, and must be in [0, 1]"
            )
        for name in ("confirmation_half_life_days", "access_half_life_days"):
            value = getattr(self, name)
            if not (_is_number(value) and 0 < value <= LONGEST_HALF_LIFE_DAYS):
                raise DeermemEvalError(
                    f"{name} is {value!r}, and must be a positive number of days"
                )
        if type(self.correction_reserved_max) is not int or self.correction_reserved_max < 0:
            raise DeermemEvalError(
                f"correction_reserved_max is {self.correction_reserved_max!r}, and must be a "
                "whole number from 0"
            )

    def correction_slots(self, capacity: int) -> int:
        """Return how many slots of a capacity are reserved for corrections."""
        reserved = math.ceil(capacity * self.correction_reserved_fraction)
        return min(self.correction_reserved_max, reserved)


@dataclass(frozen=True)
class FactScore:
    """A fact's score under a policy, and its components, each in [0, 1]."""

    value: float
    components: dict[str, float]


def confidence_score(fact: Mapping[str, Any]) -> FactScore:
    """Score a fact by its confidence alone, as DeerMem does by default."""
    confidence = stored_confidence(fact)
    return FactScore(confidence, {"confidence": confidence})


def hybrid_score(
    fact: Mapping[str, Any], usage_entry: object, now: datetime, parameters: HybridParameters
) -> FactScore:
    """Score a fact by confidence, confirmation freshness and access heat (`hybrid-v1`).

    Parameters
    ----------
    fact : mapping
        As DeerMem stores it.
    usage_entry : object
        The fact's usage entry; anything but a mapping counts as never accessed.
    now : datetime
        The evaluation clock, with a time zone.
    parameters : HybridParameters
    """
    confidence = stored_confidence(fact)
    freshness = confirmation_freshness(fact, now, parameters.confirmation_half_life_days)
    heat = access_heat(usage_entry, now, parameters.access_half_life_days)
    return FactScore(
        parameters.confidence_weight * confidence
        + parameters.confirmation_weight * freshness
        + parameters.access_weight * heat,
        {"confidence": confidence, "confirmationFreshness": freshness, "accessHeat": heat},
    )


def stored_confidence(fact: Mapping[str, Any]) -> float:
    """Return a fact's confidence clipped to [0, 1]; 0.5 where it is no finite number."""
    number = _finite_number(fact.get("confidence"))
    return UNKNOWN_CONFIDENCE if number is None else max(0.0, min(number, 1.0))


def confirmation_freshness(fact: Mapping[str, Any], now: datetime, half_life_days: float) -> float:
    """Return how fresh the last confirmation is, in [0, 1].

    `2^(-days / half_life_days)` since `lastConfirmedAt`; where that is missing or unreadable, half
    of the same since `createdAt`, because creation is weaker evidence than a user's word; else 0.
    Source: deer-flow PR #4789.

    Parameters
    ----------
    fact : mapping
        As DeerMem stores it.
    now : datetime
        The evaluation clock, with a time zone.
    half_life_days : float
        Positive, in days.
    """
    confirmed = decay_since(fact.get("lastConfirmedAt"), now, half_life_days)
    if confirmed is not None:
        return confirmed
    created = decay_since(fact.get("createdAt"), now, half_life_days)
    return 0.0 if created is None else NEVER_CONFIRMED_DISCOUNT * created


def access_heat(usage_entry: object, now: datetime, half_life_days: float) -> float:
    """Return the decayed, normalised access heat, in [0, 1].

    The stored heat decays from `lastAccessedAt` with the half-life, then
    `min(1, ln(1 + heat) / ln 9)`: a heat of 8 saturates. No entry, no time or no positive heat: 0.
    Source: deer-flow PR #4789.

    Parameters
    ----------
    usage_entry : object
        The fact's usage entry: `accessHeat`, `lastAccessedAt`.
    now : datetime
        The evaluation clock, with a time zone.
    half_life_days : float
        Positive, in days.
    """
    if not isinstance(usage_entry, Mapping):
        return 0.0
    decay = decay_since(usage_entry.get("lastAccessedAt"), now, half_life_days)
    heat = _finite_number(usage_entry.get("accessHeat"))
    if decay is None or heat is None or heat <= 0:
        return 0.0
    return min(1.0, math.log1p(heat * decay) / HEAT_SCALE)


def decay_since(value: object, now: datetime, half_life_days: float) -> float | None:
    """Halve 1 with every half-life since a stored time, zero days if it is to come; None if it is none."""
    then = parse_timestamp(value)
    if then is None:
        return None
    days = (now - then).total_seconds() / SECONDS_A_DAY
    return float(2 ** (-max(0.0, days) / half_life_days))


def parse_timestamp(value: object) -> datetime | None:
    """Parse an ISO 8601 time (`Z`, offset, or naive meaning UTC); None where it is not one."""
    if not isinstance(value, str):
        return None
    try:
        # As production reads it, where Z anywhere is an offset of zero.
        parsed = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))  # noqa: FURB162
    except ValueError:
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


def _finite_number(value: Any) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
