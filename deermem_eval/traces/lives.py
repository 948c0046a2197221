"""Lives: what was said, noted and asked, with its texts, before any model of signals makes a trace of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    """Something said.

    Attributes
    ----------
    seconds : float
        Since 1970.
    text : str
    role : str
        `human` or `ai`.
    """

    seconds: float
    text: str
    role: str = "human"


@dataclass(frozen=True)
class Noted:
    """A fact taken from a turn.

    Attributes
    ----------
    fact_id, text, category : str
    turn : int
        Index of the turn that it was taken from.
    """

    fact_id: str
    text: str
    category: str
    turn: int


@dataclass(frozen=True)
class Question:
    """A question with what it rests on.

    Attributes
    ----------
    kind : str
    facts : tuple of int
        Indices of facts, at least one.
    turn : int or None
        Index of the turn before which it is asked; None: at the end of the life.
    """

    kind: str
    facts: tuple[int, ...]
    turn: int | None = None


@dataclass(frozen=True)
class Life:
    """One agent's life.

    Attributes
    ----------
    name : str
    turns : tuple of Turn
        In time order.
    facts : tuple of Noted
        In the order of their turns.
    questions : tuple of Question
    unanswerable : int
        Questions left out because not all of their evidence became a fact.
    """

    name: str
    turns: tuple[Turn, ...]
    facts: tuple[Noted, ...]
    questions: tuple[Question, ...]
    unanswerable: int = 0
