"""Weights in hindsight: the best fixed triple of a set of lives, and what it is worth on a life left out."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from deermem_eval.chunks import map_chunks
from deermem_eval.errors import DeermemEvalError
from deermem_eval.selection import simplex_grid
from deermem_eval.traces.setting import Setting
from deermem_eval.traces.signals import TRACED, confidences, need_places, plain
from deermem_eval.traces.simulator import PUBLISHED_WEIGHTS, simulate
from deermem_eval.traces.study import needs_met
from deermem_eval.traces.trace import Floats, Trace

TUNING_COLUMNS = (
    *("recency", "life", "confidence_weight", "confirmation_weight", "access_weight"),
    *("share_tuned", "share_published", "share_confidence", "share_hindsight"),
)


def leave_one_life_out(
    traces: Sequence[Trace],
    *,
    capacity: int = 100,
    confidence: str = "rho=0.3",
    recency: float | None = None,
    seeds: int = 5,
    step: float = 0.1,
    workers: int = 1,
) -> pd.DataFrame:
    """Tune the weights of `hybrid-v1` on all lives but one, and test them on that one.

    Parameters
    ----------
    traces : sequence of Trace
        At least two.
    capacity : int
    confidence : str
        Model of confidence.
    recency : float or None
        Model of needs.
    seeds : int
    step : float
        Of the grid of weights; of equal triples the one nearest to the published is taken.
    workers : int

    Returns
    -------
    DataFrame
        Columns `TUNING_COLUMNS`, a row a life: the triple that is best on the others; the share of this
        life's needs that it meets, that the published weights and policy `confidence` meet, and that
        the best triple of this very life would have met.
    """
    if len(traces) < 2:
        raise DeermemEvalError(f"there are {len(traces)} lives; tuning needs one to leave out")
    grid = simplex_grid(step)
    triples = np.vstack([np.array(PUBLISHED_WEIGHTS), grid])
    shares = np.array(
        map_chunks(
            partial(
                _shares,
                capacity=capacity,
                confidence=confidence,
                recency=recency,
                seeds=seeds,
                triples=triples,
            ),
            list(traces),
            workers=workers,
        )
    )
    distance = np.abs(triples - np.array(PUBLISHED_WEIGHTS)).sum(axis=1)
    rows = []
    for place, trace in enumerate(traces):
        published, of_grid, by_confidence = shares[place, 0], shares[place, 1:-1], shares[place, -1]
        others = np.delete(shares, place, axis=0)[:, 1:-1].mean(axis=0)
        best = np.flatnonzero(others >= others.max() - 1e-12)
        chosen = int(best[distance[1:][best].argmin()])
        rows.append(
            (
                TRACED if recency is None else plain(recency),
                trace.life,
                *grid[chosen].tolist(),
                *(of_grid[chosen], published, by_confidence, of_grid.max()),
            )
        )
    return pd.DataFrame(rows, columns=list(TUNING_COLUMNS))


def _shares(
    trace: Trace,
    *,
    capacity: int,
    confidence: str,
    recency: float | None,
    seeds: int,
    triples: Floats,
) -> list[float]:
    """Return a life's share of needs met under each triple, then under policy `confidence`."""
    places = need_places(trace, recency)
    of_seed = np.array([confidences(trace, confidence, seed) for seed in range(seeds)])
    numbers = np.arange(seeds)
    lives = simulate(
        trace,
        Setting("hybrid-v1", capacity),
        np.tile(of_seed, (len(triples), 1)),
        np.tile(numbers, len(triples)),
        weights=np.repeat(triples, seeds, axis=0),
    )
    of_triples = needs_met(trace, lives, places)[0].reshape(len(triples), -1).mean(axis=1)
    lives = simulate(trace, Setting("confidence", capacity), of_seed, numbers)
    return [*of_triples.tolist(), float(needs_met(trace, lives, places)[0].mean())]
