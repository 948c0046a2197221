"""`deermem-eval notebooks`: execute the notebooks as a batch."""

import argparse

from deermem_eval.verbs.options import (
    DEFAULT_PROTOCOL,
    absolute,
    add_dataset,
    add_protocol,
    add_results,
    add_selector,
    add_weights,
    assignment,
    executed_dir,
    positive_number,
    protocol_name,
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
    add_results(parser)
    parser.add_argument(
        "--workers", type=positive_number, default=2, metavar="N", help="processes (default: 2)"
    )


def run(options: argparse.Namespace) -> int:
    """Check all parameters, execute, and print where each notebook is."""
    from deermem_eval.report import plan_notebooks, run_notebooks

    given = {
        "protocol": protocol_name(options) if options.protocol else None,
        "dataset": absolute(options.dataset) or None,
        "capacity": options.capacity,
        "weights": options.weights or None,
        "selector": options.selector or None,
        "output_dir": absolute(options.output_dir) or None,
    }
    parameters = {name: value for name, value in given.items() if value is not None}
    parameters |= dict(options.parameter)
    selector = selector_name(options)  # of the environment: no notebook need declare it
    tasks = plan_notebooks(
        options.notebooks,
        parameters,
        where_declared={"selector": selector} if selector else {},
    )
    folder = executed_dir(options, parameters.get("protocol", DEFAULT_PROTOCOL))
    say(f"executing {len(tasks)} notebooks: {', '.join(task.name for task in tasks)}")
    outcomes = run_notebooks(tasks, folder, workers=options.workers)
    for outcome in outcomes:
        if outcome.failure:
            say(f"{outcome.name}: {outcome.failure} (partial notebook: {outcome.path})")
        else:
            print(f"{outcome.name}: {outcome.path}")
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed and all(outcome.refused for outcome in failed):
        return 2
    return 1 if failed else 0
