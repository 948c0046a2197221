"""Figures of simulated lives: each draws its table, computes nothing, and says its message on top."""

import itertools
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from deermem_eval.report.style import (
    ACCENT,
    COLUMN_INCHES,
    GREY,
    house_style,
    line_look,
    set_title,
)
from deermem_eval.traces import BOUND
from deermem_eval.traces.findings import needs_when

MARK = "#d55e00"
STRONGEST = 0.25
"""Difference in shares from which a cell of the map is as dark as it gets."""
TUNING_LOOKS = {
    "share_confidence": ("confidence", GREY, "o"),
    "share_published": ("published weights", ACCENT, "s"),
    "share_tuned": ("tuned on the other lives", "#e69f00", "^"),
    "share_hindsight": ("best of this life, in hindsight", "#009e73", "D"),
}


def needs_by_capacity(
    by_setting: pd.DataFrame, *, confidence: str, recency: str, capacity: int
) -> Figure:
    """Draw the share of needs met against the capacity, a line a policy, below the bound.

    Parameters
    ----------
    by_setting : DataFrame
        As `deermem_eval.traces.shares_by_setting()` returns it.
    confidence, recency : str
        Which models are drawn.
    capacity : int
        The capacity that the title speaks of.
    """
    of = by_setting[by_setting["recency"] == recency]
    drawn = of[of["confidence"] == confidence]
    bound = of[of["policy"] == BOUND]
    policies = list(drawn["policy"].unique())
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 3.3))
        axis = figure.subplots()
        axis.plot(bound["capacity"], bound["share"], color="black", linewidth=0.8, label=BOUND)
        for policy in policies:
            line = drawn[drawn["policy"] == policy]
            axis.plot(
                line["capacity"],
                line["share"],
                label=policy,
                clip_on=False,
                **line_look(policy, policies),
            )
        axis.axvline(capacity, color="black", linewidth=0.5, linestyle=":", zorder=0)
        axis.set_ylim(0, 1)
        axis.set_xticks(sorted(drawn["capacity"].unique()))
        axis.set_xlabel("capacity")
        axis.set_ylabel(f"share of needs met, mean of {int(drawn['lives'].iloc[0])} lives")
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=5.5)
        at = drawn[drawn["capacity"] == capacity].set_index("policy")["share"]
        most = float(bound.loc[bound["capacity"] == capacity, "share"].iloc[0])
        named = [name for name in ("confidence", "hybrid-v1") if name in at]
        shares = ", ".join(f"{name} meets {at[name]:.0%}" for name in named or policies[:1])
        set_title(
            figure,
            f"At capacity {capacity}, with confidence {confidence}: {shares} of needs, the bound "
            f"is {most:.0%}",
        )
    return figure


def decision_map_figure(
    cells: pd.DataFrame,
    *,
    policies: Sequence[str],
    capacity: int,
    constructed: tuple[float, float],
) -> Figure:
    """Draw where a candidate beats a baseline, by what confidence knows and how recent needs are.

    Parameters
    ----------
    cells : DataFrame
        As `deermem_eval.traces.decision_map()` returns it.
    policies : sequence of str
        Baseline and candidate.
    capacity : int
    constructed : (float, float)
        Where the constructed cases stand, as `constructed_assumption()` returns it.
    """
    baseline, candidate = policies
    rhos, recencies = sorted(cells["rho"].unique()), sorted(cells["recency"].unique())
    shades = colormaps["PuOr"]
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 2.9))
        axis: Any = figure.subplots()
        for row in cells.to_dict("records"):
            x, y = rhos.index(row["rho"]), recencies.index(row["recency"])
            strength = max(-1.0, min(1.0, row["difference"] / STRONGEST))
            is_clear = row["lower"] > 0 or row["upper"] < 0
            axis.add_patch(
                Rectangle(
                    (x - 0.5, y - 0.5),
                    1,
                    1,
                    facecolor=shades(0.5 + 0.4 * strength),
                    edgecolor="white",
                    linewidth=0.8,
                )
            )
            axis.text(
                x,
                y,
                f"{100 * row['difference']:+.1f}",
                ha="center",
                va="center",
                fontweight="bold" if is_clear else "normal",
                color="black" if is_clear else "#555555",
            )
        axis.set_xlim(-0.5, len(rhos) - 0.5)
        axis.set_ylim(-0.5, len(recencies) - 0.5)
        axis.set_xticks(range(len(rhos)), [f"{rho:g}" for rho in rhos])
        axis.set_yticks(range(len(recencies)), [f"{recency:g}" for recency in recencies])
        axis.tick_params(length=0)
        axis.set_xlabel(
            "rho: how much confidence knows of what will be needed\n"
            f"points of needs met, {candidate} minus {baseline};\n"
            "bold: the interval excludes 0; ◇: the constructed cases,\n"
            "with how recent the last signal of what they ask for is"
        )
        axis.set_ylabel("lambda: how recent needs are")
        place = [
            _position(value, ticks)
            for value, ticks in zip(constructed, (rhos, recencies), strict=True)
        ]
        axis.plot(
            *([one] for one in place),
            marker="D",
            markersize=9,
            markerfacecolor="none",
            markeredgecolor=MARK,
            markeredgewidth=1.4,
            clip_on=False,
        )
        better = int((cells["lower"] > 0).sum())
        worse = int((cells["upper"] < 0).sum())
        set_title(
            figure,
            f"At capacity {capacity} {candidate} is better in {better}, worse in {worse} of "
            f"{len(cells)} settings, each over {int(cells['lives'].iloc[0])} lives",
        )
    return figure


def needs_by_age(ages: pd.DataFrame, *, capacity: int, confidence: str) -> Figure:
    """Draw the share of needs met against the age of their oldest fact, a line a policy.

    Parameters
    ----------
    ages : DataFrame
        Columns `policy`, `age`, `needs`, `met`.
    capacity : int
    confidence : str
    """
    policies = list(ages["policy"].unique())
    bins = list(dict.fromkeys(ages.sort_values("age")["age"]))
    bins.sort(key=lambda name: float(name.partition("-")[0]))
    counts = ages[ages["policy"] == policies[0]].set_index("age")["needs"]
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 2.6))
        axis = figure.subplots()
        for policy in policies:
            line = ages[ages["policy"] == policy].set_index("age").loc[bins]
            axis.plot(
                bins,
                line["met"] / line["needs"],
                marker="o",
                markersize=2.5,
                label=policy,
                clip_on=False,
                **line_look(policy, policies),
            )
        axis.set_ylim(0, 1)
        axis.set_xticks(range(len(bins)), [f"{name}\n({int(counts[name])})" for name in bins])
        axis.set_xlabel("age of the oldest fact in days (needs)")
        axis.set_ylabel("share of needs met")
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=5.5)
        rates = ages.assign(rate=ages["met"] / ages["needs"]).pivot(
            index="age", columns="policy", values="rate"
        )
        first, last = bins[0], bins[-1]
        named = [name for name in ("confidence", "hybrid-v1") if name in rates] or policies[:1]
        changes = " and ".join(
            f"{name} from {rates.loc[first, name]:.0%} to {rates.loc[last, name]:.0%}"
            for name in named
        )
        set_title(
            figure,
            f"From facts of {first} days to {last.rstrip('-')} days and more, {changes} of needs at "
            f"capacity {capacity}, confidence {confidence}",
        )
    return figure


def tuned_weights(tuning: pd.DataFrame, *, capacity: int) -> Figure:
    """Draw what weights tuned on all other lives are worth on each life, a panel a recency of needs.

    Parameters
    ----------
    tuning : DataFrame
        As `deermem_eval.traces.leave_one_life_out()` returns it, for one recency or several.
    capacity : int
    """
    panels = list(tuning.groupby("recency", sort=False))
    lives = list(tuning["life"].unique())
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 1.1 + 0.17 * len(lives)))
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (recency, of) in zip(axes, panels, strict=True):
            rows = range(len(of))
            spread = of[list(TUNING_LOOKS)]
            axis.hlines(
                rows, spread.min(axis=1), spread.max(axis=1), color="#cfcfcf", linewidth=0.8
            )
            for name, (label, colour, marker) in TUNING_LOOKS.items():
                axis.plot(
                    of[name],
                    rows,
                    linestyle="none",
                    marker=marker,
                    markersize=3.5,
                    markerfacecolor="none" if name == "share_hindsight" else colour,
                    markeredgecolor=colour,
                    label=label if axis is axes[0] else None,
                    clip_on=False,
                )
            axis.set_title(f"needs {needs_when(str(recency))}", fontweight="normal")
            axis.set_xlabel("share of needs met")
        axes[0].set_yticks(range(len(lives)), lives)
        axes[0].set_ylim(len(lives) - 0.5, -0.5)
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=5.5)
        gains = [
            f"{100 * (of['share_tuned'] - of['share_published']).mean():+.1f} points (needs {needs_when(str(recency))})"
            for recency, of in panels
        ]
        set_title(
            figure,
            f"At capacity {capacity}, weights tuned on the other lives meet {' and '.join(gains)} "
            "against the published ones",
        )
    return figure


def _position(value: float, ticks: Sequence[float]) -> float:
    """Return where a value stands on an axis of evenly spaced ticks, at most half a cell outside."""
    if value <= ticks[0]:
        return -0.5 if value < ticks[0] else 0.0
    for i, (low, high) in enumerate(itertools.pairwise(ticks)):
        if value <= high:
            return i + (value - low) / (high - low)
    return len(ticks) - 0.5
