"""`deermem-eval drift`: at which layer two protocols or runs part, and by what."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from deermem_eval.verbs.options import (
    add_cache,
    add_dataset,
    add_json,
    add_protocol,
    add_upstream,
    cache_folder,
    print_json,
    protocol_name,
    run_source,
    say,
)

if TYPE_CHECKING:
    import pandas as pd

    from deermem_eval.drift import DriftStudy, Ladder

NAME = "drift"
SUMMARY = "compare two protocol variants or runs, from the aggregate down to bytes"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    for name in ("a", "b"):
        parser.add_argument(
            name,
            nargs="?",
            metavar=name.upper(),
            help="a variant (historical, run1, run2, run3, or one that --catalogue lists), or a folder "
            "(with a slash: ./run1): a run directory, or published rows",
        )
    parser.add_argument(
        "--catalogue",
        action="store_true",
        help="instead, every variant of a single detail against the protocol: which layers see it",
    )
    add_protocol(parser)
    add_dataset(parser)
    add_upstream(parser)
    add_cache(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Compare, and print what agrees, what parts, and the first differences."""
    from deermem_eval.drift import compare_sides, load_drift_study, noise_of
    from deermem_eval.errors import DeermemEvalError
    from deermem_eval.protocol import load_protocol, with_fetched_texts

    if options.catalogue == bool(options.a or options.b):
        raise DeermemEvalError("drift takes two names, A and B, or --catalogue and no names")
    if not options.catalogue and not options.b:
        raise DeermemEvalError(f"drift needs a second name beside {options.a!r}; --help says which")
    facts = load_protocol(protocol_name(options))
    texts = (
        load_protocol(options.upstream)
        if options.upstream
        else with_fetched_texts(facts, cache_folder(options))
    )
    study = load_drift_study(facts, texts, options.dataset)
    if options.catalogue:
        return _print_catalogue(study, options)
    a, b = (study.side(run_source(name)) for name in (options.a, options.b))
    if a.name == b.name and options.a != options.b:  # two folders of one name
        a, b = replace(a, name=options.a), replace(b, name=options.b)
    ladder = compare_sides(a, b)
    published = study.outcomes if {options.a, options.b} <= study.published else None
    noise = noise_of(a, b, alpha=facts.config.statistics.alpha, more=published)
    if options.json:
        print_json(
            {
                "layers": [
                    {"name": rung.layer, "equal": rung.equal, "compared": rung.compared}
                    for rung in ladder.rungs
                ],
                "agrees_down_to": ladder.agrees_down_to,
                "parts_at": ladder.parts_at,
                "identical": ladder.is_identical,
                "notes": list(ladder.notes),
                "noise": [table.to_dict("records") for table in noise],
            }
        )
    else:
        _print(ladder, *noise)
    return 0 if ladder.is_identical else 1


def _print(ladder: "Ladder", floor: "pd.DataFrame", against: "pd.DataFrame") -> None:
    from deermem_eval.drift import differences_in_words, printable
    from deermem_eval.report import text_table

    print(text_table(ladder.table()))
    for rung in ladder.rungs:
        for line in differences_in_words(ladder, rung):
            print(line)
    for note in ladder.notes:
        say(printable(note))
    for row in floor.to_dict("records"):
        print(
            f"the same request twice, by {row['between']}: {row['layer']} differs in "
            f"{row['differing']} of {row['pairs']} pairs [{row['lower']:.3f}, {row['upper']:.3f}]"
        )
    for row in against.to_dict("records"):
        found = "more than noise: drift" if row["is_drift"] else "not shown to be more than noise"
        if not row["rows"]:
            print(f"{row['layer']}: every request is the same, so no difference is drift")
            continue
        print(
            f"{row['layer']} differs in {row['differing']} of {row['rows']} rows with other requests: "
            f"{found} (p = {row['p_value']:.3g} against {row['floor_differing']} of "
            f"{row['floor_pairs']} repeats)"
        )
    print(ladder.verdict)


def _print_catalogue(study: "DriftStudy", options: argparse.Namespace) -> int:
    from deermem_eval.drift import blind_layers, drift_catalogue
    from deermem_eval.report import text_table

    catalogue = drift_catalogue(study.protocol, study.records_of)
    blind = blind_layers(catalogue)
    if options.json:
        rows = catalogue.astype(object).where(catalogue.notna(), None).to_dict("records")
        print_json({"variants": rows, "layers": blind.to_dict("records")})
        return 0
    print(text_table(catalogue.astype(object).where(catalogue.notna(), "")))
    changed = (
        "anything" if blind["shown"].all() else "pools, scores or decisions (there are no texts)"
    )
    for row in blind[blind["shown"] > 0].to_dict("records"):
        print(
            f"{row['layer']}: blind to {row['blind']} of {row['changing']} details that change {changed}"
        )
    return 0
