"""`deermem-eval validate-contracts`: whether the protocol files are sound and agree."""

import argparse

from deermem_eval.verbs.options import (
    add_json,
    add_protocol,
    add_selector,
    print_json,
    protocol_name,
    selector_name,
)

NAME = "validate-contracts"
SUMMARY = "check the protocol's files, without data"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_protocol(parser)
    add_selector(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Load and check the protocol; print its identity and what it lacks."""
    from deermem_eval.protocol import load_protocol
    from deermem_eval.selection import protocol_selector

    protocol = load_protocol(protocol_name(options))
    selector = protocol_selector(protocol.config, selector_name(options.selector))
    official, synthetic = len(protocol.official.case_ids), len(protocol.synthetic.cases)
    if options.json:
        print_json(
            {
                "protocol_id": protocol.config.protocol_id,
                "official_cases": official,
                "synthetic_cases": synthetic,
                "missing_texts": list(protocol.missing_texts),
                "selector": selector.name,
                "artifacts": protocol.identity.as_dict(),
            }
        )
        return 0
    print(
        f"{protocol.config.protocol_id}: {official} official and {synthetic} synthetic cases, "
        f"policy version {selector.policy_version}: valid"
    )
    for name, value in protocol.identity.as_dict().items():
        print(f"{name:28}{value}")
    if protocol.missing_texts:
        print(f"facts only: {' and '.join(protocol.missing_texts)} are not there")
    return 0
