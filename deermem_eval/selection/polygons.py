"""Convex polygons in the triangle of weights, in rational numbers."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

Point = tuple[Fraction, Fraction]
"""Confirmation and access weight; the confidence weight is what is left of 1."""
Polygon = tuple[Point, ...]
"""Corners of a convex polygon, in order."""
Line = tuple[Fraction, Fraction, Fraction]
"""Coefficients of confidence, confirmation and access weight; positive where another fact is ahead."""

TRIANGLE: Polygon = (
    (Fraction(0), Fraction(0)),
    (Fraction(1), Fraction(0)),
    (Fraction(0), Fraction(1)),
)


def value_at(line: Line, point: Point) -> Fraction:
    """Return a line's value at a point: how far another fact is ahead there."""
    a, b, c = line
    x, y = point
    return a * (1 - x - y) + b * x + c * y


def split_along(polygon: Polygon, line: Line) -> Iterator[Polygon]:
    """Yield the parts of a polygon on either side of a line, flat ones left out."""
    values = [value_at(line, corner) for corner in polygon]
    for sign in (1, -1):
        if part := _half_of(polygon, [sign * value for value in values]):
            yield part


def _half_of(polygon: Polygon, values: Sequence[Fraction]) -> Polygon:
    """Return the part of a polygon where values, given at its corners, are positive; empty if flat."""
    corners: list[Point] = []
    for i, corner in enumerate(polygon):
        value, following = values[i], values[(i + 1) % len(polygon)]
        if value >= 0:
            corners.append(corner)
        if value * following < 0:
            t = value / (value - following)
            x, y = polygon[(i + 1) % len(polygon)]
            corners.append((corner[0] + t * (x - corner[0]), corner[1] + t * (y - corner[1])))
    return tuple(corners) if len(corners) > 2 and double_area(corners) > 0 else ()


def intersection_of(a: Polygon, b: Polygon) -> Polygon:
    """Return what two convex polygons share; empty if that is flat."""
    met = a
    for i, (x0, y0) in enumerate(b):
        x1, y1 = b[(i + 1) % len(b)]
        values = [(x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) for x, y in met]
        if min(values) < 0:
            met = _half_of(met, values)
        if not met:
            return ()
    return met


def double_area(corners: Sequence[Point]) -> Fraction:
    """Return twice the area, which is the share of the triangle (whose area is one half)."""
    pairs = zip(corners, (*corners[1:], corners[0]), strict=True)
    return sum((x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs), Fraction(0))


def centre_of(corners: Polygon) -> Point:
    """Return a point inside a convex polygon."""
    count = len(corners)
    return (
        sum((x for x, _ in corners), Fraction(0)) / count,
        sum((y for _, y in corners), Fraction(0)) / count,
    )


def holds(corners: Polygon, point: Point) -> bool:
    """Whether a point lies in a convex polygon or on its border."""
    x, y = point
    return all(
        (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) >= 0
        for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True)
    )
