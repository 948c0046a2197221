"""Sweeps: retained support facts over grids of weights, capacities, half-lives, reserves and signals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deermem_eval.cases import Case
from deermem_eval.chunks import map_chunks
from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import HybridParameters
from deermem_eval.protocol import ProtocolConfig
from deermem_eval.selection.batch import (
    Booleans,
    Floats,
    PoolArrays,
    case_pools,
    checked_weights,
    pool_arrays,
    retained_in_batch,
    support_mask,
)
from deermem_eval.selection.decisions import check_capacities, policy_settings

FINEST_STEP = 0.001
CHUNK_TRIPLES = 10_000
"""Most weight triples of one setting of the parameters that a worker decides at a time."""
WEIGHT_COLUMNS = ("confidence", "confirmation", "access")
PARAMETERS = (
    "confirmation_half_life_days",
    "access_half_life_days",
    "correction_reserved_fraction",
    "correction_reserved_max",
    "support_confirmed_days",
    "support_access_heat",
)
"""What a sweep may vary beside weights and capacities; the last two change the support facts' signals."""


@dataclass(frozen=True)
class Sweep:
    """A grid of settings, and whether each case retains its support fact at each.

    Attributes
    ----------
    settings : DataFrame
        One row a setting: the columns of `WEIGHT_COLUMNS`, those of the varied `PARAMETERS`, and
        `capacity`.
    cases : DataFrame
        One row a case: `case_id`, `suite`, `scenario`.
    retained : array of bool, shape (settings, cases)
    """

    settings: pd.DataFrame
    cases: pd.DataFrame
    retained: Booleans

    def counts(self) -> pd.DataFrame:
        """Return the settings with columns `cases` and `retained`, and a column a scenario."""
        table = self.settings.assign(
            cases=len(self.cases), retained=self.retained.sum(axis=1).astype(int)
        )
        for scenario in self.cases["scenario"].unique():
            of = (self.cases["scenario"] == scenario).to_numpy()
            table[scenario] = self.retained[:, of].sum(axis=1).astype(int)
        return table

    def by_case(self) -> pd.DataFrame:
        """Return for each case at how many of the `settings` its fact is `retained`."""
        return self.cases.assign(settings=len(self.settings), retained=self.retained.sum(axis=0))


def simplex_grid(step: float) -> Floats:
    """Return every weight triple whose weights are multiples of a step.

    Parameters
    ----------
    step : float
        Divides 1, from `FINEST_STEP`.

    Returns
    -------
    array of float, shape (triples, 3)
        `(n + 1)(n + 2) / 2` triples for a step of `1 / n`, confidence falling.

    Raises
    ------
    DeermemEvalError
        The step does not divide 1.
    """
    n = round(1 / step) if math.isfinite(step) and FINEST_STEP <= step <= 1 else 0
    if not n or abs(n * step - 1) > 1e-9:
        raise DeermemEvalError(
            f"step is {step:g}, and must divide 1, from {FINEST_STEP:g}: 0.05, for example"
        )
    confidence, confirmation = np.meshgrid(
        np.arange(n, -1, -1), np.arange(n, -1, -1), indexing="ij"
    )
    parts = np.stack([confidence, confirmation, n - confidence - confirmation], axis=-1)
    return parts[parts[:, :, 2] >= 0] / n


def sweep(
    cases: Sequence[Case],
    config: ProtocolConfig,
    *,
    weights: Sequence[Sequence[float]] | Floats = (),
    capacities: Sequence[int] = (),
    parameters: Mapping[str, Sequence[float]] | None = None,
    workers: int = 1,
    scheduler: str = "",
) -> Sweep:
    """Decide every case at every setting of a grid, under `hybrid-v1`.

    Parameters
    ----------
    cases : sequence of Case
    config : ProtocolConfig
        Gives what is not varied.
    weights : array of float, shape (triples, 3)
        Empty: the protocol's.
    capacities : sequence of int
        Empty: the protocol's QA capacity.
    parameters : mapping of str to sequence of float, optional
        Values of any of `PARAMETERS`, crossed with one another and with the rest.
    workers, scheduler
        Where the settings are decided, as for `map_chunks()`; the result is the same.

    Raises
    ------
    DeermemEvalError
        A parameter is unknown, a value is out of its range, or the workers are refused.
    """
    hybrid = policy_settings(config)[1].parameters
    given = [hybrid[f"{name}_weight"] for name in WEIGHT_COLUMNS]
    triples = checked_weights(weights if len(weights) else [given])
    at = check_capacities(capacities or [config.pool.qa_capacity], config.pool.size)
    varied = dict(parameters or {})
    for name in varied:
        if name not in PARAMETERS:
            raise DeermemEvalError(
                f"parameter {name!r} cannot be swept; choose of {', '.join(PARAMETERS)}"
            )
    parts = []
    for values in product(*varied.values()):
        chosen = dict(zip(varied, values, strict=True))
        _check_chosen(hybrid, chosen)
        for start in range(0, len(triples), CHUNK_TRIPLES):
            parts.append(_Part(chosen, triples[start : start + CHUNK_TRIPLES]))
    retained = map_chunks(
        partial(_retained, cases=tuple(cases), config=config, capacities=at),
        parts,
        workers=workers,
        scheduler=scheduler,
    )
    return Sweep(
        pd.concat([_settings(part, at) for part in parts], ignore_index=True),
        pd.DataFrame(
            [(case.case_id, case.suite, case.scenario) for case in cases],
            columns=["case_id", "suite", "scenario"],
        ),
        np.concatenate(retained),
    )


@dataclass(frozen=True)
class _Part:
    """Some weight triples at one setting of the varied parameters."""

    chosen: dict[str, float]
    triples: Floats


def _retained(
    part: _Part, *, cases: Sequence[Case], config: ProtocolConfig, capacities: Sequence[int]
) -> Booleans:
    """Say of each triple and capacity, in that order of nesting, which cases retain their fact."""
    hybrid = policy_settings(config)[1].parameters
    arrays, support, reserve = swept_arrays(cases, config, hybrid, part.chosen)
    found = retained_in_batch(arrays, support, part.triples, capacities, **reserve)
    return np.moveaxis(found, 1, 2).reshape(-1, len(cases))


def case_arrays(cases: Sequence[Case], config: ProtocolConfig) -> tuple[PoolArrays, Booleans]:
    """Return the pools of a protocol's cases as arrays, and where their support facts stand."""
    arrays, support, _ = swept_arrays(cases, config, policy_settings(config)[1].parameters, {})
    return arrays, support


def swept_arrays(
    cases: Sequence[Case],
    config: ProtocolConfig,
    hybrid: Mapping[str, float],
    chosen: Mapping[str, float],
) -> tuple[PoolArrays, Booleans, dict[str, Any]]:
    """Return pools, support facts and reserve of the cases at some values of `PARAMETERS`."""
    parameters = _parameters(hybrid, chosen)
    changed = [_with_signals(case, config, chosen) for case in cases]
    arrays = pool_arrays(
        case_pools(changed),
        now=config.evaluation_time,
        confirmation_half_life_days=parameters.confirmation_half_life_days,
        access_half_life_days=parameters.access_half_life_days,
    )
    reserve = {
        "correction_reserved_fraction": parameters.correction_reserved_fraction,
        "correction_reserved_max": parameters.correction_reserved_max,
    }
    return arrays, support_mask(changed, arrays), reserve


def _parameters(hybrid: Mapping[str, float], chosen: Mapping[str, float]) -> HybridParameters:
    own = {name: value for name, value in chosen.items() if not name.startswith("support_")}
    if own.get("correction_reserved_max", 0) % 1 == 0 and "correction_reserved_max" in own:
        own["correction_reserved_max"] = int(own["correction_reserved_max"])
    return HybridParameters(**{**hybrid, **own})  # type: ignore[arg-type]


def _check_chosen(hybrid: Mapping[str, float], chosen: Mapping[str, float]) -> None:
    """Refuse a value here, before any worker starts."""
    _parameters(hybrid, chosen)
    for name in ("support_confirmed_days", "support_access_heat"):
        value = chosen.get(name, 0)
        if not (math.isfinite(value) and 0 <= value <= 36_500):
            raise DeermemEvalError(f"{name} is {value:g}, and must be in 0..36500")


def _with_signals(case: Case, config: ProtocolConfig, chosen: Mapping[str, float]) -> Case:
    """Return a case whose support facts carry their signals with another age or heat, where they do."""
    days, heat = chosen.get("support_confirmed_days"), chosen.get("support_access_heat")
    facts, usage = list(case.facts), dict(case.usage)
    for i, fact in enumerate(facts):
        if fact["id"] not in case.support_fact_ids:
            continue
        if days is not None and "lastConfirmedAt" in fact:
            then = config.evaluation_time - timedelta(days=days)
            facts[i] = fact | {"lastConfirmedAt": then.isoformat()}
        if heat is not None and fact["id"] in usage:
            usage[fact["id"]] = usage[fact["id"]] | {"accessHeat": heat}
    return replace(case, facts=tuple(facts), usage=usage)


def _settings(part: _Part, capacities: Sequence[int]) -> pd.DataFrame:
    repeated = np.repeat(part.triples, len(capacities), axis=0)
    table = pd.DataFrame(repeated, columns=list(WEIGHT_COLUMNS)).assign(**part.chosen)
    return table.assign(capacity=np.tile(np.asarray(capacities), len(part.triples)))
