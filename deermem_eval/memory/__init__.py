"""A real store: DeerMem folders read, and what each policy would keep and evict of them."""

from deermem_eval.memory.audit import (
    POLICIES,
    AuditedDecision,
    AuditedFact,
    AuditedStore,
    audit_place,
    audit_policy,
    audit_store,
    default_capacities,
)
from deermem_eval.memory.confirmation import (
    confirmed,
    confirmed_ids,
    injected_facts,
    is_reinforced,
    load_patterns,
    stale_facts,
)
from deermem_eval.memory.fact_files import UnsoundError, dirty_fields, prefix_of, read_fact_file
from deermem_eval.memory.life import (
    AUDIT_COLUMNS,
    SHADOW_COLUMNS,
    audit_table,
    score_timeline,
    shadow_table,
)
from deermem_eval.memory.shadow import ShadowMonth, shadow_by_month
from deermem_eval.memory.stores import (
    MemoryStore,
    StorePlace,
    Unsound,
    fact_paths,
    find_stores,
    read_audit_events,
    read_store,
    read_usage,
)
from deermem_eval.memory.usage import accessed, after_search
from deermem_eval.memory.writing import (
    StoreSettings,
    add_facts,
    confirm_facts,
    fact_text,
    record_search,
    remove_facts,
)

__all__ = [
    "AUDIT_COLUMNS",
    "POLICIES",
    "SHADOW_COLUMNS",
    "AuditedDecision",
    "AuditedFact",
    "AuditedStore",
    "MemoryStore",
    "ShadowMonth",
    "StorePlace",
    "StoreSettings",
    "Unsound",
    "UnsoundError",
    "accessed",
    "add_facts",
    "after_search",
    "audit_place",
    "audit_policy",
    "audit_store",
    "audit_table",
    "confirm_facts",
    "confirmed",
    "confirmed_ids",
    "default_capacities",
    "dirty_fields",
    "fact_paths",
    "fact_text",
    "find_stores",
    "injected_facts",
    "is_reinforced",
    "load_patterns",
    "prefix_of",
    "read_audit_events",
    "read_fact_file",
    "read_store",
    "read_usage",
    "record_search",
    "remove_facts",
    "score_timeline",
    "shadow_by_month",
    "shadow_table",
    "stale_facts",
]
