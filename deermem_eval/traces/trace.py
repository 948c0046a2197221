"""Traces: the life of one store as time-ordered events, and the needs that it was kept for.

A trace says nothing of what a store kept: it is what happens to an agent that forgets nothing. A
simulated store of some capacity and policy lives through it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import is_correction
from deermem_eval.policies.scores import parse_timestamp

CREATE, ACCESS, CONFIRM, NEED = range(4)
EVENTS = ("create", "access", "confirm", "need")
DEFAULT_CATEGORY = "context"
FIELDS = {
    "create": {"fact", "category", "confidence", "corrects"},
    "access": {"fact"},
    "confirm": {"fact", "probability"},
    "need": {"facts", "kind"},
}
"""What an event may say beside `life`, `time` and `event`."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Need:
    """Something asked that rests on facts.

    Attributes
    ----------
    facts : tuple of int
        Indices of facts, at least one, each created before.
    kind : str
        Of the question.
    """

    facts: tuple[int, ...]
    kind: str


@dataclass(frozen=True)
class Trace:
    """One life.

    Attributes
    ----------
    life : str
    fact_ids, categories : tuple of str
        In the order of creation, which is also the order of ties.
    confidence : array of float, shape (facts,)
        In [0, 1]; NaN where nobody said.
    kinds, subjects : array of int, shape (events,)
        `CREATE`, `ACCESS`, `CONFIRM` or `NEED`, and the index of its fact, or of its need.
    times : array of float, shape (events,)
        Seconds since 1970, never falling.
    probabilities : array of float, shape (events,)
        With which a confirmation happens, drawn for each simulated store; 1 for all other events.
    needs : tuple of Need
    corrects : array of int, shape (facts,)
        Index of the fact that a correction corrects, else -1.
    """

    life: str
    fact_ids: tuple[str, ...]
    categories: tuple[str, ...]
    confidence: Floats
    kinds: Integers
    subjects: Integers
    times: Floats
    probabilities: Floats
    needs: tuple[Need, ...]
    corrects: Integers

    @cached_property
    def corrections(self) -> NDArray[np.bool_]:
        """Which facts are corrections, shape (facts,)."""
        return np.array([is_correction({"category": name}) for name in self.categories], dtype=bool)

    @cached_property
    def created(self) -> Floats:
        """When each fact was created, in seconds since 1970, shape (facts,)."""
        return np.asarray(self.times[self.kinds == CREATE])

    def places(self, kind: int) -> Integers:
        """Return at which places of the events a kind of event stands."""
        return np.flatnonzero(self.kinds == kind)


class TraceBuilder:
    """Takes a life's events one by one, and refuses what cannot be.

    Parameters
    ----------
    life : str
        Its name.
    """

    def __init__(self, life: str) -> None:
        self.life = life
        self._index: dict[str, int] = {}
        self._categories: list[str] = []
        self._confidence: list[float] = []
        self._corrects: list[int] = []
        self._events: list[tuple[int, int, float, float]] = []
        self._needs: list[Need] = []

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event in the format of the files; see `deermem_eval.traces.files`.

        Raises
        ------
        ValueError
            It cannot be; the message says why.
        """
        name = event.get("event")
        if name not in EVENTS:
            raise ValueError(f"event {name!r} is not one of {', '.join(EVENTS)}")
        unknown = sorted(set(event) - FIELDS[name] - {"life", "time", "event"})
        if unknown:
            known = ", ".join(sorted(FIELDS[name]))
            raise ValueError(f"{name} takes no {unknown[0]!r}, only {known}")
        time = seconds_of(event.get("time"))
        if self._events and time < self._events[-1][2]:
            raise ValueError(f"time {event['time']} is before that of the event above; sort them")
        if name == "create":
            self._create(event, time)
        elif name == "need":
            facts = event.get("facts")
            if not isinstance(facts, list) or not facts:
                raise ValueError("facts must be a list of at least one id")
            known_facts = tuple(dict.fromkeys(self._known(one) for one in facts))
            self._needs.append(Need(known_facts, text_of(event.get("kind", "need"), "kind")))
            self._events.append((NEED, len(self._needs) - 1, time, 1.0))
        else:
            probability = _share(event.get("probability", 1.0), "probability")
            kind = EVENTS.index(name)
            self._events.append((kind, self._known(event.get("fact")), time, probability))

    def trace(self) -> Trace:
        """Return the whole life, which has at least one event."""
        kinds, subjects, times, probabilities = zip(*self._events, strict=True)
        return Trace(
            life=self.life,
            fact_ids=tuple(self._index),
            categories=tuple(self._categories),
            confidence=np.array(self._confidence, dtype=float),
            kinds=np.array(kinds, dtype=np.int64),
            subjects=np.array(subjects, dtype=np.int64),
            times=np.array(times, dtype=float),
            probabilities=np.array(probabilities, dtype=float),
            needs=tuple(self._needs),
            corrects=np.array(self._corrects, dtype=np.int64),
        )

    def _create(self, event: Mapping[str, Any], time: float) -> None:
        id_ = text_of(event.get("fact"), "fact")
        if id_ in self._index:
            raise ValueError(f"fact {id_!r} is created twice")
        category = text_of(event.get("category", DEFAULT_CATEGORY), "category")
        confidence = event.get("confidence")
        corrects = event.get("corrects")
        self._corrects.append(-1 if corrects is None else self._known(corrects))
        self._confidence.append(
            float("nan") if confidence is None else _share(confidence, "confidence")
        )
        self._categories.append(category)
        self._index[id_] = len(self._index)
        self._events.append((CREATE, self._index[id_], time, 1.0))

    def _known(self, id_: object) -> int:
        if not isinstance(id_, str) or id_ not in self._index:
            raise ValueError(f"fact {id_!r} was not created before")
        return self._index[id_]


def build_trace(life: str, events: Iterable[Mapping[str, Any]]) -> Trace:
    """Build a trace of events in the format of the files.

    Raises
    ------
    DeermemEvalError
        An event cannot be; its number and the reason are named.
    """
    builder = TraceBuilder(life)
    for number, event in enumerate(events, start=1):
        try:
            builder.add(event)
        except ValueError as error:
            raise DeermemEvalError(f"life {life}, event {number}: {error}") from error
    if not builder._events:
        raise DeermemEvalError(f"life {life} has no events; leave it out")
    return builder.trace()


def seconds_of(time: object) -> float:
    """Return a time of a trace, ISO 8601 or a datetime, in seconds since 1970; without a zone it is UTC.

    Raises
    ------
    ValueError
        It is none.
    """
    parsed = time if isinstance(time, datetime) else parse_timestamp(time)
    if parsed is None:
        raise ValueError(f"time {time!r} is none; write 2026-08-13T00:00:00Z")
    seconds = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    try:
        datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"time {time!r} lies outside the years 1 to 9999 of UTC") from None
    return seconds


def text_of(value: object, name: str) -> str:
    """Return a text of a trace that can be written.

    Raises
    ------
    ValueError
        It is no text, or empty, or no Unicode.
    """
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} {value!r} is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} {value!r} is no Unicode text") from None
    return value


def _share(value: object, name: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:  # type: ignore[operator]
        raise ValueError(f"{name} is {value!r}, and must be in [0, 1]")
    return float(value)  # type: ignore[arg-type]
