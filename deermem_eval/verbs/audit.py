"""`deermem-eval audit`: what each policy would forget of a real DeerMem store; read-only."""

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from deermem_eval.verbs.options import (
    absolute,
    add_capacities,
    add_json,
    add_policies,
    add_workers,
    policies_given,
    say,
)

if TYPE_CHECKING:
    from deermem_eval.memory import StorePlace
    from deermem_eval.verbs.audit_lines import AuditLines, Look

NAME = "audit"
SUMMARY = "show what each policy would keep and evict of a DeerMem store; changes nothing"
ROOT_VARIABLE = "DEERMEM_DATA_DIR"
STORES_A_CHUNK = 50
CHUNKS_A_WORKER = 16


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "store",
        nargs="?",
        metavar="STORE",
        help=f"a DeerMem folder (default: the environment variable {ROOT_VARIABLE}, else ~/.deermem)",
    )
    add_capacities(
        parser,
        "capacities to look at (default: each store's size times 0.5, 0.75 and 0.9, and 100)",
    )
    add_policies(parser, "confidence and hybrid-v1")
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
    from deermem_eval.files import new_file
    from deermem_eval.memory import POLICIES, audit_policy, find_stores
    from deermem_eval.verbs.audit_lines import CSV_HEAD, Look

    for capacity in options.capacity:
        if capacity < 0:
            raise DeermemEvalError(f"capacity {capacity} is below 0; choose one from 0")
    if options.show_content and options.json:
        raise DeermemEvalError("--show-content is for the screen alone; leave out --json")
    policies = tuple(dict.fromkeys(policies_given(options.policy))) or POLICIES
    for policy in policies:
        audit_policy(policy)
    root = Path(absolute(options.store or os.environ.get(ROOT_VARIABLE) or "~/.deermem"))
    look = Look(
        now=options.now or datetime.now(UTC),
        capacities=tuple(options.capacity),
        policies=policies,
        as_json=options.json,
        show_content=options.show_content,
        with_rows=bool(options.output_file),
    )
    lines = _audited(find_stores(root), look, options.workers, options.scheduler)
    with contextlib.ExitStack() as stack:
        table: BinaryIO = io.BytesIO()
        if options.output_file:
            path = Path(absolute(options.output_file))
            table = stack.enter_context(new_file(path))
            table.write(CSV_HEAD.encode())
        count, unsound, rows = (_print_json if options.json else _print)(lines, table)
    if options.output_file:
        say(f"{rows} evictions written to {path}")
    if not count and not options.json:
        say(f"{root} holds no store: neither facts of an agent nor an older memory.json with facts")
    return 1 if unsound else 0


def _audited(
    places: "Iterable[StorePlace]", look: "Look", workers: int, scheduler: str
) -> "Iterator[AuditLines]":
    """Audit some chunks at a time, so that memory stays flat however many stores there are."""
    from tqdm import tqdm

    from deermem_eval.chunks import map_chunks
    from deermem_eval.verbs.audit_lines import audit_lines

    at_a_time = STORES_A_CHUNK * (CHUNKS_A_WORKER * workers if workers > 1 or scheduler else 1)
    iterator = iter(places)
    with tqdm(unit="store", disable=not sys.stderr.isatty()) as bar:
        while batch := list(islice(iterator, at_a_time)):
            chunks = [batch[i : i + STORES_A_CHUNK] for i in range(0, len(batch), STORES_A_CHUNK)]
            for lines in map_chunks(
                partial(audit_lines, look=look), chunks, workers=workers, scheduler=scheduler
            ):
                yield from lines
                bar.update(len(lines))


def _print(lines: "Iterable[AuditLines]", table: BinaryIO) -> tuple[int, int, int]:
    """Print stores to stdout, what is unsound to stderr; return stores, unsound ones and rows."""
    count = unsound = rows = 0
    for store in lines:
        sys.stdout.write(store.printed)
        for line in store.unsound:
            say(line)
        table.write(store.rows.encode())
        count += 1
        unsound += len(store.unsound)
        rows += store.evicted
    return count, unsound, rows


def _print_json(lines: "Iterable[AuditLines]", table: BinaryIO) -> tuple[int, int, int]:
    """Print one document as it comes; what is unsound waits in a file for its end."""
    count = unsound = rows = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        for store in lines:
            sys.stdout.write((",\n" if count else '{"stores": [\n') + store.printed)
            for line in store.unsound:
                waiting.write((",\n" if unsound else "\n") + line)
                unsound += 1
            table.write(store.rows.encode())
            count += 1
            rows += store.evicted
        sys.stdout.write(("" if count else '{"stores": [') + '\n], "unsound": [')
        waiting.seek(0)
        for line in waiting:
            sys.stdout.write(line)
        sys.stdout.write("\n]}\n")
    return count, unsound, rows
