"""The study: lives x policies x capacities x models of confidence x seeds, as tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from deermem_eval.chunks import map_chunks
from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies.scores import SECONDS_A_DAY
from deermem_eval.traces.bound import most_needs_met
from deermem_eval.traces.setting import Setting
from deermem_eval.traces.signals import (
    CONSTANT,
    STORED,
    TRACED,
    check_recency,
    confidences,
    named,
    need_places,
    need_times,
    plain,
)
from deermem_eval.traces.simulator import simulate
from deermem_eval.traces.store_by_store import check_policy
from deermem_eval.traces.trace import Floats, Integers, Trace

CAPACITIES = (25, 50, 75, 100, 150, 200)
CONFIDENCE_MODELS = (CONSTANT, "rho=0", "rho=0.3", "rho=0.6", "rho=1")
POLICIES = (
    *("confidence", "hybrid-v1", "recency", "frequency", "fifo", "random"),
    *("correction-tie-break", "forgetting-curve", "power-law", "clairvoyant"),
)
BOUND = "bound"
STORES_AT_A_TIME = 100
MOST_SEEDS = 10_000
AGE_BOUNDS = (0.0, 7.0, 30.0, 90.0, 180.0)
AGES = ("0-7", "7-30", "30-90", "90-180", "180-")
"""Days, from and below."""
OUTCOME_COLUMNS = (
    *("life", "policy", "capacity", "confidence", "recency", "seed", "needs", "met", "met_in_part"),
    *("facts", "evicted", "corrections", "corrections_kept"),
)


@dataclass(frozen=True)
class Study:
    """What is simulated.

    Attributes
    ----------
    policies : tuple of str
    capacities : tuple of int
    confidence : tuple of str
        Models, as `confidences()` takes them.
    recencies : tuple of float or None
        Models of needs, as `need_places()` takes them.
    seeds : int
        Stores that differ in what is left to chance.
    """

    policies: tuple[str, ...] = POLICIES
    capacities: tuple[int, ...] = CAPACITIES
    confidence: tuple[str, ...] = CONFIDENCE_MODELS
    recencies: tuple[float | None, ...] = (None,)
    seeds: int = 20

    def __post_init__(self) -> None:
        for capacity in self.capacities:
            Setting("confidence", capacity)
        for policy in self.policies:
            check_policy(policy)
        for recency in self.recencies:
            if recency is not None:
                check_recency(recency)
        object.__setattr__(self, "confidence", tuple(map(named, self.confidence)))
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise DeermemEvalError(f"seeds is {self.seeds}, and must be in 1..{MOST_SEEDS}")
        for name in ("policies", "capacities", "confidence", "recencies"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise DeermemEvalError(
                    f"{name} are {values}; give at least one, none of them twice"
                )


def check_study(traces: Sequence[Trace], study: Study) -> None:
    """Raise `DeermemEvalError` where a study asks of a trace what it does not have."""
    lives = [trace.life for trace in traces]
    for trace in traces:
        if lives.count(trace.life) > 1:
            raise DeermemEvalError(f"two lives are called {trace.life}; rename one")
        if not trace.needs:
            raise DeermemEvalError(f"life {trace.life} has no need; leave it out")
    if STORED in study.confidence:
        for trace in traces:
            confidences(trace, STORED, 0)


def run_study(
    traces: Sequence[Trace], study: Study, *, workers: int = 1, scheduler: str = ""
) -> pd.DataFrame:
    """Simulate every life under every policy at every capacity, and the bound.

    Parameters
    ----------
    traces : sequence of Trace
    study : Study
    workers, scheduler
        As for `deermem_eval.chunks.map_chunks`; the table is the same.

    Returns
    -------
    DataFrame
        Columns `OUTCOME_COLUMNS`: a row a life, policy, capacity, model of confidence and of needs, and
        seed. `met` counts needs met in whole, `met_in_part` sums the share of each need's facts that
        was there; `bound` has one row a life, capacity and model of needs (confidence empty, seed
        -1), and nothing in its last columns.
    """
    check_study(traces, study)
    chunks = [(trace, capacity) for trace in traces for capacity in study.capacities]
    tables = map_chunks(
        partial(_outcomes, study=study), chunks, workers=workers, scheduler=scheduler
    )
    return pd.DataFrame([row for rows in tables for row in rows], columns=list(OUTCOME_COLUMNS))


@dataclass(frozen=True)
class StoreBatch:
    """Stores of one trace: what differs between them."""

    labels: tuple[tuple[str, int], ...]
    confidence: Floats = field(repr=False)

    @property
    def seeds(self) -> Integers:
        """Of each store."""
        return np.array([seed for _, seed in self.labels], dtype=np.int64)


def stores_of(trace: Trace, study: Study) -> list[StoreBatch]:
    """Return the stores of a study on a trace, as many at a time as are simulated together."""
    labels = [(model, seed) for model in study.confidence for seed in range(study.seeds)]
    return [
        StoreBatch(tuple(part), np.array([confidences(trace, model, seed) for model, seed in part]))
        for start in range(0, len(labels), STORES_AT_A_TIME)
        if (part := labels[start : start + STORES_AT_A_TIME])
    ]


def needs_met(trace: Trace, evicted_at: Integers, places: Integers) -> tuple[Floats, Floats]:
    """Return which needs a store meets in whole, and in which share, each of shape (stores, needs).

    Parameters
    ----------
    trace : Trace
    evicted_at : array of int, shape (stores, facts)
        As `simulate()` returns it.
    places : array of int, shape (needs,)
        Where in the events each need stands.
    """
    if not trace.needs:
        return np.zeros((len(evicted_at), 0)), np.zeros((len(evicted_at), 0))
    counts = np.array([len(need.facts) for need in trace.needs])
    facts = np.array([fact for need in trace.needs for fact in need.facts])
    there = evicted_at[:, facts] >= np.repeat(places, counts)
    met = np.add.reduceat(there, np.cumsum(counts) - counts, axis=1, dtype=float)
    return (met == counts).astype(float), met / counts


def _outcomes(chunk: tuple[Trace, int], study: Study) -> list[tuple[object, ...]]:
    trace, capacity = chunk
    rows: list[tuple[object, ...]] = []
    corrections = trace.corrections
    size = (len(trace.fact_ids), int(corrections.sum()))
    places = {recency: need_places(trace, recency) for recency in study.recencies}
    for stores in stores_of(trace, study):
        for policy in study.policies:
            lives: Integers | None = None
            for recency, at in places.items():
                if lives is None or policy == "clairvoyant":  # nobody else looks ahead
                    lives = simulate(
                        trace,
                        Setting(policy, capacity),
                        stores.confidence,
                        stores.seeds,
                        need_places=at,
                    )
                whole, share = needs_met(trace, lives, at)
                gone = lives < len(trace.kinds)
                counts = zip(
                    stores.labels,
                    whole.sum(axis=1).astype(int).tolist(),
                    share.sum(axis=1).tolist(),
                    gone.sum(axis=1).tolist(),
                    (~gone & corrections).sum(axis=1).tolist(),
                    strict=True,
                )
                for (model, seed), met, in_part, evicted, kept in counts:
                    rows.append(
                        (
                            *(trace.life, policy, capacity, model, _name(recency), seed),
                            *(len(trace.needs), met, in_part, size[0], evicted, size[1], kept),
                        )
                    )
    for recency, at in places.items():
        met = most_needs_met(trace, capacity, at)
        rows.append(
            (
                *(trace.life, BOUND, capacity, "", _name(recency), -1),
                *(len(trace.needs), met, float("nan"), size[0], np.nan, size[1], np.nan),
            )
        )
    return rows


def _name(recency: float | None) -> str:
    return TRACED if recency is None else plain(recency)


def ages_of_needs(
    traces: Sequence[Trace],
    *,
    policies: Sequence[str],
    capacity: int,
    confidence: str,
    recency: float | None = None,
    seeds: int = 5,
) -> pd.DataFrame:
    """Count the needs that policies meet by kind of question and by the age of their oldest fact.

    Returns
    -------
    DataFrame
        Columns `policy`, `kind`, `age` (days, `30-90`), `needs` (of all lives) and `met` (the mean
        over seeds, summed over lives).
    """
    rows = []
    for trace in traces:
        places = need_places(trace, recency)
        of_seed = np.array([confidences(trace, confidence, seed) for seed in range(seeds)])
        for policy in policies:
            setting = Setting(policy, capacity)
            lives = simulate(trace, setting, of_seed, np.arange(seeds), need_places=places)
            met = needs_met(trace, lives, places)[0].mean(axis=0)
            for need, age, share in zip(trace.needs, _ages(trace, recency), met, strict=True):
                rows.append((policy, need.kind, age, 1, share))
    table = pd.DataFrame(rows, columns=["policy", "kind", "age", "needs", "met"])
    for name, order in (("policy", policies), ("age", AGES)):
        table[name] = pd.Categorical(table[name], categories=list(order), ordered=True)
    grouped = table.groupby(["policy", "kind", "age"], observed=True, sort=True).sum()
    return grouped.reset_index().astype({"policy": str, "age": str})


def _ages(trace: Trace, recency: float | None) -> list[str]:
    """Return the bin of each need's oldest fact's age, when the need comes."""
    oldest = np.array([trace.created[list(need.facts)].min() for need in trace.needs])
    days = np.maximum(0.0, (need_times(trace, recency) - oldest) / SECONDS_A_DAY)
    return [AGES[i - 1] for i in np.searchsorted(AGE_BOUNDS, days, side="right")]
