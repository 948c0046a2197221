"""From predictions to grades, and from graded rows to accuracy, statistics and documents."""

from deermem_eval.grades.checks import Check, Difference, Verification
from deermem_eval.grades.grade import Grade, UngradableReferenceError
from deermem_eval.grades.graders import FROZEN_GRADER, GRADERS, grade_answer
from deermem_eval.grades.grading import (
    accuracy_by_scenario,
    accuracy_by_suite,
    paired_by_suite,
    statistics_document,
    summary_document,
)
from deermem_eval.grades.outcomes import read_outcomes, read_published_rows, read_runs, rows_of_run
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
from deermem_eval.grades.verify import verify_run

__all__ = [
    "FROZEN_GRADER",
    "GRADERS",
    "Check",
    "Difference",
    "Grade",
    "Interval",
    "PairedCounts",
    "UngradableReferenceError",
    "Verification",
    "accuracy_by_scenario",
    "accuracy_by_suite",
    "bootstrap_difference",
    "grade_answer",
    "mcnemar_p",
    "paired_by_suite",
    "paired_counts",
    "read_outcomes",
    "read_published_rows",
    "read_runs",
    "resampled_indices",
    "rows_of_run",
    "smallest_attainable_p",
    "statistics_document",
    "summary_document",
    "verify_run",
    "wilson_interval",
]
