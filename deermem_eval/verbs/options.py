"""Options that several verbs share, under the same names everywhere, and how they are read."""

import argparse
import json
import os
import sys
from pathlib import Path

DEFAULT_PROTOCOL = "pr4789"
SELECTOR_ENVIRONMENT = "DEERMEM_EVAL_SELECTOR"


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
        help="the LongMemEval file that the protocol pins (default: its records.csv)",
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


def selector_name(given: str) -> str:
    """Return the selector that is given, else the environment's; empty for ours."""
    name = given or os.environ.get(SELECTOR_ENVIRONMENT, "")
    if name:
        sys.path.insert(0, str(Path.cwd()))  # a user's module lies where she stands
    return name


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
