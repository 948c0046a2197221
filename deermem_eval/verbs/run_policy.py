"""`deermem-eval run-policy`: what each policy keeps of every case, at every capacity."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from deermem_eval.verbs.options import (
    absolute,
    add_capacities,
    add_dataset,
    add_json,
    add_policies,
    add_protocol,
    add_selector,
    add_weights,
    policies_given,
    print_json,
    protocol_name,
    say,
    selector_name,
)

NAME = "run-policy"
SUMMARY = "decide every case, and count what is retained"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_protocol(parser)
    add_dataset(parser)
    parser.add_argument(
        "--output-dir",
        type=Path,
        metavar="DIR",
        help="new folder for run.json, policy.raw.jsonl and summary.json; none: print only",
    )
    add_capacities(parser, "facts kept of a pool (default: the protocol's capacities)")
    add_policies(parser, "the protocol's two")
    add_weights(parser)
    add_selector(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Decide, write the run if a folder is named, and print the retention."""
    from deermem_eval.cases import load_cases, records_file
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

    protocol = load_protocol(protocol_name(options))
    config = protocol.config
    output_dir = Path(absolute(options.output_dir)) if options.output_dir else None
    if output_dir:
        refuse_occupied(output_dir)
    settings = policy_settings(
        config, policies=policies_given(options.policy), weights=options.weights
    )
    capacities = check_capacities(options.capacity or config.pool.capacities, config.pool.size)
    selector = protocol_selector(config, selector_name(options.selector))
    cases = load_cases(protocol, options.dataset)
    decisions = decide(cases, settings, capacities, now=config.evaluation_time, selector=selector)
    if output_dir:
        source = records_file(protocol, options.dataset)
        made = PolicyRun(protocol, settings, capacities, selector, decisions, source)
        write_policy_run(made, output_dir, created_at=datetime.now(UTC))
        say(f"{len(decisions)} decisions written to {output_dir}")
    if options.json:
        print_json({"rows": len(decisions), "retention": retention_rows(decisions)})
        return 0
    from deermem_eval.report import retention_overview, text_table

    table = decision_table(decisions)
    print(text_table(retention_overview(retention_by_scenario(table), retention_by_suite(table))))
    return 0
