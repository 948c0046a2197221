"""A DeerMem store as traces: what its files and sidecars still say of the past.

A store shows survivors: of an evicted fact only the audit knows, and not when it came. A sidecar keeps the last
access of a fact, not those before. Each access counts as a need of that fact, because somebody
looked for it: an assumption, as good as searches are.
"""

from collections.abc import Iterator
from pathlib import Path

from deermem_eval.memory import find_stores, read_store
from deermem_eval.policies import stored_confidence
from deermem_eval.policies.scores import parse_timestamp
from deermem_eval.traces.trace import Trace, build_trace

ACCESS_KIND = "access"


def read_store_traces(root: Path) -> Iterator[Trace]:
    """Yield a trace for each store under a DeerMem root that has at least one dated fact.

    Raises
    ------
    DeermemEvalError
        The root is no folder.
    """
    for place in find_stores(root):
        store = read_store(place)
        events: list[tuple[float, int, dict[str, object]]] = []
        seen: set[str] = set()
        for fact in store.facts:
            id_, created = fact["id"], parse_timestamp(fact.get("createdAt"))
            if created is None or id_ in seen:
                continue
            seen.add(id_)
            begins = created.timestamp()
            of_fact = {
                "event": "create",
                "fact": id_,
                "category": str(fact.get("category") or "context"),
                "confidence": stored_confidence(fact),
            }
            events.append((begins, 0, of_fact | {"time": created}))
            entry = store.usage.get(id_)
            entry = entry if isinstance(entry, dict) else {}
            for order, name, value in (
                (1, "confirm", fact.get("lastConfirmedAt")),
                (2, "access", entry.get("lastAccessedAt")),
            ):
                time = parse_timestamp(value)
                if time is None or time < created:
                    continue
                events.append((time.timestamp(), order, {"event": name, "fact": id_, "time": time}))
                if name == "access":
                    need = {"event": "need", "facts": [id_], "kind": ACCESS_KIND, "time": time}
                    events.append((time.timestamp(), 3, need))
        events.sort(key=lambda event: event[:2])
        if events:
            yield build_trace(
                f"{place.user or '-'}/{place.agent or '-'}", (event for _, _, event in events)
            )
