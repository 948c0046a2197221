"""Figures of graded answers: each draws its table, computes nothing, and says its message on top."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from deermem_eval.report.style import (
    COLUMN_INCHES,
    STAGE_LOOKS,
    house_style,
    policy_look,
    set_title,
)

COUNT_COLUMNS = (16, 48)  # right of the axis, in points
FEW_POLICIES = 2
LABEL_ROOM = 0.34  # a policy's name beside its interval, in shares of cases
LABEL_LIFT = 2.2  # else above the scenario's first interval or below its second: times its height


def qa_accuracy(
    accuracy: pd.DataFrame, by_suite: pd.DataFrame, *, alpha: float, answered_by: str
) -> Figure:
    """Draw one run's accuracy by scenario with Wilson intervals, retention beside it.

    Parameters
    ----------
    accuracy, by_suite : DataFrame
        As `accuracy_by_scenario()` and `accuracy_by_suite()` return them, of one run.
    alpha : float
        The alpha of the table's intervals, for the label.
    answered_by : str
        Who has answered, for the title.
    """
    scenarios = list(accuracy["scenario"].unique())
    policies = list(accuracy["policy"].unique())
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 0.9 + 0.22 * _lines(policies) * len(scenarios)))
        axis = figure.subplots()
        for place, scenario in enumerate(scenarios):
            for shift, policy in zip(_shifts(policies, 0.34), policies, strict=True):
                row = accuracy[
                    (accuracy["scenario"] == scenario) & (accuracy["policy"] == policy)
                ].iloc[0]
                look = policy_look(policy, policies)
                _draw_accuracy(axis, place + shift, row, look)
                if place == 0 and len(policies) <= FEW_POLICIES:
                    _label_interval(axis, shift, row, look[0])
        if len(policies) > FEW_POLICIES:
            looks = {policy: policy_look(policy, policies) for policy in policies}
            handles = [
                Line2D([], [], color=colour, marker=marker, label=policy)
                for policy, (colour, marker) in looks.items()
            ]
            figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
        axis.set_yticks(range(len(scenarios)), [name.replace("_", "\n") for name in scenarios])
        axis.set_ylim(len(scenarios) - 0.5, -0.62)
        axis.set_xlim(-0.03, 1.03)
        axis.set_xlabel(
            f"share of cases; ● ■ correct answers with {1 - alpha:.0%} Wilson interval,\n"
            "❘ support facts retained"
        )
        for x, head in zip(COUNT_COLUMNS, ("correct", "retained"), strict=True):
            _beside(axis, x, -0.55, head, fontweight="bold")
        set_title(figure, _accuracy_message(by_suite[by_suite["suite"] == "overall"], answered_by))
    return figure


def answer_stages(stages: pd.DataFrame, by_suite: pd.DataFrame, *, answered_by: str) -> Figure:
    """Draw what became of every answer of one run, a bar a scenario and policy.

    Parameters
    ----------
    stages, by_suite : DataFrame
        As `stages_by_scenario()` and `stages_by_suite()` return them, of one run.
    answered_by : str
        Who has answered, for the title.
    """
    scenarios = list(stages["scenario"].unique())
    policies = list(stages["policy"].unique())
    shown = [stage for stage in STAGE_LOOKS if stages[stage].any()]
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 1.0 + 0.18 * _lines(policies) * len(scenarios)))
        axis = figure.subplots()
        for place, scenario in enumerate(scenarios):
            for shift, policy in zip(_shifts(policies, 0.4), policies, strict=True):
                rows = stages[(stages["scenario"] == scenario) & (stages["policy"] == policy)]
                _draw_stages(
                    axis, place + shift, rows.iloc[0], shown, height=0.68 / _lines(policies)
                )
                colour, _ = policy_look(policy, policies)
                _beside(axis, 4, place + shift, policy, ha="left", color=colour)
        axis.set_yticks(range(len(scenarios)), [name.replace("_", "\n") for name in scenarios])
        axis.set_ylim(len(scenarios) - 0.5, -0.5)
        axis.set_xlim(0, stages["cases"].max())
        axis.set_xlabel("cases")
        axis.tick_params(axis="y", length=0)
        figure.legend(
            handles=[
                Patch(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0, label=label)
                for label, colour, hatch in (STAGE_LOOKS[stage] for stage in shown)
            ],
            loc="outside lower center",
            ncols=2,
            frameon=False,
            handlelength=1.2,
        )
        set_title(figure, _stages_message(by_suite[by_suite["suite"] == "overall"], answered_by))
    return figure


def _lines(policies: Sequence[str]) -> int:
    """Return for how many lines a scenario has room: two at least."""
    return max(FEW_POLICIES, len(policies))


def _shifts(policies: Sequence[str], of_two: float) -> list[float]:
    """Return each policy's height around its scenario's; two of them are `of_two` apart."""
    gap = of_two * FEW_POLICIES / _lines(policies)
    return [(place - (len(policies) - 1) / 2) * gap for place in range(len(policies))]


def _draw_stages(axis: Axes, y: float, row: pd.Series, shown: list[str], *, height: float) -> None:
    left = 0
    for stage in shown:
        count = row[stage]
        _, colour, hatch = STAGE_LOOKS[stage]
        if not count:
            continue
        axis.barh(
            y,
            count,
            left=left,
            height=height,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.5,
        )
        axis.text(
            left + count / 2,
            y,
            str(count),
            ha="center",
            va="center",
            bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.6},
        )
        left += count


def _draw_accuracy(axis: Axes, y: float, row: pd.Series, look: tuple[str, str]) -> None:
    colour, marker = look
    axis.plot([row["lower"], row["upper"]], [y, y], color=colour, linewidth=1.4)
    axis.plot(row["accuracy"], y, marker=marker, color=colour, markersize=4.5, clip_on=False)
    axis.plot(
        row["retained"] / row["cases"],
        y,
        marker="|",
        color="black",
        markersize=7,
        markeredgewidth=1.1,
        clip_on=False,
    )
    for x, count in zip(COUNT_COLUMNS, (row["correct"], row["retained"]), strict=True):
        _beside(axis, x, y, f"{count}/{row['cases']}", color=colour)


def _label_interval(axis: Axes, y: float, row: pd.Series, colour: str) -> None:
    """Write a policy's name beside its interval, where there is room."""
    x, height, side = (row["lower"] + row["upper"]) / 2, y * LABEL_LIFT, "center"
    if row["upper"] < 1 - LABEL_ROOM:
        x, height, side = row["upper"] + 0.02, y, "left"
    elif row["lower"] > LABEL_ROOM:
        x, height, side = row["lower"] - 0.02, y, "right"
    axis.text(
        x,
        height,
        row["policy"],
        va="center",
        ha=side,
        color=colour,
        fontweight="bold",
    )


def _beside(axis: Axes, points: float, y: float, text: str, **style: Any) -> None:
    """Write right of an axis, so many points away, at a height in its data."""
    axis.annotate(
        text,
        (1, y),
        xycoords=("axes fraction", "data"),
        xytext=(points, 0),
        textcoords="offset points",
        va="center",
        annotation_clip=False,
        **{"ha": "center", **style},
    )


def _accuracy_message(overall: pd.DataFrame, answered_by: str) -> str:
    rows = overall.to_dict("records")
    counts = " and ".join(f"{row['policy']} gives {row['correct']}" for row in rows)
    return (
        f"{rows[0]['run']}, answered by {answered_by}: overall, {counts} correct answers of "
        f"{rows[0]['cases']}"
    )


def _stages_message(overall: pd.DataFrame, answered_by: str) -> str:
    rows = overall.to_dict("records")
    costs = " and ".join(f"{row['policy']} {row['support_gone']}" for row in rows)
    return (
        f"{rows[0]['run']}, answered by {answered_by}: of {rows[0]['cases']} answers each, eviction "
        f"costs {costs}"
    )
