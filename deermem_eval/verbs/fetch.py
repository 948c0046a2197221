"""`deermem-eval fetch`: bring the texts that a protocol of facts lacks."""

import argparse
import os
from pathlib import Path

from deermem_eval.verbs.options import (
    add_cache,
    add_json,
    cache_folder,
    print_json,
    protocol_source,
    say,
)

NAME = "fetch"
SUMMARY = "bring the texts of a protocol, each file checked by its SHA-256"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "protocol", metavar="NAME|DIR", help="a protocol of facts with a sources.csv, as pr4789 is"
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
        "DEERMEM_EVAL_UPSTREAM_URL names a mirror)",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Fetch, and print each file as soon as it is there."""
    from deermem_eval.protocol import fetch_protocol, fetched_folder, load_protocol
    from deermem_eval.protocol.fetch import (
        UPSTREAM_URL,
        UPSTREAM_VARIABLE,
    )

    protocol = load_protocol(protocol_source(options.protocol))
    cache_dir = cache_folder(options)
    files = []
    for file in fetch_protocol(
        protocol,
        cache_dir,
        dataset=options.dataset,
        upstream=options.upstream,
        upstream_url=os.environ.get(UPSTREAM_VARIABLE) or UPSTREAM_URL,
        say=say,
    ):
        files.append(file)
        if not options.json:
            print(f"{file.path}: {file.origin}", flush=True)
    folder = fetched_folder(protocol, cache_dir)
    if options.json:
        listed = [{"path": str(file.path), "origin": file.origin} for file in files]
        print_json({"folder": str(folder), "files": listed})
    say(f"complete and as pinned: use it as --protocol {folder}")
    return 0
