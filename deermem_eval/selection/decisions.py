"""Decisions: every case, at every capacity, under every policy."""

import contextlib
import copy
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

import pandas as pd

from deermem_eval.cases import Case
from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import (
    OWN_SELECTOR,
    HybridParameters,
    Policy,
    Selector,
    apply_policy,
    load_policy,
    load_selector,
    require_policy_version,
)
from deermem_eval.protocol import ProtocolConfig

TieBreak = Literal["input", "reversed input"]


@dataclass(frozen=True)
class PolicySetting:
    """A policy by name, with the parameters that a selector takes for it.

    Attributes
    ----------
    name : str
    parameters : dict of str to float
    policy : Policy or None
        The function that decides; None: the selector does.
    """

    name: str
    parameters: dict[str, float]
    policy: Policy | None = None


@dataclass(frozen=True)
class CaseDecision:
    """What a policy keeps of a case's pool at a capacity.

    Attributes
    ----------
    case : Case
    capacity : int
        1..pool size.
    policy : str
    outcome : Decision
        Or the result of another selector, with the same fields.
    """

    case: Case
    capacity: int
    policy: str
    outcome: Any

    @property
    def kept_fact_ids(self) -> tuple[str, ...]:
        """Ids of the kept facts, best score first."""
        return tuple(fact["id"] for fact in self.outcome.kept)

    @property
    def support_recall(self) -> float:
        """Share of the support facts that were kept, in [0, 1]."""
        support = self.case.support_fact_ids
        return len(set(support) & set(self.kept_fact_ids)) / len(support)

    @property
    def support_retained(self) -> bool:
        """Whether every support fact was kept."""
        return self.support_recall == 1


def policy_settings(
    config: ProtocolConfig,
    *,
    policies: Sequence[str] = (),
    weights: Sequence[float] = (),
) -> tuple[PolicySetting, ...]:
    """Return a protocol's policies, or those named, with other weights if any are given.

    Parameters
    ----------
    config : ProtocolConfig
    policies : sequence of str
        Names: the protocol's, those of `deermem_eval.policies.policy_names()`, or functions as
        `module:function`; the protocol's come first. Empty: the protocol's.
    weights : sequence of float
        Confidence, confirmation and access weight for `hybrid-v1`; empty: the protocol's.

    Raises
    ------
    DeermemEvalError
        A policy is unknown, or the weights are not a triple that sums to 1.
    """
    hybrid = config.policies.hybrid_v1
    triple = tuple(weights) or (
        hybrid.weights.confidence,
        hybrid.weights.confirmation,
        hybrid.weights.access,
    )
    if len(triple) != 3:
        raise DeermemEvalError(
            f"weights has {len(triple)} values, and needs three: confidence, confirmation, access"
        )
    parameters = HybridParameters(
        *triple,
        confirmation_half_life_days=hybrid.confirmation_half_life_days,
        access_half_life_days=hybrid.access_half_life_days,
        correction_reserved_fraction=hybrid.correction_reserved_fraction,
        correction_reserved_max=hybrid.correction_reserved_max,
    )
    settings = (
        PolicySetting(config.policies.confidence.policy, {}),
        PolicySetting(hybrid.policy, asdict(parameters)),
    )
    known = [setting.name for setting in settings]
    chosen = tuple(setting for setting in settings if not policies or setting.name in policies)
    others = dict.fromkeys(name for name in policies if name not in known)
    chosen += tuple(PolicySetting(name, {}, load_policy(name)) for name in others)
    if weights and hybrid.policy not in {setting.name for setting in chosen}:
        raise DeermemEvalError(f"weights are {hybrid.policy}'s, which is not among the policies")
    return chosen


def protocol_selector(config: ProtocolConfig, name: str = "") -> Selector:
    """Return the selector of that name (`module:function`), our own where it is empty.

    Raises
    ------
    DeermemEvalError
        It cannot be used, or its policy version is not the one that the protocol requires.
    """
    selector = load_selector(name) if name else OWN_SELECTOR
    require_policy_version(selector, config.required_policy_version)
    return selector


def check_capacities(capacities: Sequence[int], pool_size: int) -> tuple[int, ...]:
    """Return the capacities in ascending order, without repeats.

    Raises
    ------
    DeermemEvalError
        There is none, or one is not a whole number in 1..pool_size.
    """
    if not capacities:
        raise DeermemEvalError("no capacity is given; name at least one")
    for capacity in capacities:
        if type(capacity) is not int or not 1 <= capacity <= pool_size:
            raise DeermemEvalError(
                f"capacity {capacity!r} is outside 1..{pool_size}, the size of a pool; "
                "choose one within"
            )
    return tuple(sorted(set(capacities)))


def decide(
    cases: Iterable[Case],
    settings: Sequence[PolicySetting],
    capacities: Sequence[int],
    *,
    now: datetime,
    selector: Selector = OWN_SELECTOR,
    tie_break: TieBreak = "input",
) -> tuple[CaseDecision, ...]:
    """Decide every case at every capacity under every policy, in that order of nesting.

    Parameters
    ----------
    cases : iterable of Case
    settings : sequence of PolicySetting
    capacities : sequence of int
    now : datetime
        The protocol's evaluation clock.
    selector : Selector
        Our own unless another is given.
    tie_break : {"input", "reversed input"}
        Which of two facts with the same score stands first: the pool is given in that order.

    Raises
    ------
    DeermemEvalError
        The selector fails on a case, or does not part the case's facts into as many kept ones as
        the capacity allows and the evicted rest.
    """
    step = 1 if tie_break == "input" else -1
    return tuple(
        CaseDecision(
            case,
            capacity,
            setting.name,
            _outcome(case, case.facts[::step], setting, capacity, now, selector),
        )
        for case in cases
        for capacity in capacities
        for setting in settings
    )


def _outcome(
    case: Case,
    pool: Sequence[dict[str, Any]],
    setting: PolicySetting,
    capacity: int,
    now: datetime,
    selector: Selector,
) -> Any:
    """Ask the selector, and believe it only if kept and evicted facts are those of the pool."""
    if setting.policy is not None:
        return apply_policy(
            setting.policy,
            copy.deepcopy(list(pool)),
            max_facts=capacity,
            usage=copy.deepcopy(case.usage),
            now=now,
            support_fact_ids=case.support_fact_ids,
        )
    where = f"selector {selector.name}, case {case.case_id}, {setting.name} at {capacity}"
    facts, usage = list(pool), case.usage
    if selector != OWN_SELECTOR:  # ours changes nothing that it is given
        facts, usage = copy.deepcopy((facts, usage))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # results only on stdout
            outcome = selector.select(
                facts,
                max_facts=capacity,
                policy=setting.name,
                usage=usage,
                now=now,
                **setting.parameters,
            )
        kept = [fact["id"] for fact in outcome.kept]
        evicted = [fact.fact_id for fact in outcome.evicted]
        scored = [id_ for id_, score in outcome.scores.items() if math.isfinite(score.value)]
    except DeermemEvalError:
        raise
    except (Exception, SystemExit) as error:
        raise DeermemEvalError(
            f"{where}: fails with {type(error).__name__}: {error}; it must take and return what "
            "select_facts_for_capacity() does"
        ) from error
    expected = min(capacity, len(case.facts))
    if len(kept) != expected or sorted(kept + evicted) != sorted(case.sources):
        raise DeermemEvalError(
            f"{where}: keeps {len(kept)} facts and evicts {len(evicted)}; it must keep "
            f"{expected} of the pool's {len(case.facts)} and evict the others, each once"
        )
    if set(scored) != set(kept + evicted):
        raise DeermemEvalError(f"{where}: it must give every fact of the pool a finite score")
    return outcome


def decision_table(decisions: Iterable[CaseDecision]) -> pd.DataFrame:
    """Return decisions as a table, one row each.

    Returns
    -------
    DataFrame
        Columns `case_id`, `suite`, `scenario`, `question_type`, `capacity`, `policy`,
        `support_retained` (bool), `reserved_correction_slots` (int), `kept_fact_ids` (ids, best
        score first, separated by blanks).
    """
    return pd.DataFrame(
        [
            {
                "case_id": decision.case.case_id,
                "suite": decision.case.suite,
                "scenario": decision.case.scenario,
                "question_type": decision.case.question_type,
                "capacity": decision.capacity,
                "policy": decision.policy,
                "support_retained": decision.support_retained,
                "reserved_correction_slots": decision.outcome.reserved_correction_slots,
                "kept_fact_ids": " ".join(decision.kept_fact_ids),
            }
            for decision in decisions
        ]
    )
