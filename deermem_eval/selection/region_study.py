"""A region study: the weight regions of a protocol's cases, and how far a triple is from their borders."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from deermem_eval.cases import Case
from deermem_eval.protocol import ProtocolConfig
from deermem_eval.selection.batch import retained_in_batch
from deermem_eval.selection.decisions import policy_settings
from deermem_eval.selection.regions import (
    CaseRegions,
    Margin,
    Overlay,
    case_margins,
    case_regions,
    margin,
    overlay,
)
from deermem_eval.selection.sweep import WEIGHT_COLUMNS, swept_arrays


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
    arrays, support, reserve = swept_arrays(cases, config, hybrid, {})
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
