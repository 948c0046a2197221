"""From cases to tables of decisions, and to the retention that they amount to."""

from deermem_eval.selection.batch import (
    PoolArrays,
    case_pools,
    kept_in_batch,
    pool_arrays,
    ranks_of,
    retained_in_batch,
    support_mask,
)
from deermem_eval.selection.decisions import (
    CaseDecision,
    PolicySetting,
    check_capacities,
    decide,
    decision_table,
    policy_settings,
    protocol_selector,
)
from deermem_eval.selection.policy_run import PolicyRun, retention_rows, write_policy_run
from deermem_eval.selection.region_study import RegionStudy, region_study
from deermem_eval.selection.region_tables import policy_curves, region_parts
from deermem_eval.selection.regions import (
    CaseRegions,
    Cell,
    Margin,
    Overlay,
    case_margins,
    case_regions,
    margin,
    margin_document,
    overlay,
    retained_at,
)
from deermem_eval.selection.retention import (
    SUITES,
    retention_by_scenario,
    retention_by_suite,
    with_overall,
)
from deermem_eval.selection.sweep import (
    PARAMETERS,
    WEIGHT_COLUMNS,
    Sweep,
    case_arrays,
    simplex_grid,
    sweep,
)

__all__ = [
    "PARAMETERS",
    "SUITES",
    "WEIGHT_COLUMNS",
    "CaseDecision",
    "CaseRegions",
    "Cell",
    "Margin",
    "Overlay",
    "PolicyRun",
    "PolicySetting",
    "PoolArrays",
    "RegionStudy",
    "Sweep",
    "case_arrays",
    "case_margins",
    "case_pools",
    "case_regions",
    "check_capacities",
    "decide",
    "decision_table",
    "kept_in_batch",
    "margin",
    "margin_document",
    "overlay",
    "policy_curves",
    "policy_settings",
    "pool_arrays",
    "protocol_selector",
    "ranks_of",
    "region_parts",
    "region_study",
    "retained_at",
    "retained_in_batch",
    "retention_by_scenario",
    "retention_by_suite",
    "retention_rows",
    "simplex_grid",
    "support_mask",
    "sweep",
    "with_overall",
    "write_policy_run",
]
