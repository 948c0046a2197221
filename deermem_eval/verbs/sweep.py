"""`deermem-eval sweep`: retained support facts over weights, exact regions, and other parameters."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from deermem_eval.verbs.options import (
    absolute,
    add_capacities,
    add_dataset,
    add_json,
    add_protocol,
    add_workers,
    numbers,
    print_json,
    protocol_name,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deermem_eval.cases import Case
    from deermem_eval.protocol import ProtocolConfig

NAME = "sweep"
SUMMARY = "count what hybrid-v1 retains over a grid of weights, or in exact regions of them"
SHOWN = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_protocol(parser)
    add_dataset(parser)
    add_capacities(parser, "facts kept of a pool (default: the protocol's QA capacity)")
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--step",
        type=float,
        metavar="S",
        help="step of the grid of weights, which divides 1 (default: 0.05)",
    )
    way.add_argument(
        "--regions",
        action="store_true",
        help="the exact regions of the triangle of weights instead, and the margin of --weights",
    )
    parser.add_argument(
        "--weights",
        type=numbers,
        default=[],
        metavar="CONFIDENCE,CONFIRMATION,ACCESS",
        help="one triple instead of a grid; with --regions where the margin starts (default there: "
        "the protocol's)",
    )
    parser.add_argument(
        "--vary",
        type=variation,
        default=[],
        action="append",
        metavar="NAME=VALUE[,VALUE...]",
        help="cross the grid with values of confirmation_half_life_days, access_half_life_days, "
        "correction_reserved_fraction, correction_reserved_max, support_confirmed_days or "
        "support_access_heat; may be given several times",
    )
    parser.add_argument(
        "--output-file", metavar="FILE", help="where the whole table goes as CSV (default: nowhere)"
    )
    add_workers(parser)
    add_json(parser)


def variation(text: str) -> tuple[str, list[float]]:
    """Read `name=1,2,3`."""
    name, equals, values = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE,VALUE")
    return name, numbers(values)


def run(options: argparse.Namespace) -> int:
    """Sweep, and print the counts."""
    from deermem_eval.cases import load_cases
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.protocol import load_protocol

    protocol = load_protocol(protocol_name(options))
    cases = load_cases(protocol, options.dataset)
    if options.regions:
        if options.vary or options.output_file or options.workers > 1 or options.scheduler:
            raise DeermemEvalError(
                "--regions takes none of --vary, --output-file, --workers and --scheduler"
            )
        return _regions(options, cases, protocol.config)
    if options.step is not None and options.weights:
        raise DeermemEvalError("--step and --weights exclude one another; give one")
    return _grid(options, cases, protocol.config)


def _grid(options: argparse.Namespace, cases: "Sequence[Case]", config: "ProtocolConfig") -> int:
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.files import write_file
    from deermem_eval.report import text_table
    from deermem_eval.selection import WEIGHT_COLUMNS, simplex_grid, sweep

    names = [name for name, _ in options.vary]
    if len(names) > len(set(names)):
        raise DeermemEvalError("--vary names a parameter twice; give all of its values at once")
    step = 0.05 if options.step is None else options.step
    weights = [options.weights] if options.weights else simplex_grid(step)
    began = time.perf_counter()
    found = sweep(
        cases,
        config,
        weights=weights,
        capacities=options.capacity,
        parameters=dict(options.vary),
        workers=options.workers,
        scheduler=options.scheduler,
    )
    seconds = time.perf_counter() - began
    counts = found.counts()
    if options.output_file:
        content = counts.to_csv(index=False, lineterminator="\n").encode()
        write_file(Path(absolute(options.output_file)), content)
    every = counts[counts["retained"] == counts["cases"]]
    settings = [name for name in found.settings.columns if name not in WEIGHT_COLUMNS]
    by_setting = counts.assign(all_retained=counts["retained"] == counts["cases"])
    by_setting = by_setting.groupby(settings, sort=False).agg(
        points=("retained", "size"),
        all_retained=("all_retained", "sum"),
        fewest=("retained", "min"),
        most=("retained", "max"),
    )
    if options.json:
        print_json(
            {
                "points": len(weights),
                "settings": len(counts),
                "cases": len(cases),
                "all_retained": len(every),
                "by_setting": by_setting.reset_index().to_dict("records"),
                "triples": every.drop(columns="cases").to_dict("records"),
            }
        )
        return 0
    print(text_table(by_setting.reset_index()))
    print(f"all {len(cases)} are retained at {len(every)} of {len(counts)} settings, among them")
    print(text_table(every.drop(columns="cases").head(SHOWN)))
    say(f"{len(counts) * len(cases)} decisions in {seconds:.2f} s")
    return 0


def _regions(options: argparse.Namespace, cases: "Sequence[Case]", config: "ProtocolConfig") -> int:
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.report import text_table
    from deermem_eval.selection import (
        check_capacities,
        margin_document,
        policy_settings,
        region_study,
    )

    chosen = options.capacity or [config.pool.qa_capacity]
    (capacity,) = check_capacities(chosen[:1], config.pool.size)
    if len(chosen) > 1:
        raise DeermemEvalError("--regions are those of one capacity; give one")
    parameters = policy_settings(config, weights=options.weights)[1].parameters
    weights = [parameters[f"{name}_weight"] for name in ("confidence", "confirmation", "access")]
    study = region_study(cases, config, capacity, weights)
    document = {
        "capacity": capacity,
        "cases": len(cases),
        "weights": weights,
        "retained": study.retained,
        "share_all_retained": study.share_all_retained,
        **margin_document(study.margin),
    }
    if options.json:
        rows = [  # JSON has no infinity
            {key: None if value == float("inf") else value for key, value in row.items()}
            for row in study.by_case.to_dict("records")
        ]
        print_json({**document, "by_case": rows})
        return 0
    print(text_table(study.by_case))
    print(
        f"all {len(cases)} are retained on {study.share_all_retained:.4f} of the triangle of weights; "
        f"{study.retained} at {', '.join(f'{weight:g}' for weight in weights)}"
    )
    flips = ", ".join(study.margin.case_ids)
    print(f"the first case flips at a distance of {study.margin.distance:.4f} ({flips or 'none'}):")
    print(study.margin.in_words())
    return 0
