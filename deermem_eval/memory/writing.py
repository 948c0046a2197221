"""Writing: every change of a store goes through one lock, one capacity step and one pending file.

Promises: after a crash at any step the store reads as before the change or as after it; a fact that the
capacity removes leaves the disk in the same change as the fact that came; sidecars are touched under
`hybrid-v1` or in shadow mode only.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import json_document, refuse_unwritable, write_file
from deermem_eval.memory.confirmation import confirmed
from deermem_eval.memory.fact_files import ACTIVE, FACT_ID, prefix_of
from deermem_eval.memory.pending import PENDING_FILE, read_pending
from deermem_eval.memory.stores import (
    AUDIT_FILE,
    USAGE_FILE,
    StorePlace,
    read_audit_events,
    read_store,
    read_usage,
)
from deermem_eval.memory.usage import after_search
from deermem_eval.policies import (
    EVICTION_POLICY_CONFIDENCE,
    EVICTION_POLICY_HYBRID_V1,
    Decision,
    select_facts_for_capacity,
)

LOCK_FILE = Path(".metadata") / ".lock"
TITLE_CHARS = 60
Facts = dict[str, dict[str, Any]]


class BrokenSidecarWarning(UserWarning):
    """A sidecar could not be read, counts as empty, and may be written anew; the warning names it."""


@dataclass(frozen=True)
class StoreSettings:
    """How a store is kept.

    Attributes
    ----------
    max_facts : int
        The capacity, from 1.
    policy : str
        `confidence` or `hybrid-v1`.
    is_shadowed : bool
        Whether `hybrid-v1` is computed beside `confidence`, and only its disagreement recorded.
    audit_events : int
        Most events that the audit sidecar keeps.
    """

    max_facts: int = 100
    policy: str = EVICTION_POLICY_CONFIDENCE
    is_shadowed: bool = False
    audit_events: int = 200

    def __post_init__(self) -> None:
        if self.max_facts < 1:
            raise DeermemEvalError(f"max_facts is {self.max_facts}, and must be at least 1")

    @property
    def keeps_sidecars(self) -> bool:
        """Whether usage and evictions are recorded."""
        return self.policy == EVICTION_POLICY_HYBRID_V1 or self.is_shadowed


def add_facts(
    folder: Path, facts: Iterable[Mapping[str, Any]], settings: StoreSettings, *, now: datetime
) -> tuple[str, ...]:
    """Store facts, extracted, written by hand or imported; a fact of a known id replaces that one.

    Returns
    -------
    tuple of str
        Ids that the capacity removed, lowest score first; new ones may be among them.

    Raises
    ------
    DeermemEvalError
        An id is none, or the folder cannot be written; nothing was changed.
    """
    incoming = [dict(fact) for fact in facts]
    for fact in incoming:
        if not isinstance(fact.get("id"), str) or not FACT_ID.fullmatch(fact["id"]):
            raise DeermemEvalError(
                f"fact id {str(fact.get('id'))[:40]!r} is none: letters, digits, _ and - only"
            )

    def change(stored: Facts) -> None:
        for fact in incoming:
            stored[fact["id"]] = {"id": "", "schemaVersion": 2, "status": ACTIVE, **fact}

    return _changed(folder, settings, now, change)


def confirm_facts(
    folder: Path, ids: Iterable[str], settings: StoreSettings, *, now: datetime
) -> None:
    """Date facts as confirmed now; what is not in the store is passed over."""

    def change(stored: Facts) -> None:
        for id_ in dict.fromkeys(ids):
            if id_ in stored:
                stored[id_] = confirmed(stored[id_], now)

    _changed(folder, settings, now, change)


def remove_facts(
    folder: Path, ids: Iterable[str], settings: StoreSettings, *, now: datetime
) -> None:
    """Delete facts; what is not in the store is passed over."""

    def change(stored: Facts) -> None:
        for id_ in ids:
            stored.pop(id_, None)

    _changed(folder, settings, now, change)


def record_search(
    folder: Path, hits: Iterable[str], settings: StoreSettings, *, now: datetime
) -> None:
    """Count a search's hits in the usage sidecar, if the settings keep one; no fact file changes."""
    if not settings.keeps_sidecars:
        return
    with sole_store_writer(folder):
        store = read_store(_place(folder))
        usage = after_search(store.usage, hits, store.facts, now)
        if usage != store.usage:
            _commit(folder, {str(USAGE_FILE): json_document(usage).decode()}, [])


@contextmanager
def sole_store_writer(folder: Path) -> Iterator[None]:
    """Hold a store, and finish the change that a crash has left behind.

    Raises
    ------
    DeermemEvalError
        Somebody else holds it, or it cannot be written.
    """
    from filelock import FileLock, Timeout

    refuse_unwritable(folder / LOCK_FILE.parent)
    try:
        with FileLock(folder / LOCK_FILE, timeout=10):
            left = read_pending(folder)
            if left is not None:
                _apply(folder, left.write, left.delete)
            yield
    except Timeout as error:
        raise DeermemEvalError(f"{folder} is being written by somebody else; try again") from error


def fact_text(fact: Mapping[str, Any]) -> str:
    """Return a fact as its Markdown file holds it."""
    fields = {name: value for name, value in fact.items() if name != "content"}
    content = str(fact.get("content") or "")
    title = " ".join(content.split())[:TITLE_CHARS] or str(fact["id"])
    front = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{front}---\n\n# {title}\n\n{content}\n"


def _changed(
    folder: Path, settings: StoreSettings, now: datetime, change: Callable[[Facts], None]
) -> tuple[str, ...]:
    """Change the facts of a store in memory, take the capacity step, and commit what differs."""
    with sole_store_writer(folder):
        store = read_store(_place(folder))
        before: Facts = {str(fact["id"]): fact for fact in store.facts}
        after = dict(before)
        change(after)
        evicted, event = _capacity_step(list(after.values()), store.usage, settings, now)
        for id_ in evicted:
            del after[id_]
        write = {
            _relative(id_): fact_text(fact)
            for id_, fact in after.items()
            if before.get(id_) != fact
        }
        gone = [id_ for id_ in before if id_ not in after]
        if settings.keeps_sidecars:
            write |= _sidecars(folder, gone, event, settings)
        if write or gone:
            _commit(folder, write, [_relative(id_) for id_ in gone])
    return evicted


def _capacity_step(
    facts: Sequence[dict[str, Any]],
    usage: Mapping[str, Any],
    settings: StoreSettings,
    now: datetime,
) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    """Return the ids that have to go, and the event to record."""
    if len(facts) <= settings.max_facts:
        return (), None

    def decide(policy: str) -> Decision:
        return select_facts_for_capacity(
            facts, max_facts=settings.max_facts, policy=policy, usage=usage, now=now
        )

    decision = decide(settings.policy)
    evicted = tuple(fact.fact_id for fact in decision.evicted)
    event: dict[str, Any] = {
        "occurredAt": now.isoformat().replace("+00:00", "Z"),
        "reason": "capacity",
        "policyVersion": settings.policy,
        "maxFacts": settings.max_facts,
        "reservedCorrectionSlots": decision.reserved_correction_slots,
        "evicted": [
            {
                "factId": fact.fact_id,
                "category": fact.category,
                "score": fact.score,
                "components": fact.components,
            }
            for fact in decision.evicted
        ],
    }
    if settings.is_shadowed:
        would = [fact.fact_id for fact in decide(EVICTION_POLICY_HYBRID_V1).evicted]
        event["shadow"] = {
            "policyVersion": EVICTION_POLICY_HYBRID_V1,
            "wouldEvict": would,
            "disagrees": set(would) != set(evicted),
        }
    return evicted, event


def _sidecars(
    folder: Path, gone: Sequence[str], event: dict[str, Any] | None, settings: StoreSettings
) -> dict[str, str]:
    """Return the sidecars that change: usage without what is gone, the audit with one more event."""
    found = {}
    usage, broken = read_usage(folder)
    left = {id_: entry for id_, entry in usage.items() if id_ not in gone}
    if left != usage:
        found[str(USAGE_FILE)] = json_document(left).decode()
    if event is not None:
        events, problems = read_audit_events(folder)
        broken += problems
        kept = [*events, event][-settings.audit_events :]
        found[str(AUDIT_FILE)] = json_document(kept).decode()
    for one in broken:
        warnings.warn(f"{one.path}: {one.reason}", BrokenSidecarWarning, stacklevel=4)
    return found


def _commit(folder: Path, write: Mapping[str, str], delete: Sequence[str]) -> None:
    """Make a change durable as a whole, then take its steps."""
    pending = json.dumps({"write": dict(write), "delete": list(delete)}, ensure_ascii=False)
    _write(folder / PENDING_FILE, pending)  # from here on the store reads as after the change
    _apply(folder, write, delete)


def _apply(folder: Path, write: Mapping[str, str], delete: Sequence[str]) -> None:
    for path, text in write.items():
        _write(folder / path, text)
    for path in (*delete, str(PENDING_FILE)):
        _delete(folder / path)


def _write(path: Path, text: str) -> None:
    write_file(path, text.encode())


def _delete(path: Path) -> None:
    path.unlink(missing_ok=True)


def _relative(fact_id: str) -> str:
    return str(Path("facts") / prefix_of(fact_id) / f"{fact_id}.md")


def _place(folder: Path) -> StorePlace:
    return StorePlace("", folder.name, folder)
