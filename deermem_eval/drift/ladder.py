"""The ladder: two sides compared layer by layer, from the aggregate down to bytes, texts and grades."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from deermem_eval.drift.sides import LAYERS, Layer, Side
from deermem_eval.errors import DeermemEvalError

BY_MEMBERS: tuple[Layer, ...] = ("retention totals", "bank", "metadata", "scores")
"""Layers at which a key that only one side has is a difference; at the others it is no row to compare."""


@dataclass(frozen=True)
class Rung:
    """One layer of two sides.

    Attributes
    ----------
    layer : str
    equal, compared : int
        Cases, rows, records or totals.
    differences : tuple of (key, value of A, value of B)
        In the order of the keys; None for what a side has not.
    """

    layer: Layer
    equal: int
    compared: int
    differences: tuple[tuple[Hashable, Any, Any], ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


@dataclass(frozen=True)
class Ladder:
    """Two sides, compared.

    Attributes
    ----------
    a, b : Side
    rungs : tuple of Rung
        The layers that both sides show, from the aggregate down.
    notes : tuple of str
        What was left out, and why; how ids were matched.
    """

    a: Side
    b: Side
    rungs: tuple[Rung, ...]
    notes: tuple[str, ...]

    @property
    def is_identical(self) -> bool:
        """Whether no layer differs."""
        return all(rung.agrees for rung in self.rungs)

    @property
    def agrees_down_to(self) -> Layer | None:
        """The last layer, going down from the aggregate, before anything differs; None: no layer."""
        agreeing = None
        for rung in self.rungs:
            if not rung.agrees:
                break
            agreeing = rung.layer
        return agreeing

    @property
    def parts_at(self) -> Layer | None:
        """The first layer, going down, that differs; None: none does."""
        return next((rung.layer for rung in self.rungs if not rung.agrees), None)

    @property
    def verdict(self) -> str:
        """What came out, in one sentence."""
        if self.is_identical:
            return f"identical at all {len(self.rungs)} layers that both show"
        lowest = next(rung.layer for rung in reversed(self.rungs) if not rung.agrees)
        above = f"agree down to {self.agrees_down_to}" if self.agrees_down_to else "agree nowhere"
        return f"{above}, part at {self.parts_at}; the lowest layer that parts is {lowest}"

    def table(self) -> pd.DataFrame:
        """Return one row a layer: `layer`, `equal`, `compared`."""
        rows = [(rung.layer, rung.equal, rung.compared) for rung in self.rungs]
        return pd.DataFrame(rows, columns=["layer", "equal", "compared"])


def compare_sides(a: Side, b: Side) -> Ladder:
    """Compare two sides on all layers that both show.

    Raises
    ------
    DeermemEvalError
        They are at different capacities, or have no row or layer in common.
    """
    if a.capacity and b.capacity and a.capacity != b.capacity:
        raise DeermemEvalError(
            f"{a.name} is at capacity {a.capacity} and {b.name} at {b.capacity}; compare two of one "
            "capacity"
        )
    shared = [layer for layer in LAYERS if layer in a.layers and layer in b.layers]
    notes = [*a.notes, *(note for note in b.notes if note not in a.notes)]
    if "grade" in shared and a.grader != b.grader:
        shared.remove("grade")
        notes.append(
            f"grades are not compared: by {a.grader} in {a.name}, by {b.grader} in {b.name}"
        )
    if not shared:
        raise DeermemEvalError(
            f"{a.name} and {b.name} show no layer in common{': ' if notes else ''}{'; '.join(notes)}"
        )
    common, only_a, only_b = _rows(a, b)
    if not common:
        raise DeermemEvalError(
            f"{a.name} and {b.name} have no row in common; "
            + ("; ".join(notes) or "they are of different protocols")
        )
    for name, only in ((a.name, only_a), (b.name, only_b)):
        if only:
            count = "1 row is" if len(only) == 1 else f"{len(only)} rows are"
            notes.append(f"{count} only in {name} (first: {min(map(str, only))})")
    if a.protocol_id != b.protocol_id:
        notes.append(
            f"{a.name} is of protocol {a.protocol_id} and {b.name} of {b.protocol_id}; what both have "
            "is compared"
        )
    if a.id_scheme != b.id_scheme and a.id_scheme and b.id_scheme:
        notes.append(
            f"facts are matched by source record: ids are {a.id_scheme} in {a.name} and "
            f"{b.id_scheme} in {b.name}"
        )
    if only_a or only_b:
        shared = [layer for layer in shared if layer != "retention totals"]
        notes.append("totals of other rows are not compared")
    return Ladder(a, b, tuple(_rung(layer, a, b) for layer in shared), tuple(notes))


def first_differing_byte(a: bytes, b: bytes, around: int = 30) -> tuple[int, str, str]:
    """Return the place of the first byte at which two requests part, and what stands around it.

    Returns
    -------
    place : int
        From 0; the shorter one's length where it is the other's beginning.
    a, b : str
        The surroundings on either side, for a screen; never to be stored.
    """
    shorter = min(len(a), len(b))
    place = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    start = max(0, place - around)
    of_a, of_b = (part[start : place + around].decode("utf-8", "replace") for part in (a, b))
    return place, of_a, of_b


def _rows(a: Side, b: Side) -> tuple[set[Hashable], set[Hashable], set[Hashable]]:
    of_a, of_b = set(a.layers.get("retained flags", ())), set(b.layers.get("retained flags", ()))
    return of_a & of_b, of_a - of_b, of_b - of_a


def _rung(layer: Layer, a: Side, b: Side) -> Rung:
    of_a, of_b = a.layers[layer], b.layers[layer]
    if layer == "bank" and of_a.keys() != of_b.keys():  # else the places are compared
        of_a, of_b = (dict.fromkeys(side, True) for side in (of_a, of_b))
    keys = of_a.keys() | of_b.keys() if layer in BY_MEMBERS else of_a.keys() & of_b.keys()
    differences = tuple(
        (key, of_a.get(key), of_b.get(key))
        for key in sorted(keys, key=str)
        if _differs(of_a, of_b, key)
    )
    return Rung(layer, len(keys) - len(differences), len(keys), differences)


def _differs(a: Mapping[Hashable, Any], b: Mapping[Hashable, Any], key: Hashable) -> bool:
    return key not in a or key not in b or a[key] != b[key]
