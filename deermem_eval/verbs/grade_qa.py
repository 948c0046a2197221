"""`deermem-eval grade-qa`: grade the answers of a run."""

import argparse
from pathlib import Path

from deermem_eval.verbs.options import (
    absolute,
    add_cache,
    add_dataset,
    add_json,
    add_protocol,
    cache_folder,
    print_json,
    protocol_name,
)

NAME = "grade-qa"
SUMMARY = "grade a run, blind to the policy; refuses what the protocol did not ask"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_protocol(parser)
    add_dataset(parser)
    add_cache(parser)
    parser.add_argument(
        "--output-dir", type=Path, required=True, metavar="DIR", help="the run directory of run-qa"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Grade, and print accuracy and the digest of the rows."""
    from deermem_eval.answers import answered_by
    from deermem_eval.cases import load_cases
    from deermem_eval.grades import (
        accuracy_by_scenario,
        accuracy_by_suite,
        grade_run,
        paired_by_suite,
        read_published_rows,
    )
    from deermem_eval.protocol import load_protocol, with_fetched_texts, with_run_config
    from deermem_eval.report import qa_overview, text_table

    folder = Path(absolute(options.output_dir))
    protocol = with_fetched_texts(load_protocol(protocol_name(options)), cache_folder(options))
    protocol = with_run_config(protocol, folder)
    graded = grade_run(folder, protocol, load_cases(protocol, options.dataset))
    who = answered_by(str(row["response_model"] or "") for row in graded.rows)
    if options.json:
        correct = sum(bool(row["grade_correct"]) for row in graded.rows)
        counts = {"rows": len(graded.rows), "correct": correct, "answered_by": who}
        print_json({**counts, "rows_sha256": graded.rows_sha256})
        return 0
    table = read_published_rows(folder / "qa.rows.jsonl", folder.name)
    alpha = protocol.config.statistics.alpha
    by_scenario = accuracy_by_scenario(table, alpha=alpha)
    if table["policy"].nunique() == 1:
        print(text_table(by_scenario[["suite", "scenario", "policy", "cases", "correct"]]))
    else:
        by_suite = accuracy_by_suite(table, alpha=alpha)
        paired = paired_by_suite(table, protocol.config)
        print(text_table(qa_overview(by_scenario, by_suite, paired)))
    print(f"answered by {who}")
    print(f"SHA-256 of qa.rows.jsonl: {graded.rows_sha256}")
    return 0
