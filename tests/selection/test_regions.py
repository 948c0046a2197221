"""Weight regions: exact, complete, and equal to what the selector decides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.selection import (
    PoolArrays,
    case_arrays,
    case_regions,
    margin,
    overlay,
    retained_at,
    retained_in_batch,
    simplex_grid,
)

PUBLISHED = (0.65, 0.25, 0.10)
BORDER = 1e-9


@pytest.fixture(scope="module")
def arrays(historical, historical_cases):
    return case_arrays(historical_cases, historical.config)


@pytest.fixture(scope="module")
def regions(arrays, historical_cases):
    ids = [case.case_id for case in historical_cases]
    return {capacity: case_regions(*arrays, ids, capacity) for capacity in (1, 5, 7, 9, 10)}


def is_away(arrays, support, grid):
    """Whether no fact of a pool ties with its support fact, shape (triples, pools)."""
    scores = np.einsum("pfc,wc->wpf", arrays.components, grid)
    own = (scores * support).sum(axis=2, keepdims=True)
    is_tie = (np.abs(scores - own) < BORDER) & arrays.is_fact & ~support
    return ~is_tie.any(axis=2)


@pytest.mark.parametrize("capacity", [1, 5, 7, 9, 10])
def test_away_from_the_borders_a_dense_grid_agrees(arrays, regions, capacity):
    grid = simplex_grid(0.04)
    retained = retained_in_batch(*arrays, grid, [capacity])[:, :, 0]
    away = is_away(*arrays, grid)
    assert away.mean() > 0.8
    for w, c in zip(*np.nonzero(away), strict=True):
        assert retained_at(regions[capacity][c], grid[w]) == retained[w, c], (grid[w], c)


@pytest.mark.parametrize("capacity", [1, 5, 7, 9, 10])
def test_cells_and_overlay_part_the_triangle(regions, capacity):
    for case in regions[capacity]:
        assert sum(cell.share for cell in case.cells) == pytest.approx(1, abs=1e-12)
    parts = overlay(regions[capacity])
    assert sum(part.share for part in parts) == pytest.approx(1, abs=1e-12)
    by_case = sum(case.share_retained for case in regions[capacity])
    assert sum(part.share * part.retained for part in parts) == pytest.approx(by_case)


def test_the_reserve_makes_corrections_independent_of_the_weights(regions, historical_cases):
    for case, of in zip(historical_cases, regions[7], strict=True):
        if case.scenario == "correction_reserve":
            assert of.share_retained == 1
    assert all(case.share_retained == 1 for case in regions[10])


def test_the_margin_of_the_published_weights(arrays, regions, historical_cases):
    found = margin(regions[7], PUBLISHED)
    assert found.distance == pytest.approx(0.0253, abs=5e-5)
    assert len(found.case_ids) == 7
    assert {case.scenario for case in historical_cases if case.case_id in found.case_ids} == {
        "access_help"
    }
    assert sum(found.direction) == pytest.approx(0)
    assert found.in_words() == (
        "confidence weight up by 0.012, confirmation weight up by 0.009, access weight down by 0.021"
    )
    ids = [case.case_id for case in historical_cases]
    places = [ids.index(id_) for id_ in found.case_ids]
    for share, retained in ((0.999, True), (1.001, False)):
        triple = np.add(PUBLISHED, share * np.array(found.direction))
        kept = retained_in_batch(*arrays, [triple], [7])[0, places, 0]
        assert (kept == retained).all()


def test_no_way_within_the_margin_flips_a_case(arrays, regions):
    found = margin(regions[7], PUBLISHED)
    turned = np.linspace(0, 2 * np.pi, 721)
    along = np.array([1, -1, 0]) / np.sqrt(2), np.array([1, 1, -2]) / np.sqrt(6)
    circle = np.outer(np.cos(turned), along[0]) + np.outer(np.sin(turned), along[1])
    retained = retained_in_batch(*arrays, PUBLISHED + 0.9999 * found.distance * circle, [7])
    assert retained.all()


components = st.lists(
    st.tuples(*(st.sampled_from((0.0, 0.1, 0.25, 0.5, 0.7, 0.75, 1.0)) for _ in range(3))),
    min_size=2,
    max_size=8,
)


@settings(max_examples=60)
@given(components, st.data())
def test_the_regions_of_any_pool_are_what_the_selector_decides(values, data):
    size = len(values)
    corrections = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    support, capacity = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size))
    reserve = {
        "correction_reserved_fraction": data.draw(st.sampled_from((0.0, 0.1, 0.5))),
        "correction_reserved_max": data.draw(st.integers(0, 3)),
    }
    made = PoolArrays(
        np.array([values], dtype=float), np.array([corrections]), np.ones((1, size), dtype=bool)
    )
    mask = np.zeros((1, size), dtype=bool)
    mask[0, support] = True
    (case,) = case_regions(made, mask, ["pool"], capacity, **reserve)
    grid = simplex_grid(0.125)
    retained = retained_in_batch(made, mask, grid, [capacity], **reserve)[:, 0, 0]
    for triple, kept, away in zip(grid, retained, is_away(made, mask, grid)[:, 0], strict=True):
        if away:
            assert retained_at(case, triple) == kept


def test_two_support_facts_have_no_region(arrays):
    made, support = arrays
    with pytest.raises(DeermemEvalError, match="case a has 10 support facts; regions need exactly"):
        case_regions(made, np.ones_like(support), ["a"], 7)


def test_a_case_that_never_flips_has_no_margin(regions):
    found = margin(regions[10], PUBLISHED)
    assert (found.case_ids, found.distance) == ((), float("inf"))
    assert found.in_words() == "no weights flip a case"
