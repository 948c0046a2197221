"""`deermem-eval simulate`: what each policy would have kept of whole lives, against the bound."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from deermem_eval.verbs.options import (
    absolute,
    add_cache,
    add_capacities,
    add_json,
    add_policies,
    add_workers,
    cache_folder,
    names,
    policies_given,
    print_json,
    say,
)

if TYPE_CHECKING:
    import pandas as pd

NAME = "simulate"
SUMMARY = "let stores live through traces: what each policy keeps of what will be needed"
PLACED = "traced"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "trace",
        nargs="?",
        default="made",
        metavar="TRACE",
        help="made (the default: ten lives from documented distributions), locomo (fetch it first), a "
        "DeerMem folder, a LongMemEval .json, or a .jsonl or .parquet file in the trace format",
    )
    add_capacities(parser, "facts that a store holds (default: 25,50,75,100,150,200)")
    add_policies(parser, "ten, with the clairvoyant")
    parser.add_argument(
        "--confidence",
        type=names,
        default=[],
        action="extend",
        metavar="MODEL[,MODEL...]",
        help="models of confidence: constant, stored, or rho=R with R from 0 (blind) to 1 (knows what "
        "will be needed) (default: constant,rho=0,rho=0.3,rho=0.6,rho=1)",
    )
    parser.add_argument(
        "--recency",
        type=recencies,
        default=[],
        action="extend",
        metavar="LAMBDA[,LAMBDA...]",
        help=f"when needs come: {PLACED} (the default), or from 0 (all at the end of the life) to 1 "
        "(each as soon as its facts are there)",
    )
    parser.add_argument(
        "--seeds", type=int, default=20, metavar="N", help="stores a setting (default: 20)"
    )
    parser.add_argument(
        "--top-k",
        type=int,
        metavar="N",
        help="facts that each turn of a person hits, where a trace is made of texts (default: 5)",
    )
    parser.add_argument(
        "--remention-probability",
        type=float,
        metavar="P",
        help="with which a very near turn confirms a fact (default: 0.25)",
    )
    add_cache(parser)
    parser.add_argument(
        "--output-file", metavar="FILE", help="where every outcome goes as CSV (default: nowhere)"
    )
    parser.add_argument(
        "--trace-file", metavar="FILE", help="where the trace goes as JSONL, without texts"
    )
    add_workers(parser)
    add_json(parser)


def recencies(text: str) -> list[float | None]:
    """Read `traced,0,0.5`."""
    try:
        return [None if part == PLACED else float(part) for part in names(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no list of numbers in 0..1, or {PLACED}"
        ) from error


def run(options: argparse.Namespace) -> int:
    """Simulate, and print shares of needs met and how the policies compare."""
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.files import write_file
    from deermem_eval.traces import (
        SignalModel,
        Study,
        check_study,
        compare_policies,
        comparison_in_words,
        load_traces,
        run_study,
        shares_by_setting,
        write_traces,
    )

    given = {
        "policies": tuple(policies_given(options.policy)),
        "capacities": tuple(options.capacity),
        "confidence": tuple(options.confidence),
        "recencies": tuple(options.recency),
    }
    study = Study(seeds=options.seeds, **{name: of for name, of in given.items() if of})
    assumed = {"top_k": options.top_k, "remention_probability": options.remention_probability}
    model = SignalModel(**{name: value for name, value in assumed.items() if value is not None})
    loaded = load_traces(options.trace, cache_folder(options), model=model)
    traces = loaded.traces
    check_study(traces, study)
    for path in filter(None, (options.output_file, options.trace_file)):
        if Path(absolute(path)).is_dir():
            raise DeermemEvalError(f"{path} is a folder; name a file")
    stores = len(traces) * len(study.policies) * len(study.capacities) * len(study.confidence)
    say(f"{loaded.in_words()}; simulating {stores * study.seeds:,} stores")
    if options.trace_file:
        write_traces(Path(absolute(options.trace_file)), traces)
    began = time.perf_counter()
    outcomes = run_study(traces, study, workers=options.workers, scheduler=options.scheduler)
    settings = shares_by_setting(outcomes)
    baseline = "confidence" if "confidence" in study.policies else study.policies[0]
    compared = compare_policies(outcomes, baseline=baseline)
    say(f"simulated in {time.perf_counter() - began:.1f} s")
    if options.output_file:
        path = Path(absolute(options.output_file))
        write_file(path, outcomes.to_csv(index=False, lineterminator="\n").encode())
        say(f"{len(outcomes)} outcomes written to {path}")
    if options.json:
        print_json(
            {
                "lives": len(traces),
                "facts": sum(len(trace.fact_ids) for trace in traces),
                "needs": sum(len(trace.needs) for trace in traces),
                "unanswerable": loaded.unanswerable,
                "needless": loaded.needless,
                "settings": _records(settings),
                "comparisons": _records(compared),
            }
        )
        return 0
    _print(settings)
    named = given["policies"] or ("hybrid-v1",)
    for line in comparison_in_words(compared, policies=[one for one in named if one != baseline]):
        print(line)
    return 0


def _records(table: "pd.DataFrame") -> list[dict[str, object]]:
    """Return rows as plain values; what is missing is null."""
    import pandas as pd

    return [
        {str(key): None if pd.isna(value) else value for key, value in row.items()}
        for row in table.to_dict("records")
    ]


def _print(settings: "pd.DataFrame") -> None:
    import pandas as pd

    from deermem_eval.report import text_table

    bounds = settings[settings["policy"] == "bound"]
    for recency in settings["recency"].unique():
        for confidence in [one for one in settings["confidence"].unique() if one]:
            of = settings[(settings["confidence"] == confidence) & (settings["recency"] == recency)]
            of = pd.concat([of, bounds[bounds["recency"] == recency]])
            wide = of.pivot(index="policy", columns="capacity", values="share")
            wide = wide.loc[list(of["policy"].unique())].map("{:.3f}".format)
            placed = "needs as traced" if recency == PLACED else f"recency of needs {recency}"
            print(f"share of needs met at each capacity; confidence {confidence}, {placed}\n")
            print(text_table(wide.reset_index().rename_axis(columns=None)), end="\n\n")
