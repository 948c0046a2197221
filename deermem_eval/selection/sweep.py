"""Sweeps: retained support facts over grids of weights, capacities, half-lives, reserves and signals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deermem_eval.cases import Case
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
from deermem_eval.selection.regions import (
    CaseRegions,
    Margin,
    Overlay,
    case_margins,
    case_regions,
    margin,
    overlay,
)

FINEST_STEP = 0.001
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

    Raises
    ------
    DeermemEvalError
        A parameter is unknown, or a value is out of its range.
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
    settings, retained = [], []
    for values in product(*varied.values()):
        chosen = dict(zip(varied, values, strict=True))
        arrays, support, reserve = _arrays(cases, config, hybrid, chosen)
        found = retained_in_batch(arrays, support, triples, at, **reserve)
        retained.append(np.moveaxis(found, 1, 2).reshape(-1, len(cases)))
        settings.append(_settings(triples, at, chosen))
    return Sweep(
        pd.concat(settings, ignore_index=True),
        pd.DataFrame(
            [(case.case_id, case.suite, case.scenario) for case in cases],
            columns=["case_id", "suite", "scenario"],
        ),
        np.concatenate(retained),
    )


def case_arrays(cases: Sequence[Case], config: ProtocolConfig) -> tuple[PoolArrays, Booleans]:
    """Return the pools of a protocol's cases as arrays, and where their support facts stand."""
    arrays, support, _ = _arrays(cases, config, policy_settings(config)[1].parameters, {})
    return arrays, support


@dataclass(frozen=True)
class RegionStudy:
    """The weight regions of a protocol's cases at one capacity, and the margin of a triple.

    Attributes
    ----------
    capacity : int
    weights : tuple of float
        Confidence, confirmation and access weight.
    regions : tuple of CaseRegions
    parts : tuple of Overlay
        With the count of retained cases.
    retained : int
        Cases retained at the triple, as the selector decides.
    margin : Margin
    by_case : DataFrame
        Columns `case_id`, `scenario`, `share_retained` (of the triangle), `margin` (infinite where
        nothing flips the case), and `confidence`, `confirmation`, `access`: the way there.
    """

    capacity: int
    weights: tuple[float, ...]
    regions: tuple[CaseRegions, ...]
    parts: tuple[Overlay, ...]
    retained: int
    margin: Margin
    by_case: pd.DataFrame

    @property
    def share_all_retained(self) -> float:
        """Share of the triangle's area in which every case is retained, in [0, 1]."""
        return sum(part.share for part in self.parts if part.retained == len(self.regions))


def region_study(
    cases: Sequence[Case], config: ProtocolConfig, capacity: int, weights: Sequence[float]
) -> RegionStudy:
    """Compute the regions of all cases at a capacity, and how far a triple is from their borders."""
    hybrid = policy_settings(config)[1].parameters
    arrays, support, reserve = _arrays(cases, config, hybrid, {})
    regions = case_regions(arrays, support, [case.case_id for case in cases], capacity, **reserve)
    ways = case_margins(regions, weights)
    rows = [
        (case.case_id, case.scenario, of.share_retained, way.distance, *way.direction)
        for case, of, way in zip(cases, regions, ways, strict=True)
    ]
    columns = ["case_id", "scenario", "share_retained", "margin", *WEIGHT_COLUMNS]
    retained = retained_in_batch(arrays, support, [weights], [capacity], **reserve)
    return RegionStudy(
        capacity,
        tuple(weights),
        regions,
        overlay(regions),
        int(retained.sum()),
        margin(regions, weights),
        pd.DataFrame(rows, columns=columns),
    )


def _arrays(
    cases: Sequence[Case],
    config: ProtocolConfig,
    hybrid: Mapping[str, float],
    chosen: Mapping[str, float],
) -> tuple[PoolArrays, Booleans, dict[str, Any]]:
    own = {name: value for name, value in chosen.items() if not name.startswith("support_")}
    if own.get("correction_reserved_max", 0) % 1 == 0 and "correction_reserved_max" in own:
        own["correction_reserved_max"] = int(own["correction_reserved_max"])
    parameters = HybridParameters(**{**hybrid, **own})  # type: ignore[arg-type]
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


def _with_signals(case: Case, config: ProtocolConfig, chosen: Mapping[str, float]) -> Case:
    """Return a case whose support facts carry their signals with another age or heat, where they do."""
    days, heat = chosen.get("support_confirmed_days"), chosen.get("support_access_heat")
    for name, value in (("support_confirmed_days", days), ("support_access_heat", heat)):
        if value is not None and not (math.isfinite(value) and 0 <= value <= 36_500):
            raise DeermemEvalError(f"{name} is {value:g}, and must be in 0..36500")
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


def _settings(
    triples: Floats, capacities: Sequence[int], chosen: Mapping[str, float]
) -> pd.DataFrame:
    repeated = np.repeat(triples, len(capacities), axis=0)
    table = pd.DataFrame(repeated, columns=list(WEIGHT_COLUMNS)).assign(**chosen)
    return table.assign(capacity=np.tile(np.asarray(capacities), len(triples)))
