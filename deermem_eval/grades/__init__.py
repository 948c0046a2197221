"""From predictions to grades, and from graded rows to accuracy, statistics and documents."""

from deermem_eval.grades.checks import Check, Difference, Verification
from deermem_eval.grades.grade import Grade, UngradableReferenceError
from deermem_eval.grades.grade_run import GradedRun, grade_run, graded_or_grade
from deermem_eval.grades.graders import FROZEN_GRADER, GRADERS, grade_answer
from deermem_eval.grades.grading import (
    accuracy_by_scenario,
    accuracy_by_suite,
    paired_by_suite,
    statistics_document,
    summary_document,
)
from deermem_eval.grades.outcomes import read_outcomes, read_published_rows, read_runs, rows_of_run
from deermem_eval.grades.regrading import (
    changed_rows,
    gradings_by_suite,
    read_disputed,
    read_regrades,
    regrade,
    with_grading,
)
from deermem_eval.grades.stages import STAGES, discordant_cases, stages_by_scenario, stages_by_suite
from deermem_eval.grades.statistics import (
    Interval,
    PairedCounts,
    bootstrap_difference,
    mcnemar_p,
    paired_counts,
    resampled_indices,
    smallest_attainable_p,
    wilson_interval,
)
from deermem_eval.grades.study import GradedStudy, load_graded_study
from deermem_eval.grades.verify import verify_run

__all__ = [
    "FROZEN_GRADER",
    "GRADERS",
    "STAGES",
    "Check",
    "Difference",
    "Grade",
    "GradedRun",
    "GradedStudy",
    "Interval",
    "PairedCounts",
    "UngradableReferenceError",
    "Verification",
    "accuracy_by_scenario",
    "accuracy_by_suite",
    "bootstrap_difference",
    "changed_rows",
    "discordant_cases",
    "grade_answer",
    "grade_run",
    "graded_or_grade",
    "gradings_by_suite",
    "load_graded_study",
    "mcnemar_p",
    "paired_by_suite",
    "paired_counts",
    "read_disputed",
    "read_outcomes",
    "read_published_rows",
    "read_regrades",
    "read_runs",
    "regrade",
    "resampled_indices",
    "rows_of_run",
    "smallest_attainable_p",
    "stages_by_scenario",
    "stages_by_suite",
    "statistics_document",
    "summary_document",
    "verify_run",
    "wilson_interval",
    "with_grading",
]
