"""Variants: each changes what it says, through the one pipeline."""

import dataclasses
import json

import pytest

from deermem_eval.answers import run_tasks
from deermem_eval.cases import build_cases
from deermem_eval.drift import (
    CATALOGUE,
    CATALOGUE_LAYERS,
    HISTORICAL_VARIANT,
    PUBLISHED,
    UNSEEN,
    Variant,
    blind_layers,
    drift_catalogue,
    varied,
)
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol.details import HISTORICAL, Details

DETAILS_OF_THE_CONFIG = {
    *("pool.distractor_max_evidence_chars", "pool.distractor_min_evidence_chars"),
    *("pool.distractor_bank_size", "pool.offset_namespace", "pool.fact_order", "evaluation_time"),
    *("policies.hybrid_v1.confirmation_half_life_days", "policies.hybrid_v1.access_half_life_days"),
    *("policies.hybrid_v1.weights.confidence", "policies.hybrid_v1.weights.confirmation"),
    *("policies.hybrid_v1.correction_reserved_max", "qa.model", "qa.temperature", "qa.max_tokens"),
    "qa.stream",
}


def test_the_catalogue_changes_every_detail_and_one_at_a_time():
    assert len(CATALOGUE) >= 28
    changed = {key for variant in CATALOGUE.values() for key in variant.changes}
    assert changed == {field.name for field in dataclasses.fields(Details)} | DETAILS_OF_THE_CONFIG
    assert all(variant.is_single for variant in CATALOGUE.values())
    assert len({variant.says for variant in CATALOGUE.values()}) == len(CATALOGUE)


def test_the_historical_variant_changes_nothing(sample_study):
    assert varied(sample_study.protocol, HISTORICAL_VARIANT) == sample_study.protocol
    assert sample_study.protocol.details == HISTORICAL


def test_a_variant_of_a_setting_that_is_none_is_refused(sample_study):
    with pytest.raises(DeermemEvalError, match="the protocol has no setting 'temprature'"):
        varied(sample_study.protocol, Variant("mine", {"qa.temprature": 1.0}, "warmer"))


def refuse_unlisted(catalogue):
    for row in catalogue.to_dict("records"):
        seen_by = [layer for layer in CATALOGUE_LAYERS if row[layer] > 0]
        if "request bytes" in seen_by:
            assert row["unseen"] == ""
        else:
            assert row["unseen"] == UNSEEN[row["variant"]], seen_by


def test_each_variant_is_seen_in_the_requests_or_listed_with_the_reason(sample_catalogue):
    refuse_unlisted(sample_catalogue)
    assert sample_catalogue["request bytes"].gt(0).sum() == 31


def test_each_variant_of_the_historical_protocol_is_seen_or_listed(reference_study):
    catalogue = drift_catalogue(reference_study.protocol, reference_study.records_of)
    refuse_unlisted(catalogue)
    by_variant = catalogue.set_index("variant")
    header = by_variant.loc["bracket-header"]
    assert header[list(CATALOGUE_LAYERS)].to_dict() == {
        "retention totals": 0,
        "retained flags": 0,
        "bank": 2,
        "pools": 33,
        "metadata": 265,
        "scores": 467,
        "kept sets": 65,
        "kept order": 65,
        "request bytes": 90,
    }
    raw, newline = by_variant.loc["raw-ids"], by_variant.loc["single-newline"]
    assert (raw["kept sets"], raw["request bytes"]) == (2, 90)
    assert (newline["kept sets"], newline["request bytes"]) == (0, 90)


def test_without_texts_the_same_layers_come_out_above_the_requests(facts_study, reference_study):
    facts = drift_catalogue(facts_study.protocol, facts_study.records_of).set_index("variant")
    texts = drift_catalogue(reference_study.protocol, reference_study.records_of)
    texts = texts.set_index("variant")
    computed = facts[facts["unseen"] != "needs the data set"].index
    assert len(computed) == len(facts) - 3
    layers = list(CATALOGUE_LAYERS[:-1])
    assert facts.loc[computed, layers].equals(texts.loc[computed, layers])
    assert facts["request bytes"].isna().all()


def test_the_blind_are_counted_among_what_changes_anything(sample_catalogue):
    blind = blind_layers(sample_catalogue).set_index("layer")
    assert blind["changing"].eq(34).all()
    for layer in CATALOGUE_LAYERS:
        assert blind.loc[layer, "blind"] == 34 - sample_catalogue[layer].gt(0).sum()


@pytest.mark.parametrize("run", PUBLISHED)
def test_the_published_runs_come_out_byte_for_byte(reference_study, reference, run):
    protocol = varied(reference_study.protocol, PUBLISHED[run])
    tasks = run_tasks(protocol, build_cases(protocol, reference_study.records_of(protocol.details)))
    lines = (reference / "published" / run / "qa.rows.jsonl").read_text("utf-8").splitlines()
    published = {row["row_id"]: row for row in map(json.loads, lines)}
    assert len(tasks) == len(published) == 90
    for task in tasks:
        row = published[task.row_id]
        assert task.fingerprint == row["request_fingerprint"]
        assert list(task.decision.kept_fact_ids) == row["kept_fact_ids"]
