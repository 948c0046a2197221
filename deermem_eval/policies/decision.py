"""What a policy decided about a store, with its parts made when they are first asked for."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deermem_eval.policies.scores import FactScore
from deermem_eval.policies.store_scores import ScoreColumns


@dataclass(frozen=True)
class EvictedFact:
    """A fact that the capacity removed, with its score if its policy has scores; no content."""

    fact_id: str
    category: str
    score: float | None
    components: dict[str, float]


@dataclass(frozen=True)
class Decision:
    """What a policy does with one store.

    Attributes
    ----------
    kept : list of dict
        The facts that stay, best score first; in input order where nothing had to go.
    evicted : list of EvictedFact
        The facts that go, lowest score first.
    scores : dict of str to FactScore
        By fact id. A fact without an id stands under `__missing_{index}`; the second and later
        facts with one id stand under `{id}__duplicate_{index}`; index is the place in the input.
    policy : str
    reserved_correction_slots : int
        Slots that corrections took from the reserve.
    """

    kept: list[dict[str, Any]]
    evicted: list[EvictedFact]
    scores: dict[str, FactScore]
    policy: str
    reserved_correction_slots: int = 0

    def __getattr__(self, name: str) -> Any:
        """Make `evicted` or `scores` of `_parts`, which `late_decision()` leaves, when first asked."""
        parts = self.__dict__.get("_parts")
        if parts is None or name not in ("evicted", "scores"):
            raise AttributeError(f"a decision has no {name}")
        with _collector_paused():
            made = self.__dict__[name] = getattr(parts, name)()
        return made


@dataclass(frozen=True)
class DecisionParts:
    """What `evicted` and `scores` are made of: for a large store, making them is half the work."""

    keys: list[str]
    stored_ids: list[str]
    categories: list[str]
    gone: list[int]
    columns: ScoreColumns

    def evicted(self) -> list[EvictedFact]:
        """Return the facts that go, lowest score first."""
        return [
            EvictedFact(
                self.stored_ids[i] or self.keys[i],
                self.categories[i],
                self.columns.values[i],
                components,
            )
            for i, components in zip(self.gone, self.columns.components_of(self.gone), strict=True)
        ]

    def scores(self) -> dict[str, FactScore]:
        """Return the score of every fact by its key."""
        return dict(zip(self.keys, self.columns.scores(), strict=True))


def late_decision(
    kept: list[dict[str, Any]], policy: str, reserved_correction_slots: int, parts: DecisionParts
) -> Decision:
    """Return a decision whose `evicted` and `scores` are made when first asked for."""
    decision = object.__new__(Decision)
    decision.__dict__.update(
        kept=kept,
        policy=policy,
        reserved_correction_slots=reserved_correction_slots,
        _parts=parts,
    )
    return decision


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Hold the garbage collector: it finds nothing among objects that are all returned."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
