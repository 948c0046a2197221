"""`deermem-eval validate`: whether the data gives the cases that the protocol lists."""

import argparse

from deermem_eval.verbs.options import (
    add_dataset,
    add_json,
    add_protocol,
    add_selector,
    print_json,
    protocol_name,
    selector_name,
)

NAME = "validate"
SUMMARY = "check protocol and data: selection, bank, pools"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_protocol(parser)
    add_dataset(parser)
    add_selector(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Build bank and pools, recompute the selection where texts allow it, and print the counts."""
    from deermem_eval.cases import (
        build_bank,
        build_cases,
        load_records,
        refuse_other_selection,
        select_official_cases,
    )
    from deermem_eval.protocol import load_protocol
    from deermem_eval.selection import protocol_selector

    protocol = load_protocol(protocol_name(options))
    protocol_selector(protocol.config, selector_name(options.selector))
    records = load_records(protocol, options.dataset)
    has_texts = any(record.texts for record in records)
    if has_texts:
        selected = select_official_cases(records, protocol.official)
        refuse_other_selection(selected, protocol.official)
    bank = build_bank(records, protocol.config.pool)
    cases = build_cases(protocol, records)
    if options.json:
        print_json(
            {
                "records": len(records),
                "bank": len(bank),
                "cases": len(cases),
                "selection_recomputed": has_texts,
            }
        )
        return 0
    print(
        f"{len(records)} records, {len(bank)} distractors in the bank, {len(cases)} cases with "
        f"pools of {protocol.config.pool.size}: valid"
    )
    if has_texts:
        print("selection rule recomputed: the same official cases, id by id")
    else:
        print("selection rule not recomputed: it reads answers; name the data set with --dataset")
    return 0
