"""Noise: how often the same request gets another answer, and which differences exceed that.

Requests with the same bytes, under both policies of a run or in two runs, are natural repeats of one
question. What differs between them is the model's noise; only more than that is drift.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from math import comb
from typing import Any

import pandas as pd

REPEATED = {"answer text": "same_text", "grade": "same_grade"}
COMPARED = {"answer text": "answer_sha256", "grade": "correct"}
REPEAT_COLUMNS = ("run_a", "run_b", "case_id", "request_fingerprint", "same_text", "same_grade")


def natural_repeats(graded: pd.DataFrame) -> pd.DataFrame:
    """Return every pair of rows that answer the same request.

    Within a run these are the two policies of a case that kept the same facts; between two runs,
    the rows of one case and policy.

    Parameters
    ----------
    graded : DataFrame
        Columns `run`, `case_id`, `policy`, `request_fingerprint`, `answer_sha256`, `correct` (missing
        where there are no grades), of one run or of several; that of
        `deermem_eval.grades.read_outcomes()` will do.

    Returns
    -------
    DataFrame
        Columns `REPEAT_COLUMNS`; `run_a` equals `run_b` for a pair of one run.
    """
    rows = []
    of_runs = [part for _, part in graded.groupby("run", sort=False)]
    for part in of_runs:
        for _, of_case in part.groupby("case_id", sort=False):
            rows += _repeats(combinations(of_case.to_dict("records"), 2))
    for a, b in combinations(of_runs, 2):
        of_b = {(row["case_id"], row["policy"]): row for row in b.to_dict("records")}
        pairs = (
            (row, of_b[row["case_id"], row["policy"]])
            for row in a.to_dict("records")
            if (row["case_id"], row["policy"]) in of_b
        )
        rows += _repeats(pairs)
    return pd.DataFrame(rows, columns=list(REPEAT_COLUMNS))


def noise_floor(repeats: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Count how often repeats differ in text and in grade.

    Parameters
    ----------
    repeats : DataFrame
        As `natural_repeats()` returns it.
    alpha : float
        1 - coverage of the exact (Clopper-Pearson) interval.

    Returns
    -------
    DataFrame
        Columns `between` (`the policies of one run` or `two runs`), `layer` (`answer text`,
        `grade`), `pairs`, `differing`, `share`, `lower`, `upper`; what has no pairs, or no grades,
        is left out.
    """
    within = repeats["run_a"] == repeats["run_b"]
    rows = []
    for between, part in (
        ("the policies of one run", repeats[within]),
        ("two runs", repeats[~within]),
    ):
        if part.empty:
            continue
        for layer, column in REPEATED.items():
            if part[column].isna().any():
                continue
            differing, pairs = int((~part[column].astype(bool)).sum()), len(part)
            interval = exact_interval(differing, pairs, alpha=alpha)
            rows.append((between, layer, pairs, differing, differing / pairs, *interval))
    columns = ["between", "layer", "pairs", "differing", "share", "lower", "upper"]
    return pd.DataFrame(rows, columns=columns)


def against_the_floor(
    graded: pd.DataFrame, repeats: pd.DataFrame, *, alpha: float = 0.05
) -> pd.DataFrame:
    """Set the differences between each two runs against the noise of natural repeats.

    Only rows whose requests differ are set against it: the others are repeats themselves.

    Parameters
    ----------
    graded : DataFrame
        As `natural_repeats()` takes it, of two runs or more.
    repeats : DataFrame
        What `natural_repeats()` returns, of these runs or of more: the floor is counted over all
        of its pairs.
    alpha : float

    Returns
    -------
    DataFrame
        Columns `run_a`, `run_b`, `layer`, `rows` (those whose requests differ), `differing`,
        `floor_pairs`, `floor_differing`, `p_value` (one-sided, exact: that so many more differ, if
        both were noise) and `is_drift` (`p_value` below `alpha`). A layer that one side lacks is
        left out.
    """
    rows = []
    of_runs = {run: part.set_index(["case_id", "policy"]) for run, part in graded.groupby("run")}
    for run_a, run_b in combinations(graded["run"].unique(), 2):
        a, b = of_runs[run_a].align(of_runs[run_b], join="inner", axis=0)
        other = (a["request_fingerprint"] != b["request_fingerprint"]).to_numpy()
        for layer, column in COMPARED.items():
            if a[column].isna().any() or b[column].isna().any():
                continue
            differs = (a[column] != b[column]).to_numpy()
            differing, compared = int((differs & other).sum()), int(other.sum())
            measured = repeats[REPEATED[layer]].dropna()
            floor, pairs = int((~measured.astype(bool)).sum()), len(measured)
            p = exceeds_by_chance(differing, compared, floor, pairs)
            rows.append((run_a, run_b, layer, compared, differing, pairs, floor, p, p < alpha))
    columns = ["run_a", "run_b", "layer", "rows", "differing", "floor_pairs", "floor_differing"]
    return pd.DataFrame(rows, columns=[*columns, "p_value", "is_drift"])


def exact_interval(count: int, of: int, *, alpha: float = 0.05) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share."""
    from statsmodels.stats.proportion import proportion_confint

    lower, upper = proportion_confint(count, of, alpha=alpha, method="beta")
    return float(lower), float(upper)


def exceeds_by_chance(differing: int, compared: int, floor: int, pairs: int) -> float:
    """Return Fisher's exact one-sided p: so many of `compared` or more, given all that differ.

    1.0 where there is nothing to compare with. In whole numbers until the last division.
    """
    if not pairs or not compared:
        return 1.0
    both, every = differing + floor, compared + pairs
    ways = sum(
        comb(compared, k) * comb(pairs, both - k)
        for k in range(differing, min(compared, both) + 1)
        if both - k <= pairs
    )
    return ways / comb(every, both)


def _repeats(pairs: Iterable[Sequence[dict[Hashable, Any]]]) -> list[tuple[object, ...]]:
    return [
        (
            a["run"],
            b["run"],
            a["case_id"],
            a["request_fingerprint"],
            a["answer_sha256"] == b["answer_sha256"],
            None
            if pd.isna(a["correct"]) or pd.isna(b["correct"])
            else a["correct"] == b["correct"],
        )
        for a, b in pairs
        if a["request_fingerprint"] == b["request_fingerprint"]
    ]
