"""Figures of a real store: each draws its table, computes nothing, and says its message on top."""

import pandas as pd
from matplotlib.figure import Figure

from deermem_eval.errors import DeermemEvalError
from deermem_eval.report.style import (
    ACCENT,
    COLUMN_INCHES,
    COMPONENT_COLOURS,
    GREY,
    house_style,
    set_title,
)

PARTS = {
    "confidence": COMPONENT_COLOURS["confidence"],
    "confirmation": COMPONENT_COLOURS["confirmationFreshness"],
    "access": COMPONENT_COLOURS["accessHeat"],
}
AGREEMENTS = {
    "kept_by_both": ("kept by both", "#cfcfcf", ""),
    "only_baseline": ("only by {baseline}", GREY, "////"),
    "only_candidate": ("only by {candidate}", ACCENT, ""),
    "kept_by_none": ("evicted by both", "#f4f4f4", "...."),
}


def fact_timeline(timeline: pd.DataFrame) -> Figure:
    """Draw one fact's score from day to day, by component, with what happened to it.

    Parameters
    ----------
    timeline : DataFrame
        As `deermem_eval.memory.score_timeline()` returns it.
    """
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 2.4))
        axis = figure.subplots()
        axis.stackplot(
            timeline["day"],
            *(timeline[name] for name in PARTS),
            colors=list(PARTS.values()),
            labels=list(PARTS),
            linewidth=0,
        )
        for row in timeline[timeline["event"] != ""].to_dict("records"):
            axis.axvline(row["day"], ymax=0.86, color="black", linewidth=0.5, linestyle=":")
            axis.text(row["day"], 0.9, f" {row['event']}", rotation=60, fontsize=5.5, va="bottom")
        axis.set_ylim(0, 1.05)
        axis.set_xlim(0, timeline["day"].max())
        axis.set_xlabel("days since the fact was created")
        axis.set_ylabel("score")
        figure.legend(loc="outside lower center", ncols=3, frameon=False, handlelength=1.2)
        best = timeline.sort_values("score", kind="stable").iloc[-1]
        last = timeline.iloc[-1]
        set_title(
            figure,
            f"The score is highest on day {best['day']}, {best['score']:.2f}, and "
            f"{last['score']:.2f} on day {last['day']}",
        )
    return figure


def audit_overview(table: pd.DataFrame) -> Figure:
    """Draw what the two policies agree on in each store, a bar a store and capacity.

    Parameters
    ----------
    table : DataFrame
        As `deermem_eval.memory.audit_table()` returns it.

    Raises
    ------
    DeermemEvalError
        There is no store in it.
    """
    if table.empty:
        raise DeermemEvalError("there is no store to draw; name a DeerMem folder that holds facts")
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 0.9 + 0.2 * len(table)))
        axis = figure.subplots()
        left = pd.Series(0, index=table.index)
        of = {"baseline": table["baseline"].iloc[0], "candidate": table["candidate"].iloc[0]}
        for name, (label, colour, hatch) in AGREEMENTS.items():
            shares = table[name] / table["facts"].clip(lower=1)
            axis.barh(
                range(len(table)),
                shares,
                left=left,
                height=0.72,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                linewidth=0,
                label=label.format(**of),
            )
            for y, (share, start, count) in enumerate(zip(shares, left, table[name], strict=True)):
                if share > 0.08:
                    axis.text(
                        start + share / 2,
                        y,
                        str(count),
                        ha="center",
                        va="center",
                        fontsize=5.5,
                        bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.5},
                    )
            left = left + shares
        names = [
            f"{row['user'] or '-'}/{row['agent'] or '-'} at {row['capacity']} of {row['facts']}"
            for row in table.to_dict("records")
        ]
        axis.set_yticks(range(len(table)), names, fontsize=5.5)
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(len(table) - 0.4, -0.6)
        axis.set_xlim(0, 1)
        axis.set_xlabel("share of the store's facts")
        figure.legend(loc="outside lower center", ncols=2, frameon=False, handlelength=1.2)
        differing = int((table["only_baseline"] + table["only_candidate"]).gt(0).sum())
        lost = int(table["corrections_lost_by_baseline"].sum())
        spared = int(table["corrections_lost_by_candidate"].sum())
        set_title(
            figure,
            f"The policies differ at {differing} of {len(table)} stores and capacities; "
            f"{of['baseline']} loses {lost} corrections there, {of['candidate']} {spared}",
        )
    return figure
