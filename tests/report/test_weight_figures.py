"""Figures of weights and policies: each draws its table, and says its number in the title."""

import math

import numpy as np
import pytest

from deermem_eval.report import (
    figure_title,
    half_life_sensitivity,
    margins_by_case,
    policy_capacity_curves,
    save_figure,
    weight_triangle,
)
from deermem_eval.selection import policy_curves, region_parts, region_study, sweep

PUBLISHED = (0.65, 0.25, 0.10)


@pytest.fixture(scope="module")
def study(historical, historical_cases):
    return region_study(historical_cases, historical.config, 7, PUBLISHED)


@pytest.fixture(scope="module")
def curves(historical, historical_cases):
    return policy_curves(historical_cases, historical.config)


def triangle(study, **changes):
    given = {
        "weights": PUBLISHED,
        "direction": study.margin.direction,
        "distance": study.margin.distance,
        "capacity": 7,
    }
    return weight_triangle(region_parts(study.parts), **(given | changes))


def test_the_triangle_says_share_and_margin(study):
    figure = triangle(study)
    assert figure_title(figure) == (
        "At capacity 7, 9.7% of all weights retain 45 cases; a case flips 0.025 away from "
        "0.65 / 0.25 / 0.1 (○)"
    )
    (axis,) = figure.axes
    assert len(axis.patches) == len(study.parts)
    assert "none flips however far" in figure_title(triangle(study, distance=math.inf))


def test_the_circle_is_where_the_margin_is(study):
    from deermem_eval.report.weight_figures import _circle

    ring = np.array(_circle(PUBLISHED, 0.2)).T
    assert np.allclose(ring.sum(axis=1), 1)
    assert np.allclose(np.linalg.norm(ring - np.array(PUBLISHED), axis=1), 0.2)


def test_the_parts_have_their_corners_in_the_triangle(study):
    parts = region_parts(study.parts)
    weights = parts[["confidence", "confirmation", "access"]]
    assert np.allclose(weights.sum(axis=1), 1)
    assert weights.ge(0).all(axis=None)
    assert parts.groupby("part")["corner"].max().ge(2).all()


def test_the_margins_are_sorted_and_all_there(study):
    figure = margins_by_case(study.by_case)
    (axis,) = figure.axes
    dots = [line for line in axis.lines if line.get_marker() in "o>"]
    assert len(dots) == 45
    places = [line.get_xdata()[0] for line in dots]
    assert places == sorted(places)
    assert figure_title(figure) == "Weights can flip 21 of 45 cases, the nearest 0.025 away"


def test_every_policy_has_its_curve(curves):
    figure = policy_capacity_curves(curves, capacity=7)
    (axis,) = figure.axes
    overall = curves[curves["suite"] == "overall"]
    for policy, line in overall.groupby("policy"):
        (drawn,) = [one for one in axis.lines if one.get_label() == policy]
        assert list(drawn.get_ydata()) == line["retained"].to_list()
    chance = overall[overall["policy"] == "random"]
    assert chance["expected"].to_list() == pytest.approx([4.5 * k for k in range(1, 11)])
    assert figure_title(figure) == (
        "At capacity 7, hybrid-v1 retains 45 of 45, the best other policy (forgetting-curve) 34, "
        "confidence 27"
    )


def test_half_lives_are_drawn_against_days(historical, historical_cases):
    swept = sweep(
        historical_cases,
        historical.config,
        capacities=[5, 7],
        parameters={"confirmation_half_life_days": [3, 90]},
    ).counts()
    table = swept.rename(columns={"confirmation_half_life_days": "days"})
    figure = half_life_sensitivity(table.assign(parameter="confirmation"), published=[90])
    assert figure_title(figure) == "Of 45 cases, the confirmation half-life changes 10 at most"
    assert len(figure.axes[0].lines) == 3


def test_the_same_table_gives_the_same_bytes(study, tmp_path):
    for folder in ("a", "b"):
        save_figure(triangle(study), tmp_path / folder, "triangle", "what it shows")
    for suffix in ("svg", "png"):
        a, b = (tmp_path / folder / f"triangle.{suffix}" for folder in "ab")
        assert a.read_bytes() == b.read_bytes()
