"""Tables, figures, the notebook batch and the page."""

from deermem_eval.report.answer_figures import answer_stages, qa_accuracy
from deermem_eval.report.batch import run_notebooks
from deermem_eval.report.drift_figures import change_flow, protocol_drift, who_sees_what
from deermem_eval.report.execution import NotebookOutcome
from deermem_eval.report.figures import pool_anatomy, retention_by_capacity
from deermem_eval.report.folders import (
    StudyFolders,
    answers_folder,
    default_run,
    results_folder,
    study_folders,
)
from deermem_eval.report.memory_figures import audit_overview, fact_timeline
from deermem_eval.report.notebooks import NotebookTask, plan_notebooks, shipped_notebooks
from deermem_eval.report.overviews import (
    markdown_table,
    p_overview,
    qa_overview,
    retention_overview,
    text_table,
)
from deermem_eval.report.page import write_page, write_report
from deermem_eval.report.parameters import optional_path
from deermem_eval.report.style import SavedFigure, figure_title, save_figure, shown_figure
from deermem_eval.report.table_files import save_table
from deermem_eval.report.tables import bank_table, case_table, pool_table, scenario_table
from deermem_eval.report.trace_figures import (
    decision_map_figure,
    needs_by_age,
    needs_by_capacity,
    tuned_weights,
)
from deermem_eval.report.weight_figures import (
    half_life_sensitivity,
    margins_by_case,
    policy_capacity_curves,
    weight_triangle,
)

__all__ = [
    "NotebookOutcome",
    "NotebookTask",
    "SavedFigure",
    "StudyFolders",
    "answer_stages",
    "answers_folder",
    "audit_overview",
    "bank_table",
    "case_table",
    "change_flow",
    "decision_map_figure",
    "default_run",
    "fact_timeline",
    "figure_title",
    "half_life_sensitivity",
    "margins_by_case",
    "markdown_table",
    "needs_by_age",
    "needs_by_capacity",
    "optional_path",
    "p_overview",
    "plan_notebooks",
    "policy_capacity_curves",
    "pool_anatomy",
    "pool_table",
    "protocol_drift",
    "qa_accuracy",
    "qa_overview",
    "results_folder",
    "retention_by_capacity",
    "retention_overview",
    "run_notebooks",
    "save_figure",
    "save_table",
    "scenario_table",
    "shipped_notebooks",
    "shown_figure",
    "study_folders",
    "text_table",
    "tuned_weights",
    "weight_triangle",
    "who_sees_what",
    "write_page",
    "write_report",
]
