"""`deermem-eval verify`: what of a run holds, recomputed from its protocol."""

import argparse
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from deermem_eval.verbs.options import (
    add_cache,
    add_json,
    add_protocol,
    add_upstream,
    cache_folder,
    print_json,
    protocol_name,
    sha256_digits,
)

if TYPE_CHECKING:
    from deermem_eval.grades import Difference, Verification

NAME = "verify"
SUMMARY = "recompute a run: hashes, requests, kept facts, grades, statistics"
SHOWN = 3


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "run_folder",
        type=Path,
        metavar="RUN",
        help="folder of an answered or graded run, or of published rows: qa_run.json beside "
        "qa.rows.jsonl or responses/",
    )
    add_protocol(parser)
    add_upstream(parser)
    parser.add_argument(
        "--dataset",
        type=Path,
        metavar="FILE",
        help="the data set (default: the one that lies with the texts); another than the pinned one "
        "is used, and counts as a difference",
    )
    add_cache(parser)
    parser.add_argument(
        "--expect-digest",
        type=sha256_digits,
        metavar="SHA256",
        help="what qa.rows.jsonl must hash to",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Verify, and print what holds, and the first rows of what does not."""
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.grades import verify_run
    from deermem_eval.protocol import load_protocol, with_fetched_texts
    from deermem_eval.report import text_table

    if not options.run_folder.is_dir():
        raise DeermemEvalError(
            f"{options.run_folder} is no folder; name the one that holds qa_run.json (the published "
            "run comes with `deermem-eval fetch pr4789`)"
        )
    protocol = load_protocol(protocol_name(options))
    texts = (
        load_protocol(options.upstream)
        if options.upstream
        else with_fetched_texts(protocol, cache_folder(options))
    )
    verification = verify_run(
        options.run_folder,
        protocol,
        texts=texts,
        dataset=options.dataset,
        expect_digest=options.expect_digest or "",
    )
    if options.json:
        print_json(verification.as_dict())
    else:
        print(text_table(verification.table()))
        for check in verification.checks:
            if check.note:
                print(f"{check.name}: {check.note}")
            for difference in check.differences[:SHOWN]:
                print(f"{check.name}, {_sentence(difference)}")
            if len(check.differences) > SHOWN:
                print(f"{check.name}: {len(check.differences) - SHOWN} more like it")
        if verification.rows_sha256:
            print(f"SHA-256 of qa.rows.jsonl: {verification.rows_sha256}")
        print(_verdict(verification))
    return 0 if verification.holds else 1


def _verdict(verification: "Verification") -> str:
    fallen = [check.name for check in verification.checks if check.differences]
    if fallen:
        return f"does not hold: {', '.join(fallen)}"
    partly = [check.name for check in verification.checks if check.note]
    return f"holds, but not checked in full: {', '.join(partly)}" if partly else "everything holds"


def _sentence(difference: "Difference") -> str:
    expected, found = difference.expected, difference.found
    if isinstance(expected, tuple) and isinstance(found, tuple):  # from where they part
        same = sum(
            1
            for _ in takewhile(lambda pair: pair[0] == pair[1], zip(expected, found, strict=False))
        )
        expected, found = (
            " ".join(("…",) * bool(same) + ids[same:]) or "nothing" for ids in (expected, found)
        )
    return f"{difference.where}: expected {_short(expected)}, found {_short(found)}"


def _short(value: object, length: int = 80) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= length else f"{text[: length - 1]}…"
