"""A real store: DeerMem folders read, and what each policy would keep and evict of them."""

from deermem_eval.memory.audit import (
    POLICIES,
    AuditedDecision,
    AuditedFact,
    AuditedStore,
    audit_place,
    audit_places,
    audit_store,
    default_capacities,
)
from deermem_eval.memory.fact_files import UnsoundError, dirty_fields, prefix_of, read_fact_file
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

__all__ = [
    "POLICIES",
    "AuditedDecision",
    "AuditedFact",
    "AuditedStore",
    "MemoryStore",
    "StorePlace",
    "Unsound",
    "UnsoundError",
    "audit_place",
    "audit_places",
    "audit_store",
    "default_capacities",
    "dirty_fields",
    "fact_paths",
    "find_stores",
    "prefix_of",
    "read_audit_events",
    "read_fact_file",
    "read_store",
    "read_usage",
]
