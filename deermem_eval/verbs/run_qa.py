"""`deermem-eval run-qa`: ask a model, or a stand-in, for every answer of a protocol."""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deermem_eval.verbs.options import (
    absolute,
    add_cache,
    add_dataset,
    add_json,
    add_protocol,
    cache_folder,
    names,
    policies_given,
    positive_number,
    print_json,
    protocol_name,
    say,
)

if TYPE_CHECKING:
    from deermem_eval.answers.runner import RunReport

NAME = "run-qa"
SUMMARY = "ask a model for every answer; resumes where it was stopped"
OVERRIDES = {
    "model": "qa.model",
    "temperature": "qa.temperature",
    "max_tokens": "qa.max_tokens",
    "workers": "qa.workers",
    "capacity": "pool.qa_capacity",
    "policies": "qa.policies",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_protocol(parser)
    add_dataset(parser)
    add_cache(parser)
    parser.add_argument(
        "--provider",
        default="openai",
        metavar="NAME[:ARGUMENT]",
        help="openai (any compatible endpoint; key and address from the two environment variables "
        "that the config names), huggingface, reader (offline baseline), replay:RUN, local (a very small "
        "model on this machine), or one of an installed package (default: openai)",
    )
    parser.add_argument(
        "--output-dir",
        type=Path,
        required=True,
        metavar="DIR",
        help="new folder, or one to go on with",
    )
    parser.add_argument(
        "--model", metavar="NAME", help="model to ask for (default: the protocol's)"
    )
    parser.add_argument("--temperature", type=float, metavar="T", help="0 to 2")
    parser.add_argument(
        "--max-tokens", type=positive_number, metavar="N", help="budget of an answer"
    )
    parser.add_argument("--workers", type=positive_number, metavar="N", help="calls at a time")
    parser.add_argument(
        "--capacity", type=positive_number, metavar="N", help="facts kept of a pool"
    )
    parser.add_argument(
        "--policies", type=names, metavar="NAME[,NAME]", help="policies (default: all)"
    )
    parser.add_argument(
        "--repeats",
        type=positive_number,
        default=1,
        metavar="N",
        help="sibling runs DIR-1 ... DIR-N",
    )
    parser.add_argument(
        "--prices",
        type=prices,
        metavar="PROMPT,COMPLETION",
        help="what a million tokens cost (default: unknown, and so is the cost)",
    )
    parser.add_argument(
        "--max-cost",
        type=amount,
        metavar="SUM",
        help="begin no call once the cost has reached this",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Answer, and print what came of it."""
    from deermem_eval.answers import Prices, RunRequest
    from deermem_eval.cases import load_cases
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.protocol import load_protocol, with_fetched_texts

    if options.max_cost is not None and options.prices is None:
        raise DeermemEvalError("--max-cost needs --prices: without them the cost is unknown")
    protocol = with_fetched_texts(load_protocol(protocol_name(options)), cache_folder(options))
    cases = load_cases(protocol, options.dataset)
    policies_given(options.policies or [])
    given = {key: getattr(options, name) for name, key in OVERRIDES.items()}
    request = RunRequest(
        options.provider,
        {key: value for key, value in given.items() if value is not None},
        Prices(*options.prices) if options.prices else Prices(),
        options.max_cost,
        cache_folder(options),
    )
    output_dir = Path(absolute(options.output_dir))
    folders = [output_dir]
    if options.repeats > 1:
        if not output_dir.name:
            raise DeermemEvalError(f"{output_dir} can have no sibling runs; name another folder")
        folders = [
            output_dir.with_name(f"{output_dir.name}-{number}")
            for number in range(1, options.repeats + 1)
        ]
    code = 0
    for folder in folders:
        report = asyncio.run(_answered(folder, protocol, cases, request))
        if report.is_refused and not report.called:
            raise DeermemEvalError(f"{report.stopped}; check the key and what it may use")
        _print(folder, report, options)
        if report.stopped == "interrupted":
            say(f"stopped; the same command goes on where it was, in {folder}")
            return 130
        code = max(code, 1 if report.failed or report.stopped else 0)
    return code


async def _answered(folder: Path, protocol: Any, cases: Any, request: Any) -> "RunReport":
    """Run with a progress bar on a terminal; the first Ctrl-C lets the calls in flight finish."""
    from tqdm import tqdm

    from deermem_eval.answers import answer_run

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        say("finishing the calls in flight; Ctrl-C again gives them up")
        stop.set()
        loop.remove_signal_handler(signal.SIGINT)

    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not everywhere
        loop.add_signal_handler(signal.SIGINT, interrupt)
    with tqdm(desc=folder.name, unit="row", disable=not sys.stderr.isatty()) as bar:

        def progress(report: "RunReport") -> None:
            bar.n = report.reused + len(report.called) + len(report.failed)
            bar.set_postfix(
                failed=len(report.failed), tokens=report.tokens["total_tokens"], refresh=False
            )
            bar.refresh()

        return await answer_run(
            folder,
            protocol,
            cases,
            request,
            environment=os.environ,
            clock=lambda: datetime.now(UTC),
            stop=stop,
            progress=progress,
        )


def _print(folder: Path, report: "RunReport", options: argparse.Namespace) -> None:
    from deermem_eval.answers import BUDGET_CLASSES, answered_by

    for row_id, problem in report.again.items():
        say(f"asked again: {row_id}: {problem}")
    for problem, row_ids in _by_problem(report.failed).items():
        more = f" and {len(row_ids) - 1} more rows" if len(row_ids) > 1 else ""
        say(f"failed: {row_ids[0]}{more}: {problem}")
    counts = {f"{policy} {name}": n for (policy, name), n in sorted(report.classes.items())}
    if options.json:
        print_json(
            {
                "folder": str(folder),
                "reused": report.reused,
                "called": len(report.called),
                "failed": report.failed,
                "answered_by": answered_by(report.models),
                "classes": counts,
                "tokens": dict(report.tokens),
                "cost": report.cost,
                "stopped": report.stopped,
            }
        )
        return
    print(
        f"{folder}: {report.reused} rows were there, {len(report.called)} answered, "
        f"{len(report.failed)} failed; cost "
        f"{'unknown' if report.cost is None else f'{report.cost:.4f}'}"
    )
    if report.models:
        print(f"  answered by {answered_by(report.models)}")
    for name, count in counts.items():
        print(f"  {name}: {count}")
    over_budget = sum(report.classes[key] for key in report.classes if key[1] in BUDGET_CLASSES)
    if over_budget:
        print(f"  the token budget is the cause of {over_budget}: raise --max-tokens")
    if report.stopped:
        print(f"  stopped before it was done: {report.stopped}")


def _by_problem(failed: Mapping[str, str]) -> dict[str, list[str]]:
    """Gather the rows that failed of the same cause, so that an outage is one line."""
    found: dict[str, list[str]] = {}
    for row_id, problem in failed.items():
        found.setdefault(problem, []).append(row_id)
    return found


def amount(text: str) -> float:
    """Read a sum of money, not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a sum from 0")
    return value


def prices(text: str) -> list[float]:
    """Read `0.27,1.10`."""
    parts = text.split(",")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != 2 or not all(0 <= value < 1e6 for value in values):
        raise argparse.ArgumentTypeError(f"{text!r} is not two prices, for prompt and completion")
    return values
