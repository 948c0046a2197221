"""The command `deermem-eval`: parses and prints; every verb is a call that a notebook can make.

Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 done and something does
not hold, 2 refused. Heavy libraries are imported by the verb that needs them.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from deermem_eval import __version__
from deermem_eval.errors import DeermemEvalError

DONE, DOES_NOT_HOLD, REFUSED, INTERRUPTED = 0, 1, 2, 130
SELECTOR_ENVIRONMENT = "DEERMEM_EVAL_SELECTOR"


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other refusal."""

    def error(self, message: str) -> NoReturn:
        raise DeermemEvalError(f"{message}; see `{self.prog} --help`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process if not given.
    """
    try:
        options = _parser().parse_args(arguments)
        code = int(options.run(options))
        sys.stdout.flush()
    except DeermemEvalError as error:
        _say(f"deermem-eval: {error}")
        return REFUSED
    except KeyboardInterrupt:
        _say("deermem-eval: interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="deermem-eval",
        description="What should an agent's bounded memory forget? Policies, cases, statistics.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"deermem-eval {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    verb = _verb(
        verbs, _validate_contracts, "validate-contracts", "check the protocol's files, without data"
    )
    _add_selector(verb)

    verb = _verb(verbs, _validate, "validate", "check protocol and data: selection, bank, pools")
    _add_dataset(verb)
    _add_selector(verb)

    verb = _verb(verbs, _run_policy, "run-policy", "decide every case, and count what is retained")
    _add_dataset(verb)
    _add_selector(verb)
    verb.add_argument(
        "--output-dir",
        type=Path,
        metavar="DIR",
        help="new folder for run.json, policy.raw.jsonl and summary.json; none: print only",
    )
    verb.add_argument(
        "--capacity",
        type=_integers,
        default=[],
        action="extend",
        metavar="N[,N...]",
        help="facts kept of a pool (default: the protocol's capacities)",
    )
    verb.add_argument(
        "--policy",
        type=_names,
        default=[],
        action="extend",
        metavar="NAME[,NAME...]",
        help="policies to run (default: all of the protocol's)",
    )
    _add_weights(verb)

    verb = _verb(verbs, _notebooks, "notebooks", "execute the notebooks as a batch")
    verb.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help="names (default: all)")
    _add_dataset(verb)
    _add_selector(verb)
    _add_weights(verb)
    verb.add_argument("--capacity", metavar="N", help="facts kept of a pool (default: 7)")
    verb.add_argument(
        "-p",
        "--parameter",
        type=_assignment,
        default=[],
        action="append",
        metavar="NAME=VALUE",
        help="any parameter; goes to the notebooks that declare it",
    )
    _add_output(verb)
    verb.add_argument("--workers", type=int, default=2, metavar="N", help="processes (default: 2)")

    verb = _verb(verbs, _report, "report", "join executed notebooks into a page; print the tables")
    _add_output(verb)
    verb.add_argument(
        "--page-dir",
        type=Path,
        default=Path("results/runs/report"),
        metavar="DIR",
        help="where index.html goes (default: %(default)s)",
    )
    verb.add_argument(
        "--run", dest="run_name", default="", help="graded run to show (default: last)"
    )
    return parser


def _validate_contracts(options: argparse.Namespace) -> int:
    from deermem_eval.protocol import load_protocol
    from deermem_eval.selection import protocol_selector

    protocol = load_protocol(options.protocol)
    selector = protocol_selector(protocol.config, options.selector)
    if options.json:
        return _print_json(
            {
                "protocol_id": protocol.config.protocol_id,
                "official_cases": len(protocol.official.case_ids),
                "synthetic_cases": len(protocol.synthetic.cases),
                "missing_texts": list(protocol.missing_texts),
                "selector": selector.name,
                "artifacts": protocol.identity.as_dict(),
            }
        )
    print(
        f"{protocol.config.protocol_id}: {len(protocol.official.case_ids)} official and "
        f"{len(protocol.synthetic.cases)} synthetic cases, policy version "
        f"{selector.policy_version}: valid"
    )
    for name, value in protocol.identity.as_dict().items():
        print(f"{name:28}{value}")
    if protocol.missing_texts:
        print(f"facts only: {' and '.join(protocol.missing_texts)} are not there")
    return DONE


def _validate(options: argparse.Namespace) -> int:
    from deermem_eval.cases import (
        build_bank,
        build_cases,
        load_records,
        refuse_other_selection,
        select_official_cases,
    )
    from deermem_eval.protocol import load_protocol
    from deermem_eval.selection import protocol_selector

    protocol = load_protocol(options.protocol)
    protocol_selector(protocol.config, options.selector)
    records = load_records(protocol, options.dataset)
    if options.dataset:
        refuse_other_selection(select_official_cases(records, protocol.official), protocol.official)
    bank = build_bank(records, protocol.config.pool)
    cases = build_cases(protocol, records)
    if options.json:
        return _print_json(
            {
                "records": len(records),
                "bank": len(bank),
                "cases": len(cases),
                "selection_recomputed": bool(options.dataset),
            }
        )
    print(
        f"{len(records)} records, {len(bank)} distractors in the bank, {len(cases)} cases with "
        f"pools of {protocol.config.pool.size}: valid"
    )
    if options.dataset:
        print("selection rule recomputed: the same official cases, id by id")
    else:
        print("selection rule not recomputed: it reads answers; name the data set with --dataset")
    return DONE


def _run_policy(options: argparse.Namespace) -> int:
    from deermem_eval.cases import load_cases
    from deermem_eval.files import refuse_occupied
    from deermem_eval.protocol import load_protocol
    from deermem_eval.selection import (
        PolicyRun,
        check_capacities,
        decide,
        decision_table,
        policy_settings,
        protocol_selector,
        retention_by_scenario,
        retention_by_suite,
        retention_rows,
        write_policy_run,
    )

    protocol = load_protocol(options.protocol)
    config = protocol.config
    if options.output_dir:
        refuse_occupied(options.output_dir)
    settings = policy_settings(config, policies=options.policy, weights=options.weights)
    capacities = check_capacities(options.capacity or config.pool.capacities, config.pool.size)
    selector = protocol_selector(config, options.selector)
    cases = load_cases(protocol, options.dataset)
    decisions = decide(cases, settings, capacities, now=config.evaluation_time, selector=selector)
    if options.output_dir:
        run = PolicyRun(protocol, settings, capacities, selector, decisions)
        write_policy_run(run, options.output_dir, created_at=datetime.now(UTC))
        _say(f"{len(decisions)} decisions written to {options.output_dir}")
    if options.json:
        return _print_json({"rows": len(decisions), "retention": retention_rows(decisions)})
    from deermem_eval.report import retention_overview, text_table

    table = decision_table(decisions)
    print(text_table(retention_overview(retention_by_scenario(table), retention_by_suite(table))))
    return DONE


def _notebooks(options: argparse.Namespace) -> int:
    from deermem_eval.report import plan_notebooks, run_notebooks

    given = {
        "protocol": options.protocol,
        "dataset": str(options.dataset.absolute()) if options.dataset else None,
        "capacity": options.capacity,
        "weights": options.weights or None,
        "selector": options.selector or None,
        "output_dir": str(options.output_dir.absolute()) if options.output_dir else None,
    }
    parameters = {name: value for name, value in given.items() if value is not None}
    parameters |= dict(options.parameter)
    tasks = plan_notebooks(options.notebooks, parameters)
    _say(f"executing {len(tasks)} notebooks: {', '.join(task.name for task in tasks)}")
    outcomes = run_notebooks(tasks, _executed_dir(options), workers=options.workers)
    for outcome in outcomes:
        if outcome.failure:
            _say(f"{outcome.name}: {outcome.failure} (partial notebook: {outcome.path})")
        else:
            print(f"{outcome.name}: {outcome.path}")
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed and all(outcome.refused for outcome in failed):
        return REFUSED
    return DOES_NOT_HOLD if failed else DONE


def _report(options: argparse.Namespace) -> int:
    from deermem_eval.places import working_path
    from deermem_eval.protocol import load_protocol
    from deermem_eval.report import results_folder, text_table, write_report

    protocol = load_protocol(options.protocol)
    index, overviews = write_report(
        protocol,
        results_dir=results_folder(options.output_dir or "", protocol),
        executed_dir=_executed_dir(options),
        page_dir=working_path(options.page_dir),
        run=options.run_name,
    )
    if options.json:
        return _print_json(
            {
                "page": str(index),
                "tables": {
                    caption: table.to_dict("records") for caption, table in overviews.items()
                },
            }
        )
    for caption, table in overviews.items():
        print(f"{caption}\n\n{text_table(table)}\n")
    print(f"page: {index}")
    return DONE


def _executed_dir(options: argparse.Namespace) -> Path:
    from deermem_eval.places import working_path
    from deermem_eval.protocol import load_protocol

    name = load_protocol(options.protocol).name
    return working_path(options.executed_dir or Path("results/runs/notebooks") / name)


def _verb(verbs, run, name: str, summary: str) -> argparse.ArgumentParser:  # type: ignore[no-untyped-def]
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=summary, description=f"{summary[:1].upper()}{summary[1:]}.", allow_abbrev=False
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--protocol",
        default="pr4789",
        metavar="NAME|DIR",
        help="a shipped protocol, or a folder with configs/, manifests/ and prompts/ "
        "(default: %(default)s)",
    )
    if name != "notebooks":
        parser.add_argument("--json", action="store_true", help="print JSON for machines")
    return parser


def _add_dataset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dataset",
        type=Path,
        metavar="FILE",
        help="the LongMemEval file that the protocol pins (default: its records.csv)",
    )


def _add_selector(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--selector",
        default=os.environ.get(SELECTOR_ENVIRONMENT, ""),
        metavar="MODULE:FUNCTION",
        help="another implementation of select_facts_for_capacity() "
        f"(default: ours, or the environment variable {SELECTOR_ENVIRONMENT})",
    )


def _add_weights(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--weights",
        type=_weights,
        default=[],
        metavar="CONFIDENCE,CONFIRMATION,ACCESS",
        help="weights of hybrid-v1, summing to 1 (default: the protocol's)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output-dir",
        type=Path,
        metavar="DIR",
        help="tables and figures (default: results/<protocol>)",
    )
    parser.add_argument(
        "--executed-dir",
        type=Path,
        metavar="DIR",
        help="executed notebooks (default: results/runs/notebooks/<protocol>)",
    )


def _integers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers") from error


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _weights(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of three numbers") from error


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def _print_json(value: object) -> int:
    print(json.dumps(value, ensure_ascii=False, indent=2))
    return DONE


def _say(message: str) -> None:
    print(message, file=sys.stderr)
