"""How a simulated store is kept, and what is left to chance in it."""

from dataclasses import dataclass, field

import numpy as np

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import HybridParameters
from deermem_eval.traces.trace import Floats

CONFIRM_STREAM, LOT_STREAM, CONFIDENCE_STREAM, TIE_STREAM = range(4)


@dataclass(frozen=True)
class Setting:
    """How stores are kept.

    Attributes
    ----------
    policy : str
        One of `KEYS`, any policy by name, or `module:function`.
    capacity : int
        From 0.
    parameters : HybridParameters
        Half-lives and reserve of `hybrid-v1`.
    """

    policy: str
    capacity: int
    parameters: HybridParameters = field(default_factory=HybridParameters)

    def __post_init__(self) -> None:
        if type(self.capacity) is not int or self.capacity < 0:
            raise DeermemEvalError(
                f"capacity is {self.capacity!r}, and must be a whole number from 0"
            )


def chance(seed: int, stream: int, size: int) -> Floats:
    """Return numbers in [0, 1) of one of a seed's streams."""
    return np.random.default_rng([int(seed), stream]).random(size)
