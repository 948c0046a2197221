"""A grade: whether a prediction is right, and the rule that decided it."""

from dataclasses import dataclass

from deermem_eval.errors import DeermemEvalError


@dataclass(frozen=True)
class Grade:
    """What a grader says of one prediction.

    Attributes
    ----------
    correct : bool
    rule : str
        The rule that decided; each grader lists its own.
    """

    correct: bool
    rule: str


class UngradableReferenceError(DeermemEvalError):
    """A reference in which a grader finds nothing to compare with."""
