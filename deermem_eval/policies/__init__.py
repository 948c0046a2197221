"""What to forget: scores of facts, and the selection at a capacity."""

from deermem_eval.policies.decision import Decision, EvictedFact
from deermem_eval.policies.policy import (
    Policy,
    apply_policy,
    load_policy,
    policy_names,
)
from deermem_eval.policies.ranking import (
    EVICTION_POLICY_CONFIDENCE,
    EVICTION_POLICY_HYBRID_V1,
    DuplicateFactIdWarning,
    Ranking,
    is_correction,
    rank_facts,
)
from deermem_eval.policies.registry import (
    OWN_SELECTOR,
    Selector,
    load_selector,
    require_policy_version,
)
from deermem_eval.policies.scores import (
    FactScore,
    HybridParameters,
    access_heat,
    confidence_score,
    confirmation_freshness,
    hybrid_score,
    stored_confidence,
)
from deermem_eval.policies.select import select_facts_for_capacity

__all__ = [
    "EVICTION_POLICY_CONFIDENCE",
    "EVICTION_POLICY_HYBRID_V1",
    "OWN_SELECTOR",
    "Decision",
    "DuplicateFactIdWarning",
    "EvictedFact",
    "FactScore",
    "HybridParameters",
    "Policy",
    "Ranking",
    "Selector",
    "access_heat",
    "apply_policy",
    "confidence_score",
    "confirmation_freshness",
    "hybrid_score",
    "is_correction",
    "load_policy",
    "load_selector",
    "policy_names",
    "rank_facts",
    "require_policy_version",
    "select_facts_for_capacity",
    "stored_confidence",
]
