"""Figures of pools and retention: each draws its table, computes nothing, and says its message on top."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from deermem_eval.report.style import (
    ACCENT,
    COLUMN_INCHES,
    COMPONENT_COLOURS,
    COMPONENT_HATCHES,
    POLICY_COLOURS,
    house_style,
    policy_look,
    set_title,
)

COMPONENT_LABELS = {
    "confidence": "confidence",
    "confirmationFreshness": "confirmation freshness",
    "accessHeat": "access heat",
}


def pool_anatomy(pool: pd.DataFrame) -> Figure:
    """Draw one pool under each policy: ten facts by rank, score by component, cut at the capacity.

    Parameters
    ----------
    pool : DataFrame
        As `pool_table()` returns it.
    """
    policies = list(pool["policy"].unique())
    with house_style():
        figure = Figure(figsize=(COLUMN_INCHES, 0.5 + 1.75 * len(policies)))
        axes = figure.subplots(len(policies), 1, sharex=True, squeeze=False)[:, 0]
        for axis, policy in zip(axes, policies, strict=True):
            _draw_pool(axis, pool[pool["policy"] == policy])
        axes[-1].set_xlabel("score")
        figure.legend(
            handles=[
                Patch(
                    facecolor=COMPONENT_COLOURS[component],
                    hatch=COMPONENT_HATCHES[component],
                    edgecolor="white",
                    linewidth=0,
                    label=label,
                )
                for component, label in COMPONENT_LABELS.items()
            ],
            loc="outside lower center",
            ncols=len(COMPONENT_LABELS),
            frameon=False,
            handlelength=1.2,
        )
        set_title(figure, f"Case {pool['case_id'].iloc[0]}, {_fates(pool)}")
    return figure


def retention_by_capacity(
    by_scenario: pd.DataFrame, by_suite: pd.DataFrame, *, capacity: int
) -> Figure:
    """Draw retained support facts against the capacity, a panel a scenario, a line a policy.

    Parameters
    ----------
    by_scenario, by_suite : DataFrame
        As `retention_by_scenario()` and `retention_by_suite()` return them.
    capacity : int
        The capacity that the title speaks of, marked in every panel; one of the tables'.
    """
    panels = [
        (scenario, by_scenario[by_scenario["scenario"] == scenario])
        for scenario in by_scenario["scenario"].unique()
    ]
    overall = by_suite[by_suite["suite"] == "overall"]
    panels.append(("overall", overall))
    with house_style():
        rows = -(-len(panels) // 2)
        figure = Figure(figsize=(COLUMN_INCHES, 0.45 + 1.15 * rows))
        axes = figure.subplots(rows, 2, sharex=True, squeeze=False).flatten()
        for axis, (name, table) in zip(axes, panels, strict=False):
            _draw_retention(axis, name, table)
            axis.axvline(capacity, color="black", linewidth=0.5, linestyle=":", zorder=0)
        for axis in axes[len(panels) :]:
            axis.remove()
        for axis in axes[len(panels) - 2 : len(panels)]:
            axis.set_xlabel("capacity")
        figure.supylabel("support facts retained", fontsize=6.5)
        if overall["policy"].nunique() <= len(POLICY_COLOURS) and _part_visibly(panels[0][1]):
            _label_lines(axes[0], panels[0][1])
        else:
            handles = [
                Line2D([], [], color=colour, marker=marker, label=name)
                for name in overall["policy"].unique()
                for colour, marker in [policy_look(name, list(overall["policy"].unique()))]
            ]
            figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
        set_title(figure, _retention_message(overall, capacity))
    return figure


def _draw_pool(axis: Axes, pool: pd.DataFrame) -> None:
    kept = pool["kept"].to_list()
    has_scores = pool["score"].notna().all()
    pool = pool.fillna({"score": 0.0, **dict.fromkeys(COMPONENT_LABELS, 0.0)})
    left = pd.Series(0.0, index=pool.index)
    for component in COMPONENT_LABELS:
        bars = axis.barh(
            pool["rank"],
            pool[component],
            left=left,
            height=0.78,
            color=COMPONENT_COLOURS[component],
            hatch=COMPONENT_HATCHES[component],
            edgecolor="white",
            linewidth=0,
        )
        for bar, is_kept in zip(bars, kept, strict=True):
            bar.set_alpha(1.0 if is_kept else 0.35)
            bar.set_visible(bar.get_width() > 0)
        left += pool[component]
    support = pool[pool["is_support"]].iloc[0]
    axis.text(
        support["score"] + 0.012,
        support["rank"],
        f"◂ support fact, {_fate(support)}",
        va="center",
        color=ACCENT if support["kept"] else "#a00000",
        fontweight="bold",
    )
    cut = sum(kept) + 0.5
    if not all(kept):
        axis.axhline(cut, color="black", linewidth=0.8, linestyle="--")
        is_above = support["rank"] != sum(kept)  # else the label would cover the support fact's
        axis.text(
            1.18,
            cut - 0.12 if is_above else cut + 0.12,
            f"capacity {sum(kept)}",
            ha="right",
            va="bottom" if is_above else "top",
        )
    axis.set_ylim(len(pool) + 0.6, 0.4)
    axis.set_yticks(pool["rank"])
    axis.set_xlim(0, 1.18)
    axis.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axis.set_ylabel("rank")
    title = str(pool["policy"].iloc[0])
    axis.set_title(title if has_scores else f"{title} (without scores)", fontweight="normal")


def _draw_retention(axis: Axes, name: str, table: pd.DataFrame) -> None:
    cases = int(table["cases"].iloc[0])
    policies = list(table["policy"].unique())
    for policy, line in table.groupby("policy", sort=False):
        colour, marker = policy_look(str(policy), policies)
        axis.plot(
            line["capacity"],
            line["retained"],
            color=colour,
            marker=marker,
            markersize=max(
                1.5, 4.5 - 2 * policies.index(policy)
            ),  # where lines coincide, both show
            clip_on=False,
        )
    axis.set_ylim(0, cases)
    axis.set_yticks([0, cases])
    axis.set_xticks(sorted(table["capacity"].unique()))
    axis.set_title(f"{name} (of {cases})", fontsize=6.5, fontweight="normal")


def _part_visibly(table: pd.DataFrame) -> bool:
    """Whether two lines leave room for a name between them somewhere."""
    lines = table.groupby("capacity")["retained"]
    return bool((lines.max() - lines.min()).max() > 0.5 * table["cases"].iloc[0])


def _label_lines(axis: Axes, table: pd.DataFrame) -> None:
    """Write each policy's name between the lines, at the capacity where they first part most."""
    wide = table.pivot(index="capacity", columns="policy", values="retained")
    gap = wide.max(axis=1) - wide.min(axis=1)
    place = int(gap.to_numpy().argmax())
    capacity = wide.index.to_numpy()[place]
    is_left = place < len(wide) / 2
    for policy, retained in wide.iloc[place].items():
        is_upper = retained == wide.iloc[place].max()
        axis.annotate(
            str(policy),
            (capacity, retained),
            xytext=(0, -3 if is_upper else 3),
            textcoords="offset points",
            ha="left" if is_left else "right",
            va="top" if is_upper else "bottom",
            color=policy_look(str(policy), list(wide.columns))[0],
            fontweight="bold",
        )


def _fate(support: pd.Series) -> str:
    if support["by_reserve"]:
        return "kept by the reserve"
    return "kept" if support["kept"] else "evicted"


def _fates(pool: pd.DataFrame) -> str:
    support = pool[pool["is_support"]]
    verbs = {True: "keeps", False: "evicts"}
    fates = [f"{row['policy']} {verbs[row['kept']]} it" for row in support.to_dict("records")]
    return f"the support fact at capacity {pool['capacity'].iloc[0]}: {', '.join(fates)}"


def _retention_message(overall: pd.DataFrame, capacity: int) -> str:
    rows = overall[overall["capacity"] == capacity].to_dict("records")
    counts = " and ".join(f"{row['policy']} retains {row['retained']}" for row in rows)
    return f"Overall at capacity {capacity}, {counts} of {rows[0]['cases']} support facts"
