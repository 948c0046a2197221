"""Weight regions: where in the triangle of weights a policy retains the support fact, exactly.

A score is linear in the weights, so whether a fact outranks the support fact changes on a straight line.
The lines of a pool part the triangle into convex cells, and in each cell the support fact is kept, or it is
not. Corners are computed in rational numbers from the floats that the scores are made of; only lengths and
distances are floats again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deermem_eval.errors import DeermemEvalError
from deermem_eval.selection.batch import Booleans, Floats, PoolArrays
from deermem_eval.selection.polygons import (
    TRIANGLE,
    Line,
    Point,
    Polygon,
    centre_of,
    double_area,
    holds,
    intersection_of,
    split_along,
    value_at,
)

MARGIN_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Cell:
    """A convex part of the triangle of weights, and whether the support fact is kept there."""

    corners: Polygon
    retained: bool

    @property
    def share(self) -> float:
        """Share of the triangle's area, in [0, 1]."""
        return float(double_area(self.corners))


@dataclass(frozen=True)
class CaseRegions:
    """The cells of one pool at one capacity; they part the triangle.

    Attributes
    ----------
    case_id : str
    cells : tuple of Cell
    """

    case_id: str
    cells: tuple[Cell, ...]

    @property
    def share_retained(self) -> float:
        """Share of the triangle in which the support fact is kept, in [0, 1]."""
        return float(sum((double_area(c.corners) for c in self.cells if c.retained), Fraction(0)))


@dataclass(frozen=True)
class Overlay:
    """A convex part of the triangle, and how many cases are retained in it."""

    corners: Polygon
    retained: int

    @property
    def share(self) -> float:
        """Share of the triangle's area, in [0, 1]."""
        return float(double_area(self.corners))


@dataclass(frozen=True)
class Margin:
    """How far a triple lies from the first weights under which a case flips.

    Attributes
    ----------
    case_ids : tuple of str
        The cases that flip there, all within `MARGIN_TOLERANCE` of the nearest.
    distance : float
        Euclidean, in the three weights; infinite where nothing flips anywhere.
    direction : tuple of float
        What is to be added to confidence, confirmation and access weight; it sums to 0.
    """

    case_ids: tuple[str, ...]
    distance: float
    direction: tuple[float, float, float]

    def in_words(self) -> str:
        """Say the way: `confidence weight up by 0.02, access weight down by 0.02`."""
        if not math.isfinite(self.distance):
            return "no weights flip a case"
        names = ("confidence", "confirmation", "access")
        steps = [
            f"{name} weight {'up' if step > 0 else 'down'} by {abs(step):.3f}"
            for name, step in zip(names, self.direction, strict=True)
            if abs(step) >= 0.0005
        ]
        return ", ".join(steps) or "no step at all: the weights lie on a border"


def case_regions(
    arrays: PoolArrays,
    support: Booleans,
    case_ids: Sequence[str],
    capacity: int,
    *,
    correction_reserved_fraction: float = 0.10,
    correction_reserved_max: int = 10,
) -> tuple[CaseRegions, ...]:
    """Return the weight regions of every pool at a capacity.

    Parameters
    ----------
    arrays : PoolArrays
    support : array of bool, shape (pools, facts)
        Exactly one fact a pool.
    case_ids : sequence of str
        A name for each pool.
    capacity : int
    correction_reserved_fraction, correction_reserved_max
        As for `select_facts_for_capacity()`.

    Raises
    ------
    DeermemEvalError
        A pool has not exactly one support fact.
    """
    slots = min(correction_reserved_max, math.ceil(capacity * correction_reserved_fraction))
    known: dict[Any, tuple[Cell, ...]] = {}
    found = []
    for pool, case_id in enumerate(case_ids):
        if support[pool].sum() != 1:
            raise DeermemEvalError(
                f"case {case_id} has {support[pool].sum()} support facts; regions need exactly one"
            )
        rivals = _rivals(arrays, pool, int(np.flatnonzero(support[pool])[0]))
        key = (rivals, bool(arrays.is_correction[pool][support[pool]][0]))
        if key not in known:
            known[key] = _cells(rivals, is_correction=key[1], capacity=capacity, slots=slots)
        found.append(CaseRegions(case_id, known[key]))
    return tuple(found)


def overlay(regions: Sequence[CaseRegions]) -> tuple[Overlay, ...]:
    """Lay the regions of all cases over one another, and count the retained cases of each part.

    Returns
    -------
    tuple of Overlay
        Convex, parting the triangle; neighbours may have the same count.
    """
    parts: list[tuple[Polygon, int]] = [(TRIANGLE, 0)]
    times: dict[tuple[Cell, ...], int] = {}
    for case in regions:
        times[case.cells] = times.get(case.cells, 0) + 1
    for cells, count in times.items():
        parts = [
            (met, retained + count * cell.retained)
            for corners, retained in parts
            for cell in cells
            if (met := intersection_of(corners, cell.corners))
        ]
    return tuple(Overlay(corners, retained) for corners, retained in parts)


def margin(regions: Sequence[CaseRegions], weights: Sequence[float]) -> Margin:
    """Return the shortest way from a triple to weights under which a case flips.

    Parameters
    ----------
    regions : sequence of CaseRegions
    weights : sequence of float
        Confidence, confirmation and access weight.
    """
    ways = case_margins(regions, weights)
    nearest = min((way.distance for way in ways), default=math.inf)
    if not math.isfinite(nearest):
        return Margin((), math.inf, (0.0, 0.0, 0.0))
    first = [way for way in ways if way.distance <= nearest + MARGIN_TOLERANCE]
    ids = tuple(id_ for way in first for id_ in way.case_ids)
    return Margin(ids, nearest, first[0].direction)


def case_margins(regions: Sequence[CaseRegions], weights: Sequence[float]) -> tuple[Margin, ...]:
    """Return for each case the shortest way from a triple to weights under which it flips."""
    triple = np.asarray(weights, dtype=float)
    known: dict[tuple[Cell, ...], tuple[float, tuple[float, float, float]]] = {}
    found = []
    for case in regions:
        if case.cells not in known:
            known[case.cells] = _nearest_flip(case.cells, triple)
        distance, direction = known[case.cells]
        found.append(Margin((case.case_id,), distance, direction))
    return tuple(found)


def retained_at(case: CaseRegions, weights: Sequence[float]) -> bool:
    """Whether a case is retained at a triple, by the cell that holds it (on a border by either)."""
    point = _point(weights)
    return next(cell.retained for cell in case.cells if holds(cell.corners, point))


def _point(weights: Sequence[float] | Floats) -> Point:
    """Return where a triple lies in the triangle; its sum may be off 1 by a rounding error."""
    confidence, confirmation, access = (Fraction(float(weight)) for weight in weights)
    total = confidence + confirmation + access
    return confirmation / total, access / total


def _rivals(arrays: PoolArrays, pool: int, support: int) -> tuple[tuple[Line, bool, bool], ...]:
    """Return for every other fact its line, whether it wins a tie, and whether it is a correction."""
    own = [Fraction(float(value)) for value in arrays.components[pool, support]]
    rivals = []
    for i in np.flatnonzero(arrays.is_fact[pool]):
        if i == support:
            continue
        a, b, c = (
            Fraction(float(value)) - mine
            for value, mine in zip(arrays.components[pool, i], own, strict=True)
        )
        rivals.append(((a, b, c), bool(i < support), bool(arrays.is_correction[pool, i])))
    return tuple(rivals)


def _cells(
    rivals: Sequence[tuple[Line, bool, bool]], *, is_correction: bool, capacity: int, slots: int
) -> tuple[Cell, ...]:
    parts: list[Polygon] = [TRIANGLE]
    for line in dict.fromkeys(_direction(line) for line, _, _ in rivals):
        if line is not None:
            parts = [piece for part in parts for piece in split_along(part, line)]
    corrections = sum(rival[2] for rival in rivals) + is_correction
    cells = []
    for part in parts:
        inside = centre_of(part)
        ahead = [
            rival
            for rival in rivals
            if (value := value_at(rival[0], inside)) > 0 or (value == 0 and rival[1])
        ]
        before = sum(rival[2] for rival in ahead)
        is_reserved = is_correction and before < slots
        competing = len(ahead) - min(before, slots)
        free = capacity - min(slots, corrections)
        fits = len(rivals) + 1 <= capacity
        cells.append(Cell(part, bool(fits or is_reserved or competing < free)))
    return tuple(cells)


def _direction(line: Line) -> Line | None:
    """Return a line up to its length, so that equal ones are split along once; None if it is none."""
    a, b, c = line
    if a == b == c:  # the same everywhere on the triangle
        return None
    first = next(value for value in line if value)
    return (a / first, b / first, c / first)


def _nearest_flip(
    cells: Sequence[Cell], triple: Floats
) -> tuple[float, tuple[float, float, float]]:
    point = _point(triple)
    now = next((cell.retained for cell in cells if holds(cell.corners, point)), None)
    best, direction = math.inf, (0.0, 0.0, 0.0)
    for cell in cells:
        if cell.retained == now:
            continue
        corners = np.array([(1 - x - y, x, y) for x, y in cell.corners], dtype=float)
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            along = b - a
            t = float(np.clip((triple - a) @ along / (along @ along), 0, 1))
            step = a + t * along - triple
            distance = float(np.sqrt(step @ step))
            if distance < best:
                best, direction = distance, (float(step[0]), float(step[1]), float(step[2]))
    return best, direction


def margin_document(found: Margin) -> Mapping[str, Any]:
    """Return a margin as plain values, for JSON."""
    names = ("confidence", "confirmation", "access")
    return {
        "margin": found.distance if math.isfinite(found.distance) else None,
        "first_flips": list(found.case_ids),
        "direction": dict(zip(names, found.direction, strict=True)),
        "in_words": found.in_words(),
    }
