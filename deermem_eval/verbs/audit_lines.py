"""What `deermem-eval audit` prints of a store: made where the store is read, so that little travels."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deermem_eval.memory import AuditedStore, StorePlace, audit_place, read_store

SHOWN = 5
COMPONENTS = ("confidence", "confirmationFreshness", "accessHeat")
CSV_COLUMNS = (
    *("user", "agent", "capacity", "policy", "fact_id", "category", "score"),
    *(f"component_{name}" for name in COMPONENTS),
    "reason",
)
CSV_HEAD = ",".join(CSV_COLUMNS) + "\n"


@dataclass(frozen=True)
class Look:
    """What is asked of every store, and how it is shown."""

    now: datetime
    capacities: tuple[int, ...]
    policies: tuple[str, ...]
    as_json: bool
    show_content: bool
    with_rows: bool


@dataclass(frozen=True)
class AuditLines:
    """What is printed of one store, its evictions as rows of CSV, and a line for each unsound thing."""

    printed: str
    evicted: int
    rows: str
    unsound: tuple[str, ...]


def audit_lines(places: Sequence[StorePlace], *, look: Look) -> list[AuditLines]:
    """Audit a chunk of stores, for `deermem_eval.chunks.map_chunks`."""
    found = []
    for place in places:
        store = audit_place(place, now=look.now, capacities=look.capacities, policies=look.policies)
        found.append(
            AuditLines(
                printed=_json(store) if look.as_json else _text(store, look.show_content),
                evicted=sum(len(decision.evicted) for decision in store.decisions),
                rows=_rows(store) if look.with_rows else "",
                unsound=tuple(
                    _dumped(vars(one))
                    if look.as_json
                    else _printable(f"unsound: {one.path}: {one.reason}")
                    for one in store.unsound
                ),
            )
        )
    return found


def _text(store: AuditedStore, show_content: bool) -> str:
    place = store.place
    whose = f"user {place.user or '-'}, agent {place.agent or '-'}"
    kinds = ", ".join(f"{name} {count}" for name, count in store.categories.items())
    lines = [f"{place.folder} ({whose}): {store.facts} facts ({kinds or 'none'})"]
    disagreements = store.disagreements()
    for decision in store.decisions:
        differing = len(disagreements[decision.capacity])
        lines.append(
            f"  at {decision.capacity} {decision.policy} keeps {len(decision.kept)}, evicts "
            f"{len(decision.evicted)}; corrections at risk {decision.corrections_at_risk}; the policies "
            f"disagree on {differing}"
        )
        is_shown = differing or len(disagreements) == len(
            store.decisions
        )  # one policy, or they part
        for fact in decision.evicted[:SHOWN] if is_shown else ():
            score = "" if fact.score is None else f" {fact.score:.4f}"
            parts = "".join(
                f"{sign} {name} {value:.3f}"
                for sign, (name, value) in zip(";,,", fact.components.items(), strict=False)
            )
            lines.append(f"    {fact.fact_id} ({fact.category}){score}: {fact.reason}{parts}")
            if show_content:
                lines.append(f"      {_first_words(store, fact.fact_id)}")
        if is_shown and len(decision.evicted) > SHOWN:
            lines.append(f"    and {len(decision.evicted) - SHOWN} more")
    if store.evictions:
        months = ", ".join(
            f"{one.month} {one.disagreements} of {one.shadowed}" for one in store.shadow
        )
        shadowed = sum(one.shadowed for one in store.shadow)
        lines.append(
            f"  its own audit: {store.evictions} evictions, the shadow policy disagreed in "
            f"{store.shadow_disagreements} of the {shadowed} that it shadowed ({months})"
        )
    return "".join(f"{_printable(line)}\n" for line in lines)


def _first_words(store: AuditedStore, fact_id: str) -> str:
    content = next(
        str(fact.get("content", ""))
        for fact in read_store(store.place).facts
        if fact["id"] == fact_id
    )
    return " ".join(content.split())[:80]


def _printable(line: str) -> str:
    """Return a line in which no name or content can steer a terminal."""
    return line if line.isprintable() else "".join(c if c.isprintable() else "?" for c in line)


def _dumped(document: dict[str, Any]) -> str:
    """Return one line of JSON; a file name that is no UTF-8 is escaped."""
    text = json.dumps(document, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


def _json(store: AuditedStore) -> str:
    document = {
        "user": store.place.user,
        "agent": store.place.agent,
        "folder": str(store.place.folder),
        "facts": store.facts,
        "categories": store.categories,
        "decisions": [
            {
                "policy": decision.policy,
                "capacity": decision.capacity,
                "kept": list(decision.kept),
                "evicted": [vars(fact) for fact in decision.evicted],
                "corrections_at_risk": decision.corrections_at_risk,
                "reserved_correction_slots": decision.reserved_correction_slots,
            }
            for decision in store.decisions
        ],
        "disagreements": {
            str(capacity): list(ids) for capacity, ids in store.disagreements().items()
        },
        "evictions": store.evictions,
        "shadow_disagreements": store.shadow_disagreements,
        "shadow": [vars(month) for month in store.shadow],
    }
    return _dumped(document)


def _rows(store: AuditedStore) -> str:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    place = store.place
    for decision in store.decisions:
        writer.writerows(
            (
                *(place.user, place.agent, decision.capacity, decision.policy),
                *(fact.fact_id, fact.category, fact.score),
                *(fact.components.get(name) for name in COMPONENTS),
                fact.reason,
            )
            for fact in decision.evicted
        )
    return table.getvalue().encode("utf-8", "backslashreplace").decode()
