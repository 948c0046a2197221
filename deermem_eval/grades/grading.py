"""Tables and published documents of a set of graded rows: accuracy, pairs, summary, statistics."""

from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd

from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades.statistics import (
    bootstrap_difference,
    mcnemar_p,
    paired_counts,
    smallest_attainable_p,
    wilson_interval,
)
from deermem_eval.protocol import ProtocolConfig
from deermem_eval.selection import SUITES, with_overall

PUBLISHED_SCHEMA_VERSION = 1


def accuracy_by_scenario(graded: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Return accuracy by run, suite, scenario and policy.

    Parameters
    ----------
    graded : DataFrame
        As `read_outcomes()` returns it.
    alpha : float
        1 - coverage of the Wilson interval.

    Returns
    -------
    DataFrame
        Columns `run`, `suite`, `scenario`, `policy`, `cases`, `correct`, `retained` (counts; of
        support facts), `accuracy`, `lower`, `upper` (in [0, 1]).
    """
    return _accuracy(graded, ["run", "suite", "scenario", "policy"], alpha)


def accuracy_by_suite(graded: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Return accuracy by run, suite (`official`, `synthetic`, `overall`) and policy.

    Columns as in `accuracy_by_scenario()`, without `scenario`.
    """
    return _accuracy(with_overall(graded), ["run", "suite", "policy"], alpha)


def paired_by_suite(
    graded: pd.DataFrame,
    config: ProtocolConfig,
    *,
    policies: Sequence[str] = ("confidence", "hybrid-v1"),
) -> pd.DataFrame:
    """Compare two policies on the same cases, by run and suite.

    Parameters
    ----------
    graded : DataFrame
        As `read_outcomes()` returns it.
    config : ProtocolConfig
        For seed, resamples and alpha.
    policies : sequence of str
        Baseline and candidate.

    Returns
    -------
    DataFrame
        Columns `run`, `suite`, `cases`, `both`, `baseline_only`, `candidate_only`, `neither`
        (counts of cases answered right), `p_value` (exact McNemar, two-sided),
        `smallest_attainable_p`, `difference` (candidate - baseline), `lower`, `upper` (pinned
        bootstrap).

    Raises
    ------
    DeermemEvalError
        A run lacks one of the policies.
    """
    pinned = config.statistics
    rows = []
    for (run, suite), group in with_overall(graded).groupby(["run", "suite"], sort=False):
        outcomes = group.pivot(index="case_id", columns="policy", values="correct").sort_index()
        for policy in policies:
            if policy not in outcomes:
                raise DeermemEvalError(
                    f"run {run} has no rows of policy {policy!r}, only of "
                    f"{', '.join(outcomes.columns)}"
                )
        baseline, candidate = (outcomes[policy].to_numpy(dtype=bool) for policy in policies)
        counts = paired_counts(baseline, candidate)
        interval = bootstrap_difference(
            baseline,
            candidate,
            seed=pinned.bootstrap_seed,
            iterations=pinned.bootstrap_iterations,
            alpha=pinned.alpha,
        )
        rows.append(
            {
                "run": run,
                "suite": suite,
                "cases": counts.cases,
                **asdict(counts),
                "p_value": mcnemar_p(counts),
                "smallest_attainable_p": smallest_attainable_p(counts.cases),
                "difference": interval.estimate,
                "lower": interval.lower,
                "upper": interval.upper,
            }
        )
    table = pd.DataFrame(rows)
    order = table["suite"].map(SUITES.index)
    runs = table["run"].map({run: place for place, run in enumerate(graded["run"].unique())})
    return (
        table.assign(_run=runs, _suite=order)
        .sort_values(["_run", "_suite"], ignore_index=True)
        .drop(columns=["_run", "_suite"])
    )


def summary_document(graded: pd.DataFrame, config: ProtocolConfig) -> dict[str, object]:
    """Return one run's `qa.summary.json` as published: accuracy by source, scenario and policy."""
    _require_one_run(graded)
    groups = graded.groupby(["source", "scenario", "policy"], sort=True)["correct"]
    return {
        "schema_version": PUBLISHED_SCHEMA_VERSION,
        "protocol_id": config.protocol_id,
        "grader_version": config.qa.grader_version,
        "qa_capacity": config.pool.qa_capacity,
        "groups": [
            {
                "source": source,
                "scenario": scenario,
                "policy": policy,
                "cases": len(correct),
                "correct": int(correct.sum()),
                "accuracy": int(correct.sum()) / len(correct),
            }
            for (source, scenario, policy), correct in groups
        ],
    }


def statistics_document(
    graded: pd.DataFrame,
    config: ProtocolConfig,
    *,
    policies: Sequence[str] = ("confidence", "hybrid-v1"),
) -> dict[str, object]:
    """Return one run's `qa.stats.json` as published: McNemar and bootstrap by suite."""
    _require_one_run(graded)
    pinned = config.statistics
    return {
        "schema_version": PUBLISHED_SCHEMA_VERSION,
        "protocol_id": config.protocol_id,
        "grader_version": config.qa.grader_version,
        "policies": list(policies),
        "suites": {
            row["suite"]: {
                "cases": row["cases"],
                "mcnemar": {
                    "both_correct": row["both"],
                    "both_wrong": row["neither"],
                    "only_first_correct": row["baseline_only"],
                    "only_second_correct": row["candidate_only"],
                    "p_value": row["p_value"],
                },
                "bootstrap": {
                    "alpha": pinned.alpha,
                    "iterations": pinned.bootstrap_iterations,
                    "seed": pinned.bootstrap_seed,
                    "mean_difference": row["difference"],
                    "lower": row["lower"],
                    "upper": row["upper"],
                },
            }
            for row in paired_by_suite(graded, config, policies=policies).to_dict("records")
        },
    }


def _accuracy(graded: pd.DataFrame, keys: list[str], alpha: float) -> pd.DataFrame:
    rows = []
    for key, group in graded.groupby(keys, sort=False):
        correct, cases = int(group["correct"].sum()), len(group)
        interval = wilson_interval(correct, cases, alpha=alpha)
        rows.append(
            {
                **dict(zip(keys, key, strict=True)),
                "cases": cases,
                "correct": correct,
                "retained": int(group["support_retained"].sum()),
                "accuracy": interval.estimate,
                "lower": interval.lower,
                "upper": interval.upper,
            }
        )
    return pd.DataFrame(rows)


def _require_one_run(graded: pd.DataFrame) -> None:
    runs = list(graded["run"].unique())
    if len(runs) != 1:
        raise DeermemEvalError(f"one run is needed, and these rows are of {', '.join(runs)}")
