"""The catalogue: every single-detail variant against the protocol itself, and which layers see it."""

import pandas as pd

from deermem_eval.drift.ladder import compare_sides
from deermem_eval.drift.sides import LAYERS, Layer, RecordsOf, variant_side
from deermem_eval.drift.variants import CATALOGUE, HISTORICAL_VARIANT, UNSEEN
from deermem_eval.protocol import Protocol

CATALOGUE_LAYERS: tuple[Layer, ...] = LAYERS[: LAYERS.index("request bytes") + 1]
"""The layers that a variant can show: all but what only a model's answers show."""


def drift_catalogue(protocol: Protocol, records_of: RecordsOf) -> pd.DataFrame:
    """Compare every single-detail variant with the protocol.

    Parameters
    ----------
    protocol : Protocol
    records_of : callable
        From details to records; `deermem_eval.cases.record_source()` makes one.

    Returns
    -------
    DataFrame
        One row a variant: `variant`, `says`; for each layer of `CATALOGUE_LAYERS` a column with how
        many of its keys differ, missing where the layer is not shown; and `unseen`, which says why
        where no request differs.
    """
    base = variant_side(protocol, HISTORICAL_VARIANT, records_of)
    rows = []
    for variant in CATALOGUE.values():
        side = variant_side(protocol, variant, records_of)
        differing: dict[str, int | None] = dict.fromkeys(CATALOGUE_LAYERS)
        if side.layers:
            ladder = compare_sides(base, side)
            differing |= {rung.layer: len(rung.differences) for rung in ladder.rungs}
        unseen = ""
        if differing["request bytes"] == 0:
            unseen = UNSEEN.get(variant.name, "not known why")
        elif not side.layers:
            unseen = "needs the data set"
        elif not any(differing.values()):
            unseen = "needs the texts"
        rows.append({"variant": variant.name, "says": variant.says, **differing, "unseen": unseen})
    table = pd.DataFrame(rows)
    return table.astype(dict.fromkeys(CATALOGUE_LAYERS, "Int64"))


def blind_layers(catalogue: pd.DataFrame) -> pd.DataFrame:
    """Count, for each layer, the variants that it shows and those to which it is blind.

    Returns
    -------
    DataFrame
        Columns `layer`, `shown` (variants computed at that layer), `changing` (those of them that
        change anything at any layer), `blind` (those of these that change nothing at this one).
    """
    layers = list(CATALOGUE_LAYERS)
    changes = catalogue[layers].fillna(0).gt(0).any(axis=1)
    rows = [
        (
            layer,
            int(catalogue[layer].notna().sum()),
            int((catalogue[layer].notna() & changes).sum()),
            int((catalogue[layer].eq(0) & changes).fillna(False).sum()),
        )
        for layer in layers
    ]
    return pd.DataFrame(rows, columns=["layer", "shown", "changing", "blind"])
