"""Options that several verbs share, under the same names everywhere, and how they are read."""

import argparse
import json
import os
import re
import sys
from pathlib import Path

DEFAULT_PROTOCOL = "pr4789"
SELECTOR_ENVIRONMENT = "DEERMEM_EVAL_SELECTOR"
CACHE_ENVIRONMENT = "DEERMEM_EVAL_CACHE_DIR"


def add_protocol(parser: argparse.ArgumentParser) -> None:
    """Add `--protocol`; None where it is not given."""
    parser.add_argument(
        "--protocol",
        metavar="NAME|DIR",
        help="a shipped protocol, or a folder with configs/, manifests/ and prompts/ "
        f"(default: {DEFAULT_PROTOCOL})",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def add_dataset(parser: argparse.ArgumentParser) -> None:
    """Add `--dataset`."""
    parser.add_argument(
        "--dataset",
        type=Path,
        metavar="FILE",
        help="the data set that the protocol pins (default: the one in its folder, else records.csv)",
    )


def add_cache(parser: argparse.ArgumentParser) -> None:
    """Add `--cache-dir`; see `cache_folder`."""
    parser.add_argument(
        "--cache-dir",
        type=Path,
        metavar="DIR",
        help=f"where fetched texts lie (default: data/cache of the checkout, or the environment "
        f"variable {CACHE_ENVIRONMENT})",
    )


def add_upstream(parser: argparse.ArgumentParser) -> None:
    """Add `--upstream` of a verb that reads texts."""
    parser.add_argument(
        "--upstream",
        type=Path,
        metavar="DIR",
        help="the protocol's texts: a local copy of deer-flow's deermem_eviction/ (default: what "
        "`fetch` has brought, if it is there)",
    )


def add_selector(parser: argparse.ArgumentParser) -> None:
    """Add `--selector`; see `selector_name`."""
    parser.add_argument(
        "--selector",
        default="",
        metavar="MODULE:FUNCTION",
        help="another implementation of select_facts_for_capacity() "
        f"(default: ours, or the environment variable {SELECTOR_ENVIRONMENT})",
    )


def add_weights(parser: argparse.ArgumentParser) -> None:
    """Add `--weights`."""
    parser.add_argument(
        "--weights",
        type=numbers,
        default=[],
        metavar="CONFIDENCE,CONFIRMATION,ACCESS",
        help="weights of hybrid-v1, summing to 1 (default: the protocol's)",
    )


def add_capacities(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add `--capacity` of a verb that takes several."""
    parser.add_argument(
        "--capacity",
        type=whole_numbers,
        default=[],
        action="extend",
        metavar="N[,N...]",
        help=meaning,
    )


def add_policies(parser: argparse.ArgumentParser, default: str) -> None:
    """Add `--policy`."""
    parser.add_argument(
        "--policy",
        type=names,
        default=[],
        action="extend",
        metavar="NAME[,NAME...]",
        help=f"policies to ask, by name or as module:function (default: {default})",
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add `--workers` and `--scheduler`."""
    parser.add_argument(
        "--workers",
        type=positive_number,
        default=1,
        metavar="N",
        help="processes that share the work; the result is the same (default: 1, this one)",
    )
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS|local",
        help="Dask scheduler that shares out the work, such as tcp://127.0.0.1:8786, or local for a "
        "Dask cluster of --workers processes (needs deermem-eval[distributed])",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add `--output-dir` of a study."""
    parser.add_argument(
        "--output-dir",
        type=Path,
        metavar="DIR",
        help="folder of tables, figures, executed notebooks and page (default: results/ of the "
        "checkout)",
    )


def whole_numbers(text: str) -> list[int]:
    """Read `5,7,9`."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers") from error


def positive_number(text: str) -> int:
    """Read a whole number from 1."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def numbers(text: str) -> list[float]:
    """Read `0.65,0.25,0.10`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers") from error


def sha256_digits(text: str) -> str:
    """Read a SHA-256, in capitals or not."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a SHA-256 of 64 hexadecimal digits")
    return text.lower()


def names(text: str) -> list[str]:
    """Read `confidence,hybrid-v1`."""
    return [part.strip() for part in text.split(",")]


def assignment(text: str) -> tuple[str, str]:
    """Read `name=value`."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def protocol_name(options: argparse.Namespace) -> str:
    """Return the protocol that is asked for; a folder as an absolute path."""
    return protocol_source(str(options.protocol or DEFAULT_PROTOCOL))


def protocol_source(name: str) -> str:
    """Return a shipped protocol's name as it is, and a folder as an absolute path."""
    from deermem_eval.protocol import shipped_protocols

    is_path = name not in shipped_protocols() and Path(name).exists()
    return absolute(name) if is_path else name


def run_source(name: str) -> str:
    """Return the folder of a run as an absolute path, and any other name as it is."""
    return absolute(name) if Path(name).is_dir() else name


def policies_given(given: list[str]) -> list[str]:
    """Return the policies that are named; a function of the user's own lies where she stands."""
    if any(":" in name for name in given):
        sys.path.insert(0, str(Path.cwd()))
    return given


def selector_name(given: str) -> str:
    """Return the selector that is given, else the environment's; empty for ours."""
    name = given or os.environ.get(SELECTOR_ENVIRONMENT, "")
    if name:
        sys.path.insert(0, str(Path.cwd()))  # a user's module lies where she stands
    return name


def cache_folder(options: argparse.Namespace) -> Path:
    """Return the folder of fetched texts: the one given, else the environment's, else ours."""
    from deermem_eval.places import default_cache

    given = options.cache_dir or os.environ.get(CACHE_ENVIRONMENT)
    return Path(absolute(given)) if given else default_cache()


def absolute(path: str | Path | None) -> str:
    """Return a path of the command line, which starts at the current folder; empty if not given."""
    from deermem_eval.places import expanded

    return str(expanded(Path(path)).absolute()) if path else ""


def print_json(value: object) -> None:
    """Print a result for machines."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def say(message: str) -> None:
    """Print a message, which is no result, to stderr."""
    print(message, file=sys.stderr)
