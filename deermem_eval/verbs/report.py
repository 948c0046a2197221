"""`deermem-eval report`: join executed notebooks into a page, and print the two tables."""

import argparse

from deermem_eval.verbs.options import (
    absolute,
    add_json,
    add_output,
    add_protocol,
    print_json,
    protocol_name,
)

NAME = "report"
SUMMARY = "join executed notebooks into a page; print the tables"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_protocol(parser)
    add_output(parser)
    parser.add_argument(
        "--run",
        dest="run_name",
        default="",
        metavar="NAME",
        help="graded run to show (default: the last)",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Write the page; print its tables and its path."""
    from deermem_eval.protocol import load_protocol
    from deermem_eval.report import study_folders, text_table, write_report

    protocol = load_protocol(protocol_name(options))
    folders = study_folders(protocol, absolute(options.output_dir))
    index, overviews = write_report(protocol, folders, run=options.run_name)
    if options.json:
        tables = {caption: table.to_dict("records") for caption, table in overviews.items()}
        print_json({"page": str(index), "tables": tables})
        return 0
    for caption, table in overviews.items():
        print(f"{caption}\n\n{text_table(table)}\n")
    print(f"page: {index}")
    return 0
