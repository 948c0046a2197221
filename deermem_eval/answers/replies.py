"""Replies: what a model gave for one request, and what kind of answer that is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

SENTINEL = "INSUFFICIENT"

ReplyClass = Literal[
    "answered",
    "abstained",
    "empty",
    "truncated",
    "reasoning-exhausted",
    "filtered",
    "malformed",
    "failed",
]
REPLY_CLASSES: tuple[ReplyClass, ...] = get_args(ReplyClass)
"""What became of a request.

`answered`; `abstained` (the sentinel); `empty` (no text, though the model had finished); `truncated` (the
token budget cut the text off); `reasoning-exhausted` (the budget was spent before any text came);
`filtered` (withheld by the provider); `malformed` (a reply without a choice); `failed` (no reply at all).
"""
BUDGET_CLASSES = ("truncated", "reasoning-exhausted")
"""Classes whose cause is the token budget, `max_tokens`."""


@dataclass(frozen=True)
class Reply:
    """What a provider gave for one request.

    Attributes
    ----------
    prediction : str
        The answer; empty where the model gave none.
    finish_reason : str
        As the provider says it: `stop`, `length`, `content_filter`; empty if it says nothing.
    response_model : str or None
        The model that the provider says has answered.
    usage : dict of str to int
        Token counts as the provider gives them; empty if it gives none.
    is_malformed : bool
        Whether the reply held no choice at all.
    attempts : int or None
        Attempts that the reply once took, where it is a replayed one.
    """

    prediction: str
    finish_reason: str = "stop"
    response_model: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    is_malformed: bool = False
    attempts: int | None = None


def reply_class(reply: Reply) -> ReplyClass:
    """Return what kind of answer a reply is, one of `REPLY_CLASSES` but `failed`."""
    if reply.is_malformed:
        return "malformed"
    if reply.finish_reason == "content_filter":
        return "filtered"
    if not reply.prediction.strip():
        return "reasoning-exhausted" if reply.finish_reason == "length" else "empty"
    if reply.finish_reason == "length":
        return "truncated"
    is_sentinel = "".join(filter(str.isalpha, reply.prediction)).upper() == SENTINEL
    return "abstained" if is_sentinel else "answered"


def answered_by(models: Iterable[str | None]) -> str:
    """Name the models that have answered, each once, for every place where answers appear."""
    return ", ".join(sorted({model or "a model that is not named" for model in models}))


def counted_tokens(usage: Any) -> dict[str, int]:
    """Return the whole, non-negative counts of a usage object, nested ones left out."""
    if not isinstance(usage, Mapping):
        return {}
    return {
        str(name): value
        for name, value in usage.items()
        if type(value) is int and 0 <= value <= 10**15
    }
