"""Figures of drift: each draws its table, computes nothing, and says its message on top."""

import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from deermem_eval.report.style import (
    ACCENT,
    COLUMN_INCHES,
    POLICY_COLOURS,
    POLICY_MARKERS,
    house_style,
    set_title,
)

AGREES = "#cce5f6"
ROW_INCHES = 0.2
CELL_HEIGHT = 0.78
CAUSE_CHARS = 15
MATRIX_ROW_INCHES = 0.115
CHANGED = {"request bytes": "requests", "kept sets": "kept sets"}


def protocol_drift(
    totals: pd.DataFrame,
    agreement: pd.DataFrame,
    accuracy: pd.DataFrame | None,
    *,
    causes: Mapping[str, str],
    steps: Mapping[str, str],
) -> Figure:
    """Draw runs side by side: the equal aggregate, then layer by layer the share that agrees.

    Parameters
    ----------
    totals : DataFrame
        As `totals_table()` returns it.
    agreement : DataFrame
        As `agreement_table()` returns it, of the same sides.
    accuracy : DataFrame or None
        As `accuracy_by_suite()` returns it, of the same names and of suite `overall`; None: nobody
        was asked.
    causes : mapping of str to str
        What each side does otherwise than the base, by name.
    steps : mapping of str to str
        The detail that parts first at a layer, by layer.
    """
    sides, base = list(totals["side"].unique()), agreement["base"].iloc[0]
    layers = [layer for layer in agreement["layer"].unique() if layer != "retention totals"]
    rows = len(totals["policy"].unique()) + len(layers)
    heights = [rows * ROW_INCHES + 0.5] + ([0.75] if accuracy is not None else [])
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, sum(heights) + 0.55))
        axes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        _draw_agreement(axes[0], totals, agreement, layers, causes, steps)
        if accuracy is not None:
            _draw_accuracies(axes[1], accuracy, sides)
        set_title(figure, _drift_message(totals, agreement, base))
    return figure


def who_sees_what(catalogue: pd.DataFrame, blind: pd.DataFrame) -> Figure:
    """Draw a matrix of variants and layers: which layer sees which changed detail.

    Parameters
    ----------
    catalogue, blind : DataFrame
        As `drift_catalogue()` and `blind_layers()` return them.
    """
    layers = list(blind["layer"])
    shown = catalogue.iloc[::-1]
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 1.35 + MATRIX_ROW_INCHES * len(shown)))
        axis = figure.subplots()
        for y, (_, row) in enumerate(shown.iterrows()):
            for x, layer in enumerate(layers):
                _draw_seen(axis, x, y, row[layer])
        axis.set_yticks(range(len(shown)), list(shown["says"]), fontsize=5)
        labels = [
            f"{row['layer']}\n"
            + (f"blind to {row['blind']}/{row['changing']}" if row["shown"] else "needs texts")
            for row in blind.to_dict("records")
        ]
        axis.set_xticks(range(len(layers)), labels, rotation=90, fontsize=5)
        axis.xaxis.tick_top()
        axis.tick_params(length=0)
        axis.set_xlim(-0.5, len(layers) - 0.5)
        axis.set_ylim(-0.5, len(shown) - 0.5)
        for spine in axis.spines.values():
            spine.set_visible(False)
        key = "■ rows, cases or records that differ   · none differs"
        if shown[layers].isna().any(axis=None):
            key += "\n▨ not computed without the texts"
        axis.set_xlabel(key, fontsize=5.5)
        first = blind.iloc[0]
        changed = "anything" if blind["shown"].all() else "pools, scores or decisions"
        set_title(
            figure,
            f"Of {first['changing']} details that change {changed}, the totals are blind to "
            f"{first['blind']}",
        )
    return figure


def change_flow(flow: pd.DataFrame, *, cause: str) -> Figure:
    """Draw the way of one change: a bar a step, as long as the share that differs.

    Parameters
    ----------
    flow : DataFrame
        As `flow_table()` returns it.
    cause : str
        What changes it, as the beginning of a sentence.
    """
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 0.5 + 0.34 * len(flow)))
        axis = figure.subplots()
        for y, row in enumerate(flow.to_dict("records")):
            share = row["differing"] / row["compared"]
            axis.text(0, y - 0.36, row["says"], va="center", fontsize=6)
            if row["step"] != "length":
                axis.barh(y, 1, height=0.34, color="#ececec")
                axis.barh(y, share, height=0.34, color=ACCENT)
                count = f"{row['differing']}/{row['compared']}"
                axis.text(1.02, y, count, va="center", fontweight="bold")
            if y:
                axis.annotate(
                    "",
                    (-0.03, y),
                    (-0.03, y - 1),
                    arrowprops={"arrowstyle": "->", "linewidth": 0.7, "shrinkA": 4, "shrinkB": 1},
                )
        axis.set_ylim(len(flow) - 0.6, -0.75)
        axis.set_xlim(-0.06, 1.16)
        axis.set_axis_off()
        lowest, totals = flow.iloc[-2], flow.iloc[-1]
        set_title(
            figure,
            f"{cause} changes {lowest['differing']} of {lowest['compared']} {CHANGED[lowest['step']]} "
            f"and {totals['differing']} of {totals['compared']} retention totals",
        )
    return figure


def _draw_agreement(
    axis: Axes,
    totals: pd.DataFrame,
    agreement: pd.DataFrame,
    layers: list[str],
    causes: Mapping[str, str],
    steps: Mapping[str, str],
) -> None:
    sides = list(totals["side"].unique())
    labels: list[str] = []
    for policy in totals["policy"].unique():
        for x, side in enumerate(sides):
            row = totals[(totals["side"] == side) & (totals["policy"] == policy)].iloc[0]
            share = row["retained"] / row["cases"]
            colour = POLICY_COLOURS.get(policy, ACCENT)
            text = f"{row['retained']}/{row['cases']}"
            _draw_cell(axis, x, len(labels), share, text, colour, light=False)
        labels.append(f"retained, {policy}")
    for layer in layers:
        for x, side in enumerate(sides):
            rows = agreement[(agreement["side"] == side) & (agreement["layer"] == layer)]
            if len(rows):
                row = rows.iloc[0]
                share = row["equal"] / row["compared"]
                text = f"{row['equal']}/{row['compared']}"
                _draw_cell(axis, x, len(labels), share, text, AGREES, light=True)
        if layer in steps:
            axis.text(len(sides), len(labels), f"◂ {steps[layer]}", va="center", fontsize=5.5)
        labels.append(layer)
    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(len(labels) - 0.5, -0.55)
    heads = [f"{side}\n{textwrap.fill(causes.get(side, ''), CAUSE_CHARS)}" for side in sides]
    axis.set_xticks([x + 0.5 for x in range(len(sides))], heads, fontsize=5, va="bottom")
    axis.xaxis.tick_top()
    axis.tick_params(length=0)
    axis.set_xlim(0, len(sides))
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.axhline(len(totals["policy"].unique()) - 0.5, color="black", linewidth=0.6)


def _draw_cell(
    axis: Axes, x: float, y: float, share: float, text: str, colour: str, *, light: bool
) -> None:
    left, width, low = x + 0.04, 0.92, y - CELL_HEIGHT / 2
    axis.add_patch(Rectangle((left, low), width, CELL_HEIGHT, facecolor="#f4f4f4"))
    axis.add_patch(Rectangle((left, low), width * share, CELL_HEIGHT, facecolor=colour))
    if light:
        axis.text(x + 0.5, y, text, ha="center", va="center")
    else:
        axis.text(left + 0.04, y, text, va="center", color="white", fontsize=6)


def _draw_accuracies(axis: Axes, accuracy: pd.DataFrame, sides: list[str]) -> None:
    policies = list(accuracy["policy"].unique())
    for x, side in enumerate(sides):
        for shift, policy in zip((0.12, 0.52), policies, strict=False):
            row = accuracy[(accuracy["run"] == side) & (accuracy["policy"] == policy)].iloc[0]
            colour = POLICY_COLOURS[policy]
            axis.plot([x + shift] * 2, [row["lower"], row["upper"]], color=colour)
            marker = POLICY_MARKERS[policy]
            axis.plot(x + shift, row["accuracy"], marker=marker, color=colour, markersize=4)
            axis.text(
                x + shift + 0.07,
                row["accuracy"],
                f"{row['correct']}/{row['cases']}",
                color=colour,
                va="center",
                fontsize=5.5,
            )
            if side == sides[-1]:
                axis.text(len(sides) + 0.09, row["accuracy"], policy, color=colour, va="center")
    axis.set_xlim(0, len(sides))
    axis.set_ylim(0, 1.05)
    axis.set_yticks([0, 0.5, 1])
    axis.set_xticks([])
    axis.set_ylabel("correct answers,\n95 % Wilson", fontsize=5.5)


def _draw_seen(axis: Axes, x: int, y: int, differing: Any) -> None:
    if pd.isna(differing):
        axis.add_patch(
            Rectangle(
                (x - 0.42, y - 0.42),
                0.84,
                0.84,
                facecolor="#f4f4f4",
                hatch="//////",
                edgecolor="#bbb",
            )
        )
    elif differing:
        axis.add_patch(Rectangle((x - 0.42, y - 0.42), 0.84, 0.84, facecolor=ACCENT))
        axis.text(
            x, y - 0.04, str(differing), ha="center", va="center", color="white", fontsize=3.8
        )
    else:
        axis.plot(x, y, marker=".", color="#999", markersize=1.5)


def _drift_message(totals: pd.DataFrame, agreement: pd.DataFrame, base: str) -> str:
    first = totals["side"].iloc[0]
    counts = " and ".join(
        f"{row['retained']}/{row['cases']}"
        for row in totals[totals["side"] == first].to_dict("records")
    )
    if totals.groupby("policy")["retained"].nunique().gt(1).any():
        return f"The totals {counts} of {first} are not those of every run"
    requests = agreement[(agreement["layer"] == "request bytes") & (agreement["side"] == first)]
    if requests.empty:
        return f"The totals {counts} are the same in every run; what lies beneath them is not"
    row = requests.iloc[0]
    return (
        f"The totals {counts} are the same in every run; {row['equal']} of {row['compared']} requests "
        f"of {first} are {base}'s"
    )
