"""Stages: at which step an answer was lost, when its fact was evicted, or after it was kept."""

import pandas as pd

from deermem_eval.errors import DeermemEvalError
from deermem_eval.selection import with_overall

STAGES = ("right", "right_without_support", "kept_wrong", "kept_abstained", "support_gone")
"""What became of an answer.

`right`; `right_without_support` (the support fact was evicted, and the answer is right all the same);
`kept_wrong` and `kept_abstained` (the support fact was kept, and the model answered wrong or not at all);
`support_gone` (it was evicted, and no right answer came).
"""

ABSTENTION_RULES = ("insufficient", "empty-prediction")


def with_stage(graded: pd.DataFrame) -> pd.DataFrame:
    """Return graded rows with a column `stage`, one of `STAGES`."""
    return graded.assign(
        stage=[
            _stage(*row)
            for row in zip(
                graded["correct"], graded["support_retained"], graded["rule"], strict=True
            )
        ]
    )


def stages_by_scenario(graded: pd.DataFrame) -> pd.DataFrame:
    """Count answers by stage.

    Parameters
    ----------
    graded : DataFrame
        As `read_outcomes()` returns it.

    Returns
    -------
    DataFrame
        Columns `run`, `suite`, `scenario`, `policy`, `cases`, and a count for each of `STAGES`;
        they sum to `cases`.
    """
    return _count_stages(graded, ["run", "suite", "scenario", "policy"])


def stages_by_suite(graded: pd.DataFrame) -> pd.DataFrame:
    """Count answers by stage and suite (`official`, `synthetic`, `overall`).

    Columns as in `stages_by_scenario()`, without `scenario`.
    """
    return _count_stages(with_overall(graded), ["run", "suite", "policy"])


def discordant_cases(graded: pd.DataFrame, *, baseline: str, candidate: str) -> pd.DataFrame:
    """List the cases that exactly one of two policies answers right.

    Returns
    -------
    DataFrame
        Columns `run`, `suite`, `scenario`, `case_id`, `right_under` (a policy), `stage_baseline`,
        `rule_baseline`, `stage_candidate`, `rule_candidate`.

    Raises
    ------
    DeermemEvalError
        A policy is not among the rows.
    """
    staged = with_stage(graded)
    for policy in (baseline, candidate):
        if policy not in set(staged["policy"]):
            raise DeermemEvalError(f"policy {policy!r} is not among the graded rows; name another")
    keys = ["run", "suite", "scenario", "case_id"]
    values = ["correct", "stage", "rule"]
    sides = [
        staged[staged["policy"] == policy].set_index(keys)[values].add_suffix(suffix)
        for policy, suffix in ((baseline, "_baseline"), (candidate, "_candidate"))
    ]
    paired = sides[0].join(sides[1], how="inner").reset_index()
    differing = paired[paired["correct_baseline"] != paired["correct_candidate"]]
    right = differing["correct_baseline"].map({True: baseline, False: candidate})
    columns = ["stage_baseline", "rule_baseline", "stage_candidate", "rule_candidate"]
    return differing.assign(right_under=right)[[*keys, "right_under", *columns]].reset_index(
        drop=True
    )


def _count_stages(graded: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    staged = with_stage(graded)
    counts = staged.groupby([*keys, "stage"], sort=False).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(STAGES), fill_value=0).astype(int)
    counts = counts.loc[pd.MultiIndex.from_frame(graded[keys].drop_duplicates())]
    counts.insert(0, "cases", counts.sum(axis=1))
    return counts.reset_index().rename_axis(columns=None)


def _stage(correct: bool, support_retained: bool, rule: str) -> str:
    if correct:
        return "right" if support_retained else "right_without_support"
    if not support_retained:
        return "support_gone"
    return "kept_abstained" if rule in ABSTENTION_RULES else "kept_wrong"
