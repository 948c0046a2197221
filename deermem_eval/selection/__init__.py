"""From cases to tables of decisions, and to the retention that they amount to."""

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
from deermem_eval.selection.retention import (
    SUITES,
    retention_by_scenario,
    retention_by_suite,
    with_overall,
)

__all__ = [
    "SUITES",
    "CaseDecision",
    "PolicyRun",
    "PolicySetting",
    "check_capacities",
    "decide",
    "decision_table",
    "policy_settings",
    "protocol_selector",
    "retention_by_scenario",
    "retention_by_suite",
    "retention_rows",
    "with_overall",
    "write_policy_run",
]
