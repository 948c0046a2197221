"""Policies by name: ours, those of installed packages, and a user's own function.

A policy is a function `(facts, *, max_facts, usage, now)` that returns the ids of the facts to keep, best
first. One that takes `support_fact_ids` as well sees what will be asked for: it is a bound, and no policy.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import entry_points
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies.decision import Decision, EvictedFact
from deermem_eval.policies.ranking import (
    DEFAULT_CATEGORY,
    EVICTION_POLICY_CONFIDENCE,
    EVICTION_POLICY_HYBRID_V1,
)

ENTRY_POINTS = "deermem_eval.policies"
OWN_POLICIES = (EVICTION_POLICY_CONFIDENCE, EVICTION_POLICY_HYBRID_V1)


@dataclass(frozen=True)
class Policy:
    """A policy that is not one of the selector's.

    Attributes
    ----------
    name : str
        Of its entry point, or `module:function`.
    keep : callable
        `(facts, *, max_facts, usage, now)`; returns ids.
    is_bound : bool
        Whether it sees the support facts.
    """

    name: str
    keep: Callable[..., Sequence[str]]
    is_bound: bool


def policy_names() -> tuple[str, ...]:
    """Return the names of all policies: the selector's two, ours, and those of installed packages."""
    found = sorted({point.name for point in entry_points(group=ENTRY_POINTS)})
    return (*OWN_POLICIES, *(name for name in found if name not in OWN_POLICIES))


def load_policy(name: str) -> Policy:
    """Return the policy of that name.

    Parameters
    ----------
    name : str
        Of an entry point of the group `deermem_eval.policies`, or `module:function`.

    Raises
    ------
    DeermemEvalError
        There is none (the message lists those that there are), or it cannot be imported.
    """
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in points and ":" not in name:
        raise DeermemEvalError(
            f"policy {name!r} is not one of {', '.join(policy_names())}; choose one, or name a "
            "function of your own as module:function"
        )
    try:
        if name in points:
            keep = points[name].load()
        else:
            module, _, function = name.partition(":")
            keep = getattr(importlib.import_module(module), function)
        takes = inspect.signature(keep).parameters
    except (Exception, SystemExit) as error:
        raise DeermemEvalError(
            f"policy {name!r} cannot be imported: {type(error).__name__}: {error}; correct the name, "
            "or install it"
        ) from error
    return Policy(name, keep, "support_fact_ids" in takes)


def apply_policy(
    policy: Policy,
    facts: Sequence[dict[str, Any]],
    *,
    max_facts: int,
    usage: Mapping[str, Any],
    now: datetime,
    support_fact_ids: Sequence[str] = (),
) -> Decision:
    """Let a policy choose, and believe it only if it keeps as many facts of the store as it may.

    Returns
    -------
    Decision
        Without scores: a policy need have none. At or under the capacity nothing is asked, and
        everything is kept in input order.

    Raises
    ------
    DeermemEvalError
        The policy fails, keeps another number, a fact twice, or one that there is not.
    """
    by_id = {str(fact["id"]): fact for fact in facts}
    if len(facts) <= max_facts:
        return Decision(list(facts), [], {}, policy.name)
    more = {"support_fact_ids": frozenset(support_fact_ids)} if policy.is_bound else {}
    try:
        kept = [
            str(id_)
            for id_ in policy.keep(facts, max_facts=max_facts, usage=usage, now=now, **more)
        ]
    except DeermemEvalError:
        raise
    except (Exception, SystemExit) as error:
        raise DeermemEvalError(
            f"policy {policy.name} fails with {type(error).__name__}: {error}; it must take facts, "
            "max_facts, usage and now, and return ids"
        ) from error
    unknown = [id_ for id_ in kept if id_ not in by_id]
    if unknown:
        raise DeermemEvalError(
            f"policy {policy.name} keeps {unknown[0]!r}, which is no fact of the store; it must return "
            "ids of the facts that it is given"
        )
    if len(kept) != max_facts or len(set(kept)) != len(kept):
        raise DeermemEvalError(
            f"policy {policy.name} keeps {len(set(kept))} facts, and must keep {max_facts}, each once"
        )
    chosen = set(kept)
    return Decision(
        kept=[by_id[id_] for id_ in kept],
        evicted=[
            EvictedFact(id_, str(fact.get("category") or DEFAULT_CATEGORY), None, {})
            for id_, fact in reversed(by_id.items())
            if id_ not in chosen
        ],
        scores={},
        policy=policy.name,
    )
