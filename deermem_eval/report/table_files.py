"""Tables on disk: written as CSV with floats in full, and read back only if they are sound."""

from pathlib import Path

import numpy as np
import pandas as pd

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import write_file

RETENTION_TABLES = ("retention_by_scenario", "retention_by_suite")
QA_TABLES = ("qa_accuracy_by_scenario", "qa_accuracy_by_suite", "qa_paired_by_suite")
COUNTS = ("capacity", "cases", "retained", "correct")
COLUMNS_READ = {
    "retention_by_scenario": (("policy", "scenario"), ("capacity", "cases", "retained")),
    "retention_by_suite": (("policy", "suite"), ("capacity", "cases", "retained")),
    "qa_accuracy_by_scenario": (("run", "policy", "scenario"), ("cases", "correct")),
    "qa_accuracy_by_suite": (("run", "policy", "suite"), ("cases", "correct")),
    "qa_paired_by_suite": (
        ("run", "suite"),
        ("difference", "lower", "upper", "p_value", "smallest_attainable_p"),
    ),
}
"""Text and number columns that the overviews need, by table."""


def save_table(table: pd.DataFrame, folder: Path, name: str) -> Path:
    """Write a table as `{name}.csv`, floats in full, and return its path."""
    path = folder / f"{name}.csv"
    write_file(path, table.to_csv(index=False, lineterminator="\n").encode())
    return path


def has_table(folder: Path, name: str) -> bool:
    """Whether a folder holds a table of that name."""
    return (folder / f"{name}.csv").is_file()


def read_table(folder: Path, name: str) -> pd.DataFrame:
    """Read back one of the tables `COLUMNS_READ` that `save_table()` wrote.

    Raises
    ------
    DeermemEvalError
        It is not there, or lacks rows, columns or numbers.
    """
    path = folder / f"{name}.csv"
    if not path.is_file():
        raise DeermemEvalError(f"{path} is not there; run `deermem-eval notebooks` first")
    text, numeric = COLUMNS_READ[name]
    try:
        table = pd.read_csv(
            path, dtype={**dict.fromkeys(text, str), **dict.fromkeys(numeric, float)}
        )
        table = table.astype({column: int for column in numeric if column in COUNTS})
        if table.empty or table[list(text)].isna().any(axis=None):
            raise ValueError("rows or names are missing")
        if not np.isfinite(table[list(numeric)]).all(axis=None):
            raise ValueError("a number is missing")
        keys = [*text, *(column for column in numeric if column == "capacity")]
        if table.duplicated(keys).any():
            raise ValueError("a row stands twice")
    except (OSError, ValueError, KeyError) as error:
        raise DeermemEvalError(
            f"{path} is not the table that the notebooks write ({error}); run `deermem-eval "
            "notebooks` again"
        ) from error
    return table
