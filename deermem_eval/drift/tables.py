"""Tables of drift: several sides against one, and the way of one change from layer to layer."""

from collections.abc import Sequence

import pandas as pd

from deermem_eval.drift.ladder import Ladder, compare_sides
from deermem_eval.drift.sides import Side, variant_side
from deermem_eval.drift.study import DriftStudy
from deermem_eval.drift.variants import CATALOGUE, HISTORICAL_NAME, VARIANTS, varied

FLOW_LAYERS = ("bank", "pools", "metadata", "kept sets", "request bytes", "retention totals")


def agreement_table(sides: Sequence[Side], base: Side) -> pd.DataFrame:
    """Compare several sides with one.

    Parameters
    ----------
    sides : sequence of Side
    base : Side
        May be among them.

    Returns
    -------
    DataFrame
        Columns `side`, `base`, `layer`, `equal`, `compared`; a row for each side and layer that
        both show, layers from the aggregate down.
    """
    parts = [
        compare_sides(side, base).table().assign(side=side.name, base=base.name) for side in sides
    ]
    return pd.concat(parts, ignore_index=True)[["side", "base", "layer", "equal", "compared"]]


def totals_table(sides: Sequence[Side]) -> pd.DataFrame:
    """Count the support facts that each side retains.

    Returns
    -------
    DataFrame
        Columns `side`, `policy`, `cases`, `retained`, over all scenarios.
    """
    rows = [
        {"side": side.name, "policy": str(row).rpartition("__")[2], "retained": bool(flag)}
        for side in sides
        for row, flag in side.layers["retained flags"].items()
    ]
    counts = pd.DataFrame(rows).groupby(["side", "policy"], sort=False)["retained"]
    table = counts.agg(cases="size", retained="sum")
    return table.reset_index()[["side", "policy", "cases", "retained"]]


def first_steps(study: DriftStudy, names: Sequence[str]) -> dict[str, str]:
    """Return, for each detail that any of some variants changes, where it parts from the protocol.

    Each detail is changed alone, by the catalogue's variant of it.

    Returns
    -------
    dict of str to str
        The details, in words, by the first layer that sees them; `request bytes` where none above
        does.
    """
    base = study.side(HISTORICAL_NAME)
    changed = {key: value for name in names for key, value in VARIANTS[name].changes.items()}
    steps: dict[str, list[str]] = {}
    for variant in CATALOGUE.values():
        if variant.changes.items() <= changed.items():
            side = variant_side(study.protocol, variant, study.records_of)
            if not side.layers:
                continue
            layer = compare_sides(side, base).parts_at or "request bytes"
            steps.setdefault(layer, []).extend(key.replace("_", " ") for key in variant.changes)
    return {layer: ", ".join(details) for layer, details in steps.items()}


def flow_table(study: DriftStudy, before: str, after: str) -> pd.DataFrame:
    """Follow one change of the evidence's rendering from a record's length to the totals.

    Parameters
    ----------
    study : DriftStudy
    before, after : str
        Names of variants.

    Returns
    -------
    DataFrame
        Columns `step` (`length`, or a layer), `says` (in words, ids and numbers only), `differing`,
        `compared`. The first row tells the lengths of the record that leaves the bank, if one does.
        Empty where a side cannot be computed.
    """
    sides = study.side(before), study.side(after)
    if not all(side.layers for side in sides):
        return pd.DataFrame(columns=["step", "says", "differing", "compared"])
    ladder = compare_sides(*sides)
    rungs = {rung.layer: rung for rung in ladder.rungs}
    rows = []
    gone = _only_in(ladder, first=True)
    come = _only_in(ladder, first=False)
    if gone:
        chars = [_chars(study, name)[gone[0]] for name in (before, after)]
        limit = study.protocol.config.pool.distractor_max_evidence_chars
        says = f"{gone[0]} grows from {chars[0]} to {chars[1]} characters; {limit} is the bound"
        rows.append({"step": "length", "says": says, "differing": len(gone), "compared": len(gone)})
    nouns = {
        "bank": f"bank: {' '.join(gone)} leaves, {' '.join(come)} enters",
        "pools": "pools hold other distractors",
        "metadata": "pairs of pool and record have other metadata",
        "kept sets": "kept sets differ",
        "request bytes": "requests differ",
        "retention totals": "retention totals differ",
    }
    for layer in FLOW_LAYERS:
        if layer in rungs:
            rung = rungs[layer]
            differing = len(rung.differences)
            rows.append(
                {
                    "step": layer,
                    "says": nouns[layer],
                    "differing": differing,
                    "compared": rung.compared,
                }
            )
    return pd.DataFrame(rows)


def _only_in(ladder: Ladder, *, first: bool) -> list[str]:
    bank = next(rung for rung in ladder.rungs if rung.layer == "bank")
    return [str(key) for key, a, b in bank.differences if (b if first else a) is None]


def _chars(study: DriftStudy, name: str) -> dict[str, int]:
    details = varied(study.protocol, VARIANTS[name]).details
    return {record.question_id: record.evidence_chars for record in study.records_of(details)}
