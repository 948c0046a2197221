import hashlib
from datetime import timedelta

import pytest

from deermem_eval.cases import (
    Record,
    Signals,
    bank_offset,
    build_bank,
    build_cases,
    distractor_signals,
    draw_distractors,
    load_cases,
    load_records,
    read_records,
)
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol import load_protocol


def days_ago(protocol, days):
    time = protocol.config.evaluation_time - timedelta(days=days)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def facts_by_id(case):
    return {fact["id"]: fact for fact in case.facts}


def distractors(case):
    """The distractors in the order of the draw."""
    by_id = facts_by_id(case)
    return [by_id[id_] for id_ in case.distractor_sources]


def test_the_bank_is_forty_by_id_within_the_bounds(historical):
    bank = build_bank(load_records(historical), historical.config.pool)
    ids = [record.question_id for record in bank]
    assert len(ids) == 40
    assert ids == sorted(ids)
    assert ids[-1] == "5d3d2817"
    assert "35a27287" in ids  # 697 characters
    assert "06878be2" not in ids  # 702 characters
    assert "60d45044" not in ids  # the forty-first


@pytest.mark.parametrize(
    ("chars", "is_member"), [(39, False), (40, True), (700, True), (701, False)]
)
def test_the_bounds_of_the_bank_belong_to_it(historical, chars, is_member):
    records = [r for r in load_records(historical) if r.question_id != "001be529"]
    first = Record("001be529", "single-session-user", 1, chars)
    bank = build_bank([first, *records], historical.config.pool)
    assert (bank[0] == first) == is_member


def test_a_bank_that_cannot_be_filled_is_refused(historical):
    records = load_records(historical)
    with pytest.raises(DeermemEvalError, match="39 records are eligible"):
        build_bank([r for r in records if r.question_id < "5d3d2817"], historical.config.pool)


def test_the_offset_is_the_stated_hash(historical):
    pool = historical.config.pool
    digest = hashlib.sha256(b"deermem-medium-v1:01493427").hexdigest()
    assert bank_offset("01493427", pool) == int(digest[:8], 16) % 40


def test_distractors_wrap_around_the_bank(historical, historical_cases):
    pool = historical.config.pool
    bank = build_bank(load_records(historical), pool)
    wrapping = [c for c in historical_cases if bank_offset(c.case_id, pool) > 31]
    assert wrapping
    for case in wrapping:
        offset = bank_offset(case.case_id, pool)
        expected = ([*bank, *bank])[offset : offset + 9]
        assert list(draw_distractors(case.case_id, bank, pool)) == expected


def test_every_pool_is_ten_facts_sorted_by_id(historical_cases):
    assert len(historical_cases) == 45
    for case in historical_cases:
        ids = [fact["id"] for fact in case.facts]
        assert len(ids) == 10
        assert ids == sorted(ids)
        assert case.support_fact_ids == (f"gold_{case.case_id}",)
        assert list(case.distractor_sources) == [
            f"d_{case.case_id}_{i}_{source}"
            for i, source in enumerate(case.distractor_sources.values())
        ]
        assert not any("content" in fact for fact in case.facts)


def test_loss_ranks_are_dealt_by_type_and_id(historical_cases):
    first = [c for c in historical_cases if c.scenario == "confirmation_help"]
    assert [(c.question_type, c.case_id, c.loss_rank) for c in first[4:7]] == [
        ("knowledge-update", "08e075c7", 8),
        ("temporal-reasoning", "08f4fc43", 8),
        ("temporal-reasoning", "0bb5a684", 10),
    ]
    synthetic = {c.case_id: c.loss_rank for c in historical_cases if c.suite == "synthetic"}
    assert synthetic["correction_peanut_allergy"] == 6
    assert synthetic["correction_shipping_address"] == 10


@pytest.mark.parametrize(
    ("scenario", "support", "usage"),
    [
        ("confirmation_help", {"confidence": 0.70, "created": 180, "confirmed": 7}, None),
        ("access_help", {"confidence": 0.70, "created": 180}, 8),
        ("confidence_control", {"confidence": 0.95, "created": 30}, None),
        ("noisy_signal_control", {"confidence": 0.90, "created": 180}, None),
        ("correction_reserve", {"confidence": 0.65, "created": 180}, None),
    ],
)
def test_support_facts_carry_their_scenario(historical, historical_cases, scenario, support, usage):
    for case in historical_cases:
        if case.scenario != scenario:
            continue
        fact = facts_by_id(case)[f"gold_{case.case_id}"]
        assert fact["confidence"] == support["confidence"]
        assert fact["createdAt"] == days_ago(historical, support["created"])
        confirmed = support.get("confirmed")
        assert fact.get("lastConfirmedAt") == (confirmed and days_ago(historical, confirmed))
        entry = case.usage.get(fact["id"])
        assert (entry and entry["accessHeat"]) == usage
        assert fact.get("confirmationCount") == (1 if confirmed else None)
        if entry:
            assert entry["accessCount"] == 8
            assert entry["lastAccessedAt"] == days_ago(historical, 0)
        expected = "correction" if scenario == "correction_reserve" else "context"
        assert fact["category"] == expected


@pytest.mark.parametrize(
    ("scenario", "rank", "expected"),
    [
        ("access_help", 8, [0.94, 0.92, 0.90, 0.88, 0.86, 0.84, 0.82, 0.68, 0.66]),
        ("confirmation_help", 10, [0.94, 0.92, 0.90, 0.88, 0.86, 0.84, 0.82, 0.80, 0.78]),
        ("correction_reserve", 6, [0.90, 0.87, 0.84, 0.81, 0.78, 0.60, 0.58, 0.56, 0.54]),
        ("confidence_control", 8, [0.94, 0.92, 0.90, 0.88, 0.86, 0.70, 0.70, 0.70, 0.70]),
        ("noisy_signal_control", 8, [0.70] * 9),
    ],
)
def test_distractor_confidences_step_down(scenario, rank, expected):
    signals = [distractor_signals(scenario, rank, i) for i in range(9)]
    assert [s.confidence for s in signals] == pytest.approx(expected)
    assert {s.created_days_ago for s in signals} == {180}


def test_noisy_distractors_alternate_and_stop_at_the_loss_rank():
    confirmed = Signals(0.70, confirmed_days_ago=7)
    hot = Signals(0.70, access_heat=8)
    plain = Signals(0.70)
    noisy = [distractor_signals("noisy_signal_control", 6, i) for i in range(9)]
    assert noisy == [hot, confirmed, hot, confirmed, hot, *[plain] * 4]
    control = [distractor_signals("confidence_control", 6, i) for i in range(5, 9)]
    assert control == [confirmed, hot, confirmed, hot]


def test_an_unknown_scenario_is_an_error():
    with pytest.raises(ValueError, match="unknown scenario 'other'"):
        distractor_signals("other", 6, 0)


def test_categories_follow_the_question_type(historical, historical_cases):
    types = {r.question_id: r.question_type for r in load_records(historical)}
    for case in historical_cases:
        for fact, source in zip(distractors(case), case.distractor_sources.values(), strict=True):
            is_preference = types[source] == "single-session-preference"
            assert fact["category"] == ("preference" if is_preference else "context")


def test_texts_change_nothing_but_the_content(subset, historical, historical_cases):
    """The pools from facts are those from rows, content aside."""
    protocol, dataset = subset
    with_texts = load_cases(protocol, dataset)
    for case, facts_only in zip(with_texts, historical_cases, strict=True):
        stripped = [{k: v for k, v in f.items() if k != "content"} for f in case.facts]
        assert stripped == list(facts_only.facts)
        assert case.usage == facts_only.usage
        assert case.distractor_sources == facts_only.distractor_sources
        assert all(fact["content"] for fact in case.facts)


def test_the_subset_is_refused_where_the_whole_file_is_pinned(reference, historical):
    dataset = reference / "longmemeval" / "evidence_subset.json"
    with pytest.raises(DeermemEvalError, match="2756cf815c.*but the protocol pins 821a2034d2"):
        load_cases(historical, dataset)


def test_a_case_without_record_is_named(historical):
    records = [r for r in load_records(historical) if r.question_id != "0bc8ad92"]
    with pytest.raises(DeermemEvalError, match="case 0bc8ad92 of the official manifest"):
        build_cases(historical, records)


def test_a_scenario_needs_its_five_of_each_type(small):
    def swap(manifest):
        first, second = (manifest["scenarios"][n] for n in ("access_help", "confirmation_help"))
        first[0], second[9] = second[9], first[0]

    small.change(small.official, swap)
    with pytest.raises(DeermemEvalError, match="6 cases of type|4 cases of type"):
        load_cases(load_protocol(small.folder), small.dataset)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a,t,1,x", "line 3: evidence_chars is 'x', not a whole number"),
        ("a,t,-1,5", "line 3: evidence_sessions is '-1'"),
        ("a,t,1,99999999999", "line 3: evidence_chars is '99999999999'"),
        ("a,t,1,٣", "line 3: evidence_chars is '٣'"),
        (",t,1,5", "line 3: question_id is empty"),
        ("b,t,1,5", "line 3: question_id 'b' stands twice"),
        ("a,t,1", "line 3: expected 4 values, found 3"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, line, said):
    path = tmp_path / "records.csv"
    path.write_text(
        f"question_id,question_type,evidence_sessions,evidence_chars\nb,t,1,5\n{line}\n", "utf-8"
    )
    with pytest.raises(DeermemEvalError, match=said):
        read_records(path)
