"""The confirmation gate: when a fact counts as confirmed, and what follows from the age of its last one.

Two must agree: a person's own words, and the model's entry for that very fact. Extraction, injection and
search never confirm anything.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import is_correction, stored_confidence
from deermem_eval.policies.scores import parse_timestamp
from deermem_eval.reading import CONTRACT_BYTES_LIMIT, parse_yaml, read_bytes

WINDOW = 6
STALE_DAYS = 90
CORRECTION_TOKENS = 500
OTHER_TOKENS = 1500
CHARS_A_TOKEN = 4
OWN_PATTERNS = Path(__file__).with_name("reinforcement.yaml")

Patterns = tuple[re.Pattern[str], ...]
Message = Mapping[str, Any]


def load_patterns(*more: Path) -> Patterns:
    """Read the reinforcement patterns: our own, and those of further files.

    Parameters
    ----------
    *more : Path
        YAML files: a mapping from any names to lists of regular expressions.

    Raises
    ------
    DeermemEvalError
        A file is malformed, or an expression is none; file and expression are named.
    """
    found = []
    for path in (OWN_PATTERNS, *more):
        what = "reinforcement patterns"
        document = parse_yaml(read_bytes(path, what, limit=CONTRACT_BYTES_LIMIT), path, what)
        groups = document.values() if isinstance(document, dict) else [None]
        for group in groups:
            if not isinstance(group, list) or not all(isinstance(one, str) for one in group):
                raise DeermemEvalError(f"{what} {path}: give each name a list of expressions")
            found += [_compiled(one, path) for one in group]
    return tuple(found)


def is_reinforced(messages: Sequence[Message], patterns: Patterns) -> bool:
    """Whether a person has confirmed something lately.

    Parameters
    ----------
    messages : sequence of mapping
        Oldest first: `role` (`human`, `ai`, `tool`, `system`), `content`, and `hidden` where the
        message is not shown. Only shown messages of the person and the assistant count, of them the
        last six, and of these the person's.
    patterns : tuple of re.Pattern
    """
    shown = [
        message
        for message in messages
        if message.get("role") in ("human", "ai") and not message.get("hidden")
    ]
    return any(
        pattern.search(str(message.get("content") or ""))
        for message in shown[-WINDOW:]
        if message["role"] == "human"
        for pattern in patterns
    )


def confirmed_ids(
    facts: Iterable[Mapping[str, Any]],
    messages: Sequence[Message],
    entries: Iterable[object],
    patterns: Patterns,
) -> tuple[str, ...]:
    """Return the ids of the facts that a conversation confirms, each once, in the order of the entries.

    Parameters
    ----------
    facts : iterable of mapping
        Of the store.
    messages : sequence of mapping
        As for `is_reinforced()`.
    entries : iterable
        The model's `factsToReinforce`: mappings with `id`, `scope` and `reason`. One counts if its id
        is a fact's, its scope `user`, and its reason not empty.
    patterns : tuple of re.Pattern
    """
    if not is_reinforced(messages, patterns):
        return ()
    known = {fact.get("id") for fact in facts}
    found: dict[str, None] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        id_, reason = entry.get("id"), entry.get("reason")
        has_reason = isinstance(reason, str) and bool(reason.strip())
        if isinstance(id_, str) and id_ in known and entry.get("scope") == "user" and has_reason:
            found[id_] = None
    return tuple(found)


def confirmed(fact: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return a fact as it is once it was confirmed: dated now, and counted."""
    count = fact.get("confirmationCount")
    is_count = type(count) is int and count >= 0
    return {
        **fact,
        "lastConfirmedAt": now.isoformat().replace("+00:00", "Z"),
        "confirmationCount": (count if is_count else 0) + 1,  # type: ignore[operator]
    }


def stale_facts(
    facts: Iterable[Mapping[str, Any]], now: datetime, *, days: float = STALE_DAYS
) -> tuple[str, ...]:
    """Return the ids of the facts that were last confirmed, else created, more than so many days ago.

    Corrections never grow stale; a fact without a readable time does.
    """
    return tuple(
        str(fact.get("id"))
        for fact in facts
        if not is_correction(fact) and _is_older(fact, now - timedelta(days=days))
    )


def injected_facts(
    facts: Sequence[Mapping[str, Any]],
    *,
    correction_tokens: int = CORRECTION_TOKENS,
    other_tokens: int = OTHER_TOKENS,
    count: Callable[[str], int] = lambda text: -(-len(text) // CHARS_A_TOKEN),
) -> tuple[str, ...]:
    """Return the ids of the facts that fit into a prompt: corrections first, then the others.

    Parameters
    ----------
    facts : sequence of mapping
    correction_tokens, other_tokens : int
        Budgets of the two, apart; within each, facts stand by confidence, ties in input order, and
        one that does not fit ends its budget.
    count : callable
        Tokens of a text; four characters each unless another is given.
    """
    ranked = sorted(facts, key=stored_confidence, reverse=True)
    chosen: list[str] = []
    for wanted, budget in ((True, correction_tokens), (False, other_tokens)):
        left = budget
        for fact in ranked:
            if is_correction(fact) is not wanted:
                continue
            left -= count(str(fact.get("content") or ""))
            if left < 0:
                break
            chosen.append(str(fact.get("id")))
    return tuple(chosen)


def _compiled(expression: str, path: Path) -> re.Pattern[str]:
    try:
        return re.compile(expression, re.IGNORECASE)
    except re.error as error:
        raise DeermemEvalError(
            f"reinforcement patterns {path}: {expression!r} is no regular expression ({error})"
        ) from error


def _is_older(fact: Mapping[str, Any], than: datetime) -> bool:
    last = parse_timestamp(fact.get("lastConfirmedAt")) or parse_timestamp(fact.get("createdAt"))
    return last is None or last < than
