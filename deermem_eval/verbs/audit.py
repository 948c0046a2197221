"""`deermem-eval audit`: what each policy would forget of a real DeerMem store; read-only."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deermem_eval.verbs.options import (
    absolute,
    add_json,
    add_workers,
    print_json,
    say,
    whole_numbers,
)

if TYPE_CHECKING:
    from deermem_eval.memory import AuditedStore, StorePlace, Unsound

NAME = "audit"
SUMMARY = "show what each policy would keep and evict of a DeerMem store; changes nothing"
ROOT_VARIABLE = "DEERMEM_DATA_DIR"
STORES_A_CHUNK = 50
CHUNKS_A_WORKER = 8
SHOWN = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "store",
        nargs="?",
        metavar="STORE",
        help=f"a DeerMem folder (default: the environment variable {ROOT_VARIABLE}, else ~/.deermem)",
    )
    parser.add_argument(
        "--capacity",
        type=whole_numbers,
        default=[],
        action="extend",
        metavar="N[,N...]",
        help="capacities to look at (default: each store's size times 0.5, 0.75 and 0.9, and 100)",
    )
    parser.add_argument(
        "--now",
        type=instant,
        metavar="TIME",
        help="the clock of the audit, such as 2026-08-13T00:00:00Z (default: now)",
    )
    parser.add_argument(
        "--show-content",
        action="store_true",
        help="also print the first words of each fact that is evicted (default: never)",
    )
    parser.add_argument(
        "--output-file", metavar="FILE", help="where every eviction goes as CSV (default: nowhere)"
    )
    add_workers(parser)
    add_json(parser)


def instant(text: str) -> datetime:
    """Read a time with a zone; without one it is UTC."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; write 2026-08-13T00:00:00Z"
        ) from error
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def run(options: argparse.Namespace) -> int:
    """Audit, and print what would go; exit 1 if anything is unsound."""
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.memory import audit_places, find_stores

    for capacity in options.capacity:
        if capacity < 0:
            raise DeermemEvalError(f"capacity {capacity} is below 0; choose one from 0")
    if options.show_content and options.json:
        raise DeermemEvalError("--show-content is for the screen alone; leave out --json")
    root = Path(absolute(options.store or os.environ.get(ROOT_VARIABLE) or "~/.deermem"))
    now, capacities = options.now or datetime.now(UTC), tuple(options.capacity)
    audited = _audited(
        find_stores(root),
        partial(audit_places, now=now, capacities=capacities),
        workers=options.workers,
        scheduler=options.scheduler,
    )
    if options.json:
        return _print_json(audited)
    unsound: list[Unsound] = []
    rows: list[dict[str, Any]] = []
    count = 0
    for store in audited:
        count += 1
        _print_store(store, show_content=options.show_content)
        unsound += store.unsound
        rows += list(_rows(store)) if options.output_file else []
    for one in unsound:
        say(f"unsound: {one.path}: {one.reason}")
    if options.output_file:
        _write_csv(Path(absolute(options.output_file)), rows)
    if not count:
        say(f"{root} holds no store: neither facts of an agent nor an older memory.json with facts")
    return 1 if unsound else 0


def _audited(
    places: "Iterable[StorePlace]",
    audit: "Callable[[Sequence[StorePlace]], list[AuditedStore]]",
    *,
    workers: int,
    scheduler: str,
) -> "Iterator[AuditedStore]":
    """Audit some chunks at a time, so that memory stays flat however many stores there are."""
    from tqdm import tqdm

    from deermem_eval.chunks import map_chunks

    at_a_time = STORES_A_CHUNK * (CHUNKS_A_WORKER * workers if workers > 1 or scheduler else 1)
    iterator = iter(places)
    with tqdm(unit="store", disable=not sys.stderr.isatty()) as bar:
        while batch := list(islice(iterator, at_a_time)):
            chunks = [batch[i : i + STORES_A_CHUNK] for i in range(0, len(batch), STORES_A_CHUNK)]
            for stores in map_chunks(audit, chunks, workers=workers, scheduler=scheduler):
                yield from stores
                bar.update(len(stores))


def _print_store(store: "AuditedStore", *, show_content: bool) -> None:
    place = store.place
    whose = f"user {place.user or '-'}, agent {place.agent or '-'}"
    kinds = ", ".join(f"{name} {count}" for name, count in store.categories.items())
    print(f"{place.folder} ({whose}): {store.facts} facts ({kinds or 'none'})")
    disagreements = store.disagreements()
    for decision in store.decisions:
        differing = len(disagreements[decision.capacity])
        print(
            f"  at {decision.capacity} {decision.policy} keeps {len(decision.kept)}, evicts "
            f"{len(decision.evicted)}; corrections at risk {decision.corrections_at_risk}; the policies "
            f"disagree on {differing}"
        )
        for fact in decision.evicted[:SHOWN] if differing else ():
            parts = ", ".join(f"{name} {value:.3f}" for name, value in fact.components.items())
            print(f"    {fact.fact_id} ({fact.category}) {fact.score:.4f}: {fact.reason}; {parts}")
            if show_content:
                print(f"      {_first_words(store, fact.fact_id)}")
        if differing and len(decision.evicted) > SHOWN:
            print(f"    and {len(decision.evicted) - SHOWN} more")
    if store.evictions:
        print(
            f"  its own audit: {store.evictions} evictions, the shadow policy disagreed in "
            f"{store.shadow_disagreements}"
        )


def _first_words(store: "AuditedStore", fact_id: str) -> str:
    from deermem_eval.memory import read_store

    content = next(
        str(fact.get("content", ""))
        for fact in read_store(store.place).facts
        if fact["id"] == fact_id
    )
    words = " ".join(content.split())[:80]
    return "".join(one if one.isprintable() else "?" for one in words)


def _print_json(audited: "Iterable[AuditedStore]") -> int:
    stores, unsound = [], []
    for store in audited:
        unsound += [{"path": one.path, "reason": one.reason} for one in store.unsound]
        stores.append(
            {
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
            }
        )
    print_json({"stores": stores, "unsound": unsound})
    return 1 if unsound else 0


def _rows(store: "AuditedStore") -> Iterator[dict[str, Any]]:
    for decision in store.decisions:
        for fact in decision.evicted:
            yield {
                "user": store.place.user,
                "agent": store.place.agent,
                "capacity": decision.capacity,
                "policy": decision.policy,
                "fact_id": fact.fact_id,
                "category": fact.category,
                "score": fact.score,
                **{f"component_{name}": value for name, value in fact.components.items()},
                "reason": fact.reason,
            }


def _write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    import pandas as pd

    from deermem_eval.files import write_file

    table = pd.DataFrame(rows)
    write_file(path, table.to_csv(index=False, lineterminator="\n").encode())
    say(f"{len(rows)} evictions written to {path}")
