"""The figures of simulated lives draw their tables, and their words lie apart."""

import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from deermem_eval.report import (
    decision_map_figure,
    figure_title,
    needs_by_age,
    needs_by_capacity,
    tuned_weights,
)
from tests.report.test_figures import refuse_overlaps

PAIR = ("confidence", "hybrid-v1")


@pytest.fixture(scope="module", params=["pr4789", "locomo"])
def tables(root, request):
    folder = root / "results" / request.param
    shares = pd.read_csv(folder / "trace_shares.csv", keep_default_na=False)
    return {
        "shares": shares.astype({"share": float}),
        "cells": pd.read_csv(folder / "trace_decision_map.csv"),
        "ages": pd.read_csv(folder / "trace_ages.csv"),
        "tuning": pd.read_csv(folder / "trace_tuning.csv"),
    }


def test_needs_against_capacity(tables):
    shares = tables["shares"]
    figure = needs_by_capacity(shares, confidence="rho=0.3", recency="traced", capacity=100)
    refuse_overlaps(figure, "needs")
    (axis,) = figure.axes
    lines = {line.get_label(): list(line.get_ydata()) for line in axis.lines}
    for policy, of in shares[shares["confidence"].isin(["rho=0.3", ""])].groupby("policy"):
        assert lines[policy] == list(of["share"])
    assert all(len(shown) == 6 for name, shown in lines.items() if not name.startswith("_"))


def test_the_map_says_each_cell_and_marks_the_constructed_cases(tables):
    cells = tables["cells"]
    figure = decision_map_figure(cells, policies=PAIR, capacity=100, constructed=(0.18, 0.44))
    refuse_overlaps(figure, "map")
    (axis,) = figure.axes
    bold = {text.get_position(): text.get_fontweight() for text in axis.texts}
    said = {text.get_position(): text.get_text() for text in axis.texts}
    rhos, recencies = sorted(cells["rho"].unique()), sorted(cells["recency"].unique())
    for row in cells.to_dict("records"):
        place = (rhos.index(row["rho"]), recencies.index(row["recency"]))
        assert said[place] == f"{100 * row['difference']:+.1f}"
        assert (bold[place] == "bold") == (row["lower"] > 0 or row["upper"] < 0)
    assert sum(isinstance(patch, Rectangle) for patch in axis.patches) == len(cells)
    (mark,) = axis.lines
    assert [float(x) for (x,) in mark.get_data()] == pytest.approx([0.9, 1.76])
    better = int((cells["lower"] > 0).sum())
    assert f"hybrid-v1 is better in {better}" in figure_title(figure)


@pytest.mark.parametrize(
    ("constructed", "place"),
    [((-0.4, 1.0), [-0.5, 4.0]), ((0.0, 0.0), [0.0, 0.0]), ((1.0, 2.0), [5.0, 4.5])],
)
def test_what_lies_off_the_map_is_marked_at_its_edge(tables, constructed, place):
    figure = decision_map_figure(
        tables["cells"], policies=PAIR, capacity=100, constructed=constructed
    )
    (mark,) = figure.axes[0].lines
    assert [float(x) for (x,) in mark.get_data()] == place


def test_needs_by_the_age_of_the_fact(tables):
    ages = tables["ages"].groupby(["policy", "age"], as_index=False, sort=False)
    ages = ages[["needs", "met"]].sum()
    figure = needs_by_age(ages, capacity=100, confidence="rho=0.3")
    refuse_overlaps(figure, "ages")
    (axis,) = figure.axes
    lines = {line.get_label(): list(line.get_ydata()) for line in axis.lines}
    bins = [text.get_text().split("\n")[0] for text in axis.get_xticklabels()]
    assert bins == ["0-7", "7-30", "30-90", "90-180", "180-"]
    for policy, of_policy in ages.groupby("policy"):
        of = of_policy.set_index("age").loc[bins]
        assert lines[policy] == list(of["met"] / of["needs"])


def test_tuned_weights_life_by_life(tables):
    tuning = tables["tuning"]
    figure = tuned_weights(tuning, capacity=100)
    refuse_overlaps(figure, "tuning")
    panels = dict(iter(tuning.groupby("recency", sort=False)))
    assert list(panels) == ["traced", "0.5"]
    for axis, (recency, of) in zip(figure.axes, panels.items(), strict=True):
        drawn = [list(line.get_xdata()) for line in axis.lines]
        for name in ("share_confidence", "share_published", "share_tuned", "share_hindsight"):
            assert list(of[name]) in drawn
        gain = 100 * (of["share_tuned"] - of["share_published"]).mean()
        when = "as traced" if recency == "traced" else f"of recency {recency}"
        assert axis.get_title(loc="left") == f"needs {when}"
        assert f"{gain:+.1f} points (needs {when})" in figure_title(figure)
