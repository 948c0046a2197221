"""The shadow replayed: how often, month by month, the shadow policy would have evicted otherwise."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deermem_eval.policies.scores import parse_timestamp

UNDATED = "undated"


@dataclass(frozen=True)
class ShadowMonth:
    """Evictions of one month in a store's own audit sidecar.

    Attributes
    ----------
    month : str
        `2026-08`, in the zone that the event is written in; `undated` for events whose time cannot be read.
    evictions : int
        Events, each one change that met the capacity.
    shadowed : int
        Those beside which a shadow policy was computed.
    disagreements : int
        Those in which it would have evicted other facts.
    """

    month: str
    evictions: int
    shadowed: int
    disagreements: int


def shadow_by_month(events: Iterable[Any]) -> tuple[ShadowMonth, ...]:
    """Count a store's eviction events by month, oldest first, undated ones last.

    Parameters
    ----------
    events : iterable
        Of `eviction-audit.json`; whatever is no object counts as an undated eviction.
    """
    counts: dict[str, list[int]] = {}
    for event in events:
        fields = event if isinstance(event, Mapping) else {}
        time = parse_timestamp(fields.get("occurredAt"))
        month = f"{time.year:04d}-{time.month:02d}" if time else UNDATED
        shadow = fields.get("shadow")
        count = counts.setdefault(month, [0, 0, 0])
        count[0] += 1
        if isinstance(shadow, Mapping):
            count[1] += 1
            count[2] += shadow.get("disagrees") is True
    return tuple(ShadowMonth(month, *counts[month]) for month in sorted(counts))
