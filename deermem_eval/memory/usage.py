"""Usage: what a search hit does to a fact's heat, and nothing else."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from deermem_eval.policies.scores import decay_since

ACCESS_HALF_LIFE_DAYS = 30.0


def accessed(
    entry: object, now: datetime, *, half_life_days: float = ACCESS_HALF_LIFE_DAYS
) -> dict[str, Any]:
    """Return a usage entry after a search hit: the stored heat, decayed since, and one more.

    Parameters
    ----------
    entry : object
        The fact's entry; anything but a mapping counts as none.
    now : datetime
    half_life_days : float

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> first = accessed(None, datetime(2026, 7, 1, tzinfo=UTC))
    >>> accessed(first, datetime(2026, 7, 31, tzinfo=UTC))["accessHeat"]
    1.5
    """
    entry = entry if isinstance(entry, Mapping) else {}
    heat, count = entry.get("accessHeat"), entry.get("accessCount")
    is_warm = isinstance(heat, int | float) and not isinstance(heat, bool) and 0 < heat < 1e12
    decay = decay_since(entry.get("lastAccessedAt"), now, half_life_days)
    return {
        "accessHeat": (heat * decay if is_warm and decay is not None else 0.0) + 1.0,  # type: ignore[operator]
        "accessCount": (count if type(count) is int and count >= 0 else 0) + 1,
        "lastAccessedAt": now.isoformat().replace("+00:00", "Z"),
    }


def after_search(
    usage: Mapping[str, Any],
    hits: Iterable[str],
    facts: Iterable[Mapping[str, Any]],
    now: datetime,
    *,
    half_life_days: float = ACCESS_HALF_LIFE_DAYS,
) -> dict[str, Any]:
    """Return the usage of a store after one search: each hit counts once, and only for a fact that is there.

    Parameters
    ----------
    usage : mapping of str to dict
    hits : iterable of str
        Ids that the search returned, repeated ones too.
    facts : iterable of mapping
        Of the store; what is not among them is not revived.
    now : datetime
    half_life_days : float
    """
    known = {fact.get("id") for fact in facts}
    found = dict.fromkeys(hit for hit in hits if hit in known)
    changed = {id_: accessed(usage.get(id_), now, half_life_days=half_life_days) for id_ in found}
    return {**usage, **changed}
