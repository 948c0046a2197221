"""Made lives: traces from documented distributions, seeded; the offline default, and data for tests.

What a life is made of, all independent unless said otherwise:

- facts arrive as a Poisson process of `facts` over `days`, in one of `topics` topics;
- the topic of interest drifts: it changes with probability `drift` at each arrival, and a new fact is of
  the topic of interest with probability 0.7, else of any;
- a share `corrections` of the facts corrects an earlier fact of its topic, which is needed no more;
- a fact is worth a Zipf weight `rank^-zipf` by a random rank, and matters for an exponential lifetime of mean
  `lifetime_days`;
- accesses come as a Poisson process of `accesses` over the life, each of a fact that matters then, drawn by worth,
  doubled for the topic of interest; one in ten also confirms the fact;
- needs come likewise, `needs` of them, three in four resting on one fact and the others on two.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies.scores import SECONDS_A_DAY
from deermem_eval.traces.trace import (
    ACCESS,
    CONFIRM,
    CREATE,
    NEED,
    Need,
    Trace,
)

MADE_NAME = "made"
BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
OF_INTEREST = 0.7
CONFIRMING_SHARE = 0.1
SINGLE_SHARE = 0.75
MOST = 1e7
STEEPEST = 10.0


@dataclass(frozen=True)
class Making:
    """What a made life is made of; see the module.

    Attributes
    ----------
    facts, accesses, needs : int
        Expected numbers; at least one fact comes. A need that finds nothing that matters is dropped.
    days : float
    topics : int
    drift, corrections : float
        In [0, 1].
    zipf : float
        Exponent, from 0 to 10.
    lifetime_days : float
    """

    facts: int = 250
    accesses: int = 1500
    needs: int = 150
    days: float = 365.0
    topics: int = 8
    drift: float = 0.05
    corrections: float = 0.08
    zipf: float = 1.0
    lifetime_days: float = 120.0

    def __post_init__(self) -> None:
        for name in ("facts", "needs", "topics", "days", "lifetime_days"):
            if not 0 < getattr(self, name) < MOST:
                raise DeermemEvalError(
                    f"{name} is {getattr(self, name)!r}, and must be positive and below {MOST:g}"
                )
        if not 0 <= self.zipf <= STEEPEST:
            raise DeermemEvalError(f"zipf is {self.zipf!r}, and must be in [0, {STEEPEST:g}]")
        if not 0 <= self.accesses < MOST:
            raise DeermemEvalError(
                f"accesses is {self.accesses!r}, and must be from 0 and below {MOST:g}"
            )
        for name in ("drift", "corrections"):
            if not 0 <= getattr(self, name) <= 1:
                raise DeermemEvalError(f"{name} is {getattr(self, name)!r}, and must be in [0, 1]")


def made_life(name: str, seed: int, making: Making | None = None) -> Trace:
    """Make a life.

    Parameters
    ----------
    name : str
    seed : int
        From 0; the same seed makes the same life.
    making : Making, optional
        The default one if none is given.
    """
    making = making or Making()
    draw = np.random.default_rng(seed)
    count = max(1, int(draw.poisson(making.facts)))
    created = np.sort(draw.random(count)) * making.days
    interest, topics = _topics(draw, count, making)
    worth = (1.0 + draw.permutation(count)) ** -making.zipf
    ends = created + draw.exponential(making.lifetime_days, count)
    corrects = _corrected(draw, topics, making.corrections)
    for fact in np.flatnonzero(corrects >= 0).tolist():
        ends[corrects[fact]] = min(ends[corrects[fact]], created[fact])

    def drawn_at(day: float, size: int) -> list[int]:
        matters = np.flatnonzero((created <= day) & (day < ends))
        if not len(matters):
            return []
        here = interest[np.searchsorted(created, day, side="right") - 1]
        weight = worth[matters] * np.where(topics[matters] == here, 2.0, 1.0)
        size = min(size, len(matters))
        return sorted(draw.choice(matters, size, replace=False, p=weight / weight.sum()).tolist())

    events = [(float(day), CREATE, fact) for fact, day in enumerate(created)]
    for day in np.sort(draw.random(int(draw.poisson(making.accesses)))) * making.days:
        for fact in drawn_at(day, 1):
            events.append((float(day), ACCESS, fact))
            if draw.random() < CONFIRMING_SHARE:
                events.append((float(day), CONFIRM, fact))
    needs: list[Need] = []
    for day in np.sort(draw.random(max(1, int(draw.poisson(making.needs))))) * making.days:
        facts = drawn_at(day, 1 if draw.random() < SINGLE_SHARE else 2)
        if facts:
            events.append((float(day), NEED, len(needs)))
            needs.append(Need(tuple(facts), "single" if len(facts) == 1 else "double"))
    events.sort(key=lambda event: event[0])  # stable: what happens at one time keeps its order
    days, kinds, subjects = zip(*events, strict=True)
    return Trace(
        life=name,
        fact_ids=tuple(f"fact_{fact:04d}" for fact in range(count)),
        categories=tuple("correction" if one >= 0 else "preference" for one in corrects),
        confidence=np.full(count, np.nan),
        kinds=np.array(kinds, dtype=np.int64),
        subjects=np.array(subjects, dtype=np.int64),
        times=BEGINS.timestamp() + np.array(days) * SECONDS_A_DAY,
        probabilities=np.ones(len(events)),
        needs=tuple(needs),
        corrects=corrects,
    )


def made_lives(lives: int = 10, making: Making | None = None) -> tuple[Trace, ...]:
    """Make lives, with the seeds 0, 1, 2, ..."""
    return tuple(made_life(f"made-{seed}", seed, making) for seed in range(lives))


def _topics(draw: np.random.Generator, count: int, making: Making) -> tuple[np.ndarray, np.ndarray]:
    interest = np.zeros(count, dtype=np.int64)
    now = int(draw.integers(making.topics))
    for fact in range(count):
        if draw.random() < making.drift:
            now = int(draw.integers(making.topics))
        interest[fact] = now
    is_of_interest = draw.random(count) < OF_INTEREST
    return interest, np.where(is_of_interest, interest, draw.integers(making.topics, size=count))


def _corrected(draw: np.random.Generator, topics: np.ndarray, share: float) -> np.ndarray:
    """Return which earlier fact of its topic each fact corrects, else -1; no fact is corrected twice."""
    corrects = np.full(len(topics), -1, dtype=np.int64)
    free: dict[int, list[int]] = {}
    for fact, topic in enumerate(topics.tolist()):
        earlier = free.setdefault(topic, [])
        if earlier and draw.random() < share:
            corrects[fact] = earlier.pop(int(draw.integers(len(earlier))))
        earlier.append(fact)
    return corrects
