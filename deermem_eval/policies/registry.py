"""Selectors by name: our own, or another implementation with the production signature."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies.ranking import EVICTION_POLICY_HYBRID_V1
from deermem_eval.policies.select import select_facts_for_capacity

VERSION_CONSTANT = "EVICTION_POLICY_HYBRID_V1"
RESULT_FIELDS = ("kept", "evicted", "scores", "policy", "reserved_correction_slots")


@dataclass(frozen=True)
class Selector:
    """A function with the signature of `select_facts_for_capacity()`, and what it says it is.

    Attributes
    ----------
    name : str
        `module:function`.
    policy_version : str
        The hybrid policy that it implements.
    select : callable
        Takes and returns what `select_facts_for_capacity()` does; the result needs the fields
        `RESULT_FIELDS` only, so deer-flow's own result will do.
    """

    name: str
    policy_version: str
    select: Callable[..., Any]


OWN_SELECTOR = Selector(
    f"{select_facts_for_capacity.__module__}:{select_facts_for_capacity.__name__}",
    EVICTION_POLICY_HYBRID_V1,
    select_facts_for_capacity,
)


def load_selector(name: str) -> Selector:
    """Import a selector.

    Parameters
    ----------
    name : str
        `module:function`. The module (or the one that defines the function) says which hybrid
        policy it implements in a constant `EVICTION_POLICY_HYBRID_V1`, as deer-flow's does:
        `deerflow.agents.memory.backends.deermem.deermem.core.eviction:select_facts_for_capacity`.

    Raises
    ------
    DeermemEvalError
        It cannot be imported, is not callable, names no policy version, or does not decide a store
        of two facts.
    """
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise DeermemEvalError(f"selector {name!r} is not of the form module:function")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise DeermemEvalError(
            f"selector module {module_name} cannot be imported: {error}; install it in this "
            "environment or correct the name"
        ) from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise DeermemEvalError(f"selector {name!r}: module {module_name} has no such function")
    version = getattr(module, VERSION_CONSTANT, None) or getattr(
        inspect.getmodule(function), VERSION_CONSTANT, None
    )
    if not isinstance(version, str):
        raise DeermemEvalError(
            f"selector {name!r} does not say which policy it implements; its module needs the "
            f"constant {VERSION_CONSTANT}"
        )
    selector = Selector(name, version, function)
    _refuse_unusable(selector)
    return selector


def require_policy_version(selector: Selector, required: str) -> None:
    """Refuse a selector whose hybrid policy is not the one that a protocol requires."""
    if selector.policy_version != required:
        raise DeermemEvalError(
            f"selector {selector.name} implements {selector.policy_version!r}, but the protocol "
            f"requires {required!r} (required_policy_version); use the selector of that version"
        )


def _refuse_unusable(selector: Selector) -> None:
    facts = [{"id": "a", "confidence": 0.9}, {"id": "b", "confidence": 0.1}]
    try:
        decision = selector.select(
            facts,
            max_facts=1,
            policy=selector.policy_version,
            usage={},
            now=datetime(2026, 8, 13, tzinfo=UTC),
        )
    except (Exception, SystemExit) as error:
        raise DeermemEvalError(
            f"selector {selector.name} fails on two plain facts: {error!r}; it must take the "
            "arguments of select_facts_for_capacity()"
        ) from error
    missing = [field for field in RESULT_FIELDS if not hasattr(decision, field)]
    if missing:
        raise DeermemEvalError(
            f"selector {selector.name} returns a {type(decision).__name__} without "
            f"{', '.join(missing)}"
        )
    if len(decision.kept) != 1:
        raise DeermemEvalError(
            f"selector {selector.name} keeps {len(decision.kept)} of two facts at capacity 1"
        )
