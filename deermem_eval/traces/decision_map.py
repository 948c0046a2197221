"""The decision map: where one policy beats another, by what confidence knows and how recent needs are."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import numpy as np
import pandas as pd

from deermem_eval.cases import Case
from deermem_eval.chunks import map_chunks
from deermem_eval.policies import stored_confidence
from deermem_eval.policies.scores import parse_timestamp
from deermem_eval.traces.comparison import compare_policies, holm
from deermem_eval.traces.signals import RHO, normal_scores, plain
from deermem_eval.traces.study import OUTCOME_COLUMNS, Study, run_study
from deermem_eval.traces.trace import Trace

RHOS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
RECENCIES = (0.0, 0.25, 0.5, 0.75, 1.0)
MAP_COLUMNS = ("rho", "recency", "difference", "lower", "upper", "p_value", "p_holm", "lives")


def decision_map(
    traces: Sequence[Trace],
    *,
    capacity: int = 100,
    policies: tuple[str, str] = ("confidence", "hybrid-v1"),
    rhos: Sequence[float] = RHOS,
    recencies: Sequence[float] = RECENCIES,
    seeds: int = 10,
    alpha: float = 0.05,
    workers: int = 1,
) -> pd.DataFrame:
    """Compare two policies over a grid of assumptions.

    Parameters
    ----------
    traces : sequence of Trace
    capacity : int
    policies : (str, str)
        Baseline and candidate.
    rhos : sequence of float
        How much confidence knows of what will be needed, in 0..1.
    recencies : sequence of float
        How recent needs are, in 0..1.
    seeds, workers : int
    alpha : float

    Returns
    -------
    DataFrame
        Columns `MAP_COLUMNS`; `difference` is candidate minus baseline in the share of needs met, and
        `p_holm` is corrected over all cells.
    """
    study = Study(
        policies=policies,
        capacities=(capacity,),
        confidence=tuple(f"{RHO}{plain(rho)}" for rho in rhos),
        recencies=tuple(recencies),
        seeds=seeds,
    )
    tables = map_chunks(partial(_of_life, study=study), list(traces), workers=workers)
    outcomes = pd.concat(tables, ignore_index=True)[list(OUTCOME_COLUMNS)]
    table = compare_policies(outcomes, baseline=policies[0], policies=[policies[1]], alpha=alpha)
    table = table.assign(
        p_holm=holm(table["p_value"].to_numpy()),
        rho=table["confidence"].str.removeprefix(RHO).astype(float),
        recency=table["recency"].astype(float),
    )
    return table[list(MAP_COLUMNS)].sort_values(["rho", "recency"], ignore_index=True)


def constructed_assumption(cases: Sequence[Case], now: datetime) -> tuple[float, float]:
    """Return where a protocol's constructed cases stand on the map.

    Parameters
    ----------
    cases : sequence of Case
    now : datetime
        The evaluation clock: when the fact is needed.

    Returns
    -------
    float, float
        The mean correlation within a pool between the normal score of confidence and being the
        support fact, in -1..1; and how recent the support facts' last signal is: the mean of
        `1 - (days since it was confirmed, accessed or created last) / (days since it was created)`,
        in 0..1.
    """
    knows, recent = [], []
    for case in cases:
        confidence = normal_scores(np.array([stored_confidence(fact) for fact in case.facts]))
        support = np.array([fact["id"] in case.support_fact_ids for fact in case.facts], float)
        if confidence.any():
            knows.append(float(np.corrcoef(confidence, support)[0, 1]))
        for fact in case.facts:
            born = parse_timestamp(fact.get("createdAt"))
            if fact["id"] not in case.support_fact_ids or born is None:
                continue
            accessed = case.usage.get(fact["id"], {}).get("lastAccessedAt")
            signals = map(parse_timestamp, (fact.get("lastConfirmedAt"), accessed))
            last = max([born, *(time for time in signals if time is not None)])
            recent.append(1 - (now - last) / (now - born) if now > born else 0.0)
    return float(np.mean(knows)), float(np.mean(recent))


def _of_life(trace: Trace, study: Study) -> pd.DataFrame:
    return run_study([trace], study)
