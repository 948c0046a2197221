"""Figures of weights and policies: each draws its table, computes nothing, says its message on top."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from deermem_eval.report.style import (
    ACCENT,
    COLUMN_INCHES,
    GREY,
    house_style,
    line_look,
    set_title,
)

MARK = "#d55e00"
DOT_ROW_INCHES = 0.085


def weight_triangle(
    parts: pd.DataFrame,
    *,
    weights: Sequence[float],
    direction: Sequence[float],
    distance: float,
    capacity: int,
) -> Figure:
    """Draw the triangle of weights, shaded by the number of cases retained, exactly.

    Parameters
    ----------
    parts : DataFrame
        As `region_parts()` returns it.
    weights : sequence of float
        The triple that is marked: confidence, confirmation, access.
    direction : sequence of float
        From there to the first weights under which a case flips.
    distance : float
        Length of that way; infinite where there is none.
    capacity : int
    """
    import mpltern  # noqa: F401 (registers the projection)

    most, fewest = int(parts["retained"].max()), int(parts["retained"].min())
    shades = colormaps["Blues"]
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 3.35))
        axis: Any = figure.add_subplot(projection="ternary")
        for _, part in parts.groupby("part"):
            retained = int(part["retained"].iloc[0])
            shade = shades(0.08 + 0.72 * (retained - fewest) / max(1, most - fewest))
            corners = [part[name].to_list() for name in ("confidence", "confirmation", "access")]
            axis.fill(*corners, facecolor=shade, edgecolor=shade, linewidth=0.3)
        axis.scatter(*([value] for value in weights), color=MARK, marker="o", s=5, zorder=3)
        if math.isfinite(distance):
            ends = [[value, value + step] for value, step in zip(weights, direction, strict=True)]
            axis.plot(*ends, color=MARK, linewidth=0.9, zorder=3)
            axis.plot(*_circle(weights, distance), color=MARK, linewidth=0.9, zorder=3)
        axis.set_tlabel("confidence")
        axis.set_llabel("confirmation")
        axis.set_rlabel("access")
        for side in (axis.taxis, axis.laxis, axis.raxis):
            side.set_label_position("tick1")
        counts = sorted(parts["retained"].unique())
        shown = counts if len(counts) <= 6 else [counts[0], counts[len(counts) // 2], counts[-1]]
        figure.legend(
            handles=[
                Patch(
                    facecolor=shades(0.08 + 0.72 * (count - fewest) / max(1, most - fewest)),
                    label=f"{count} retained",
                )
                for count in shown
            ],
            loc="outside lower center",
            ncols=3,
            frameon=False,
            handlelength=1.2,
        )
        share = parts[parts["retained"] == most].groupby("part")["share"].first().sum()
        flips = (
            f"a case flips {distance:.3f}" if math.isfinite(distance) else "none flips however far"
        )
        triple = " / ".join(f"{value:g}" for value in weights)
        set_title(
            figure,
            f"At capacity {capacity}, {share:.1%} of all weights retain {most} cases; {flips} away from {triple} (○)",
        )
    return figure


def _circle(weights: Sequence[float], radius: float) -> list[list[float]]:
    """Return the weights at a distance from a triple, within the plane of the triangle."""
    turns = [2 * math.pi * i / 90 for i in range(91)]
    a, b = radius / math.sqrt(2), radius / math.sqrt(6)
    return [
        [weights[0] + a * math.cos(t) + b * math.sin(t) for t in turns],
        [weights[1] - a * math.cos(t) + b * math.sin(t) for t in turns],
        [weights[2] - 2 * b * math.sin(t) for t in turns],
    ]


def margins_by_case(by_case: pd.DataFrame) -> Figure:
    """Draw how far the weights are from flipping each case, nearest first.

    Parameters
    ----------
    by_case : DataFrame
        Columns `case_id`, `scenario`, `margin` (infinite where no weights flip the case).
    """
    rows = by_case.sort_values(["margin", "scenario", "case_id"], ignore_index=True)
    finite = rows[rows["margin"].map(math.isfinite)]
    edge = 1.12 * finite["margin"].max() if len(finite) else 1.0
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 0.75 + DOT_ROW_INCHES * len(rows)))
        axis = figure.subplots()
        for y, row in enumerate(rows.to_dict("records")):
            is_finite = math.isfinite(row["margin"])
            x = row["margin"] if is_finite else edge
            axis.plot([0, x], [y, y], color="#dddddd", linewidth=0.5, zorder=0)
            axis.plot(
                x, y, marker="o" if is_finite else ">", color=ACCENT if is_finite else GREY, ms=2.6
            )
        labels = [f"{row['case_id']}  {row['scenario']}" for row in rows.to_dict("records")]
        axis.set_yticks(range(len(rows)), labels, fontsize=4)
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set_xlim(0, edge * 1.06)
        axis.set_xlabel("distance to the first weights that flip the case\n▸ no weights do")
        nearest = f"the nearest {finite['margin'].min():.3f} away" if len(finite) else "none near"
        set_title(figure, f"Weights can flip {len(finite)} of {len(rows)} cases, {nearest}")
    return figure


def policy_capacity_curves(curves: pd.DataFrame, *, capacity: int) -> Figure:
    """Draw what every policy retains against the capacity, the bound and chance included.

    Parameters
    ----------
    curves : DataFrame
        As `deermem_eval.selection.policy_curves()` returns it.
    capacity : int
        The capacity that the title speaks of.
    """
    overall = curves[curves["suite"] == "overall"]
    cases = int(overall["cases"].iloc[0])
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 3.3))
        axis = figure.subplots()
        policies = list(overall["policy"].unique())
        for policy, line in overall.groupby("policy", sort=False):
            name = str(policy)
            look = line_look(name, policies)
            axis.plot(line["capacity"], line["retained"], label=name, clip_on=False, **look)
        chance = overall[overall["expected"].notna()]
        axis.plot(
            chance["capacity"],
            chance["expected"],
            color="black",
            linewidth=0.6,
            linestyle=(0, (1, 2)),
            label="chance, on average",
        )
        axis.axvline(capacity, color="black", linewidth=0.5, linestyle=":", zorder=0)
        axis.set_ylim(0, cases)
        axis.set_xticks(sorted(overall["capacity"].unique()))
        axis.set_xlabel("capacity")
        axis.set_ylabel(f"support facts retained, of {cases}")
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=5.5)
        at = overall[overall["capacity"] == capacity].set_index("policy")["retained"]
        rivals = at.drop(["confidence", "hybrid-v1", "oracle"], errors="ignore")
        set_title(
            figure,
            f"At capacity {capacity}, hybrid-v1 retains {at['hybrid-v1']} of {cases}, the best other "
            f"policy ({rivals.idxmax()}) {rivals.max()}, confidence {at['confidence']}",
        )
    return figure


def half_life_sensitivity(counts: pd.DataFrame, *, published: Sequence[float]) -> Figure:
    """Draw retained support facts against each half-life, a line a capacity.

    Parameters
    ----------
    counts : DataFrame
        Columns `parameter`, `days`, `capacity`, `cases`, `retained`.
    published : sequence of float
        The protocol's half-lives, in the order of the parameters.
    """
    parameters = list(counts["parameter"].unique())
    cases = int(counts["cases"].iloc[0])
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 2.0))
        axes = figure.subplots(1, len(parameters), sharey=True, squeeze=False)[0]
        for axis, name, days in zip(axes, parameters, published, strict=True):
            of = counts[counts["parameter"] == name]
            for place, (_, line) in enumerate(of.groupby("capacity")):
                shade = colormaps["Blues"](0.45 + 0.25 * place)
                axis.plot(line["days"], line["retained"], color=shade, clip_on=False)
            ends = of[of["days"] == of["days"].max()]
            for retained, same in ends.groupby("retained"):
                at = ", ".join(map(str, same["capacity"]))
                axis.annotate(
                    f"at {at}",
                    (of["days"].max(), retained),
                    (3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=5.5,
                    annotation_clip=False,
                )
            axis.axvline(days, color="black", linewidth=0.5, linestyle=":")
            axis.set_xscale("log")
            axis.set_ylim(0, cases)
            axis.set_title(f"{name}, days", fontsize=6.5, fontweight="normal")
        axes[0].set_ylabel(f"retained, of {cases}")
        spans = [
            f"the {name} half-life changes "
            f"{int(of.groupby('capacity')['retained'].agg(lambda v: v.max() - v.min()).max())}"
            for name, of in counts.groupby("parameter", sort=False)
        ]
        set_title(figure, f"Of {cases} cases, {' and '.join(spans)} at most")
    return figure
