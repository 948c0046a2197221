"""`deermem-eval notebooks`: execute the notebooks as a batch."""

import argparse

from deermem_eval.errors import DeermemEvalError
from deermem_eval.verbs.options import (
    DEFAULT_PROTOCOL,
    absolute,
    add_dataset,
    add_output,
    add_protocol,
    add_selector,
    add_weights,
    assignment,
    positive_number,
    protocol_name,
    protocol_source,
    run_source,
    say,
    selector_name,
)

NAME = "notebooks"
SUMMARY = "execute the notebooks as a batch"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help="names (default: all)")
    add_protocol(parser)
    add_dataset(parser)
    parser.add_argument("--capacity", metavar="N", help="facts kept of a pool (default: 7)")
    add_weights(parser)
    add_selector(parser)
    parser.add_argument(
        "-p",
        "--parameter",
        type=assignment,
        default=[],
        action="append",
        metavar="NAME=VALUE",
        help="any parameter; goes to the notebooks that declare it",
    )
    add_output(parser)
    parser.add_argument(
        "--workers", type=positive_number, default=2, metavar="N", help="processes (default: 2)"
    )


def run(options: argparse.Namespace) -> int:
    """Check all parameters, execute, and print where each notebook is."""
    from deermem_eval.files import refuse_unwritable
    from deermem_eval.protocol import load_protocol
    from deermem_eval.report import (
        plan_notebooks,
        run_notebooks,
        shipped_notebooks,
        study_folders,
    )

    given = {
        "protocol": protocol_name(options) if options.protocol else None,
        "dataset": absolute(options.dataset) or None,
        "capacity": options.capacity,
        "weights": options.weights or None,
        "selector": options.selector or None,
    }
    parameters = {name: value for name, value in given.items() if value is not None}
    for name, value in options.parameter:
        if name in parameters:
            raise DeermemEvalError(f"parameter {name!r} is given twice; keep one")
        parameters[name] = value
    for name, normal in {
        "protocol": protocol_source,
        "dataset": absolute,
        "run": run_source,
    }.items():
        if name in parameters:
            parameters[name] = normal(parameters[name])
    output_dir = absolute(options.output_dir) or parameters.pop("output_dir", "")
    selector = selector_name(parameters.get("selector", ""))  # the environment's: where declared
    protocol = load_protocol(parameters.get("protocol", DEFAULT_PROTOCOL))
    folders = study_folders(
        protocol,
        absolute(output_dir),
        is_changed=bool(selector or set(parameters) - {"protocol", "dataset"}),
    )
    offered = {"selector": selector} if selector else {}
    if folders != study_folders(protocol):
        offered["output_dir"] = str(folders.results)
    tasks = plan_notebooks(options.notebooks, parameters, where_declared=offered)
    names = [task.name for task in tasks]
    refuse_unwritable(folders.results)
    say(f"executing {', '.join(names)}; tables and figures go to {folders.results}")
    if not options.notebooks:
        for name in [name for name in shipped_notebooks() if name not in names]:
            say(f"left out {name}: the protocol has no texts, no graded run, or no part in it")
    outcomes = run_notebooks(tasks, folders.executed, workers=options.workers)
    for outcome in outcomes:
        if outcome.failure:
            say(f"{outcome.name}: {outcome.failure} (partial notebook: {outcome.path})")
        else:
            print(f"{outcome.name}: {outcome.path}")
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed and all(outcome.refused for outcome in failed):
        return 2
    return 1 if failed else 0
