"""Where two things part: protocol variants and runs, compared from the aggregate down to bytes."""

from deermem_eval.drift.catalogue import CATALOGUE_LAYERS, blind_layers, drift_catalogue
from deermem_eval.drift.ladder import Ladder, Rung, compare_sides, first_differing_byte
from deermem_eval.drift.noise import (
    against_the_floor,
    exact_interval,
    exceeds_by_chance,
    natural_repeats,
    noise_floor,
)
from deermem_eval.drift.sides import (
    LAYERS,
    Side,
    outcome_side,
    run_side,
    variant_side,
)
from deermem_eval.drift.study import DriftStudy, load_drift_study, noise_of
from deermem_eval.drift.tables import agreement_table, first_steps, flow_table, totals_table
from deermem_eval.drift.variants import (
    CATALOGUE,
    HISTORICAL_NAME,
    HISTORICAL_VARIANT,
    PUBLISHED,
    UNSEEN,
    VARIANTS,
    Variant,
    varied,
)
from deermem_eval.drift.words import differences_in_words, printable

__all__ = [
    "CATALOGUE",
    "CATALOGUE_LAYERS",
    "HISTORICAL_NAME",
    "HISTORICAL_VARIANT",
    "LAYERS",
    "PUBLISHED",
    "UNSEEN",
    "VARIANTS",
    "DriftStudy",
    "Ladder",
    "Rung",
    "Side",
    "Variant",
    "against_the_floor",
    "agreement_table",
    "blind_layers",
    "compare_sides",
    "differences_in_words",
    "drift_catalogue",
    "exact_interval",
    "exceeds_by_chance",
    "first_differing_byte",
    "first_steps",
    "flow_table",
    "load_drift_study",
    "natural_repeats",
    "noise_floor",
    "noise_of",
    "outcome_side",
    "printable",
    "run_side",
    "totals_table",
    "variant_side",
    "varied",
]
