"""The sample protocol: complete, and with everything that the selection rule and the bank can meet."""

import json
import re
from collections import Counter
from datetime import datetime

import pytest

from deermem_eval.cases import (
    build_bank,
    load_cases,
    load_records,
    select_official_cases,
)
from deermem_eval.cases.selection_rule import is_eligible
from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import GRADERS, grade_answer
from deermem_eval.protocol import load_protocol

BRACKET_HEADER_IS_LONGER_BY = 7  # as measured on the earliest published run


@pytest.fixture(scope="module")
def sample():
    return load_protocol("sample")


@pytest.fixture(scope="module")
def records(sample):
    return load_records(sample)


@pytest.fixture(scope="module")
def rows(sample):
    return json.loads((sample.folder / "dataset.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def case_rows(sample, rows):
    """The rows of the official cases."""
    return [row for row in rows if row["question_id"] in sample.official.case_ids]


def test_the_sample_is_complete(sample):
    assert not sample.missing_texts
    assert sample.is_shipped
    assert len(load_cases(sample)) == 45
    assert len(sample.synthetic.cases) == 5


def test_the_rule_picks_the_listed_cases_twenty_of_each_type(sample, records):
    selected = select_official_cases(records, sample.official)
    assert selected == dict(sample.official.scenarios)
    types = {record.question_id: record.question_type for record in records}
    assert Counter(types[id_] for id_ in sample.official.case_ids) == {
        "knowledge-update": 20,
        "temporal-reasoning": 20,
    }
    eligible = [record for record in records if is_eligible(record, sample.official.selection)]
    for count in Counter(record.question_type for record in eligible).values():
        assert count >= 24


def test_each_exclusion_drops_a_row_that_passes_all_others(sample, records):
    rule = sample.official.selection
    fails = {
        "pilot": lambda r: r.question_id in rule.excluded_pilot_ids,
        "suffix": lambda r: r.question_id.endswith(rule.exclude_abstention_suffix),
        "short answer": lambda r: len(r.texts.answer) < rule.answer_min_chars,
        "long answer": lambda r: len(r.texts.answer) > rule.answer_max_chars,
        "hedge": lambda r: any(h in r.texts.answer for h in rule.answer_excluded_substrings),
        "no evidence": lambda r: r.evidence_chars < rule.evidence_min_chars,
        "long evidence": lambda r: r.evidence_chars > rule.evidence_max_chars,
    }
    alone = Counter()
    for record in records:
        if record.question_type in rule.eligible_question_types:
            reasons = [name for name, failed in fails.items() if failed(record)]
            assert is_eligible(record, rule) == (not reasons)
            alone.update(reasons if len(reasons) == 1 else [])
    assert set(alone) == set(fails)
    hedges = [
        h for h in rule.answer_excluded_substrings if any(h in r.texts.answer for r in records)
    ]
    assert hedges == list(rule.answer_excluded_substrings)


def test_one_member_of_the_bank_is_decided_by_the_header(sample, records):
    pool = sample.config.pool
    candidates = [r for r in records if r.question_type in pool.distractor_types]
    assert len(candidates) >= 44
    longest = pool.distractor_max_evidence_chars
    edge = [
        record
        for record in candidates
        if longest - BRACKET_HEADER_IS_LONGER_BY < record.evidence_chars <= longest
    ]
    assert len(edge) == 1
    bank = build_bank(records, pool)
    assert edge[0] in bank
    eligible = [r for r in candidates if r.evidence_chars <= longest]
    assert len(eligible) > len(bank)  # somebody can take its place
    assert any(
        edge[0].question_id in case.distractor_sources.values() for case in load_cases(sample)
    )
    last = max(record.question_id for record in bank)
    assert any(r.evidence_chars > longest and r.question_id < last for r in candidates)


def test_evidence_takes_every_form(case_rows):
    sessions = Counter(len(row["haystack_sessions"]) for row in case_rows)
    assert {1, 2, 3} <= set(sessions)
    unmarked = [
        row
        for row in case_rows
        if not any("has_answer" in turn for session in row["haystack_sessions"] for turn in session)
    ]
    assert unmarked
    assert any(not text.isascii() for row in case_rows for text in contents(row))


def test_answers_take_every_form(sample, case_rows):
    answers = [row["answer"] for row in case_rows]
    assert any(isinstance(answer, int) for answer in answers)
    texts = [str(answer) for answer in answers]
    assert {"YES", "NO"} <= set(texts)
    assert any(re.fullmatch(r"\d+", text) for text in texts)
    assert any(re.search(r"ranging from \d+ .*to \d+", text) for text in texts)
    assert any(re.fullmatch(r"\d+ (days|weeks|minutes|hours)", text) for text in texts)
    assert any(re.fullmatch(r"\d+ (January|March|May|August)", text) for text in texts)
    questions = {row["question"].split()[0]: str(row["answer"]) for row in case_rows}
    assert {"Where", "How", "Which"} <= set(questions)
    assert any(
        re.match("Who|What is the name|What's the name", row["question"]) for row in case_rows
    )
    assert any(not text.isascii() for text in texts)


@pytest.mark.parametrize("version", GRADERS)
def test_every_reference_can_be_graded_and_is_right_itself(sample, version):
    for case in load_cases(sample):
        assert grade_answer(case.texts.answer, case.texts.answer, version=version).correct
        assert not grade_answer("INSUFFICIENT", case.texts.answer, version=version).correct


def test_the_prompt_has_the_published_contract(sample):
    for word in ("INSUFFICIENT", "YES", "NO", "shortest"):
        assert word in sample.prompt.system


def test_every_date_exists_and_lies_before_the_question_and_the_clock(sample, rows):
    for row in rows:
        dates = [*row["haystack_dates"], row["question_date"]]
        parsed = [datetime.strptime(date, "%Y/%m/%d (%a) %H:%M") for date in dates]
        for date, moment in zip(dates, parsed, strict=True):
            assert moment.strftime("%Y/%m/%d (%a) %H:%M") == date, row["question_id"]
        assert parsed == sorted(parsed), row["question_id"]
        assert parsed[-1] < sample.config.evaluation_time.replace(tzinfo=None)


def test_nothing_stands_twice(rows):
    sessions = [id_ for row in rows for id_ in row["haystack_session_ids"]]
    assert len(set(sessions)) == len(sessions)
    sentences = Counter(
        sentence
        for row in rows
        for text in contents(row)
        for sentence in re.split(r"(?<=[.!?])\s+", text)
        if len(sentence) > 25
    )
    assert [sentence for sentence, count in sentences.items() if count > 1] == []
    questions = [row["question"] for row in rows]
    assert len(set(questions)) == len(questions)


def test_a_changed_sample_is_refused(sample, tmp_path):
    import shutil

    folder = shutil.copytree(sample.folder, tmp_path / "changed")
    path = folder / "dataset.json"
    path.write_text(path.read_text("utf-8").replace("mustard", "yellow", 1), "utf-8")
    with pytest.raises(DeermemEvalError, match="but the protocol pins"):
        load_cases(load_protocol(folder))


def contents(row):
    return [turn["content"] for session in row["haystack_sessions"] for turn in session]
