"""The selection rule against a literal reading of the manifest, one row changed at a time."""

import copy
import hashlib
import json

import pytest

from deermem_eval.cases import read_longmemeval, select_official_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol import load_protocol


def literal_evidence(row):
    """`SESSION id AT date`, marked turns or else the user's, sessions parted by a blank line."""
    text = ""
    for number, turns in enumerate(row["haystack_sessions"]):
        marked = [turn for turn in turns if turn.get("has_answer") is True]
        if not marked:
            marked = [turn for turn in turns if turn["role"] == "user"]
        if not marked:
            continue
        if text:
            text += "\n\n"
        text += "SESSION " + row["haystack_session_ids"][number]
        text += " AT " + row["haystack_dates"][number]
        for turn in marked:
            text += "\n" + turn["role"].upper() + ": " + turn["content"]
    return text


def literal_selection(rows, manifest):
    rule = manifest["selection"]
    picked = {name: [] for name in manifest["scenario_order"]}
    for question_type in sorted(rule["eligible_question_types"]):
        passed = []
        for row in rows:
            answer, evidence = str(row["answer"]), literal_evidence(row)
            if row["question_type"] != question_type:
                continue
            if row["question_id"] in rule["excluded_pilot_ids"]:
                continue
            if row["question_id"].endswith(rule["exclude_abstention_suffix"]):
                continue
            if len(answer) < rule["answer_min_chars"] or len(answer) > rule["answer_max_chars"]:
                continue
            if any(text in answer.lower() for text in rule["answer_excluded_substrings"]):
                continue
            if len(evidence) < rule["evidence_min_chars"]:
                continue
            if len(evidence) > rule["evidence_max_chars"]:
                continue
            passed.append(row["question_id"])
        taken = sorted(passed)[: rule["take_per_question_type"]]
        for number, question_id in enumerate(taken):
            place = number // rule["cases_per_type_per_scenario"]
            picked[manifest["scenario_order"][place]].append(question_id)
    return picked


def with_evidence(row, chars):
    """The row with evidence of so many characters, all in its first marked turn."""
    turns = [
        turn
        for session in row["haystack_sessions"]
        for turn in session
        if turn.get("has_answer") or (turn["role"] == "user" and "has_answer" not in turn)
    ]
    turns[0]["content"] += "x" * (chars - len(literal_evidence(row)))


CHANGES = {
    "id first": lambda row, rule: row.update(question_id="0000"),
    "id last": lambda row, rule: row.update(question_id="zzzz"),
    "id pilot": lambda row, rule: row.update(question_id="a_pilot"),
    "id suffix": lambda row, rule: row.update(question_id=row["question_id"] + "_abs"),
    "type other eligible": lambda row, rule: row.update(
        question_type=next(t for t in rule["eligible_question_types"] if t != row["question_type"])
    ),
    "type of the bank": lambda row, rule: row.update(question_type="single-session-user"),
    "answer empty": lambda row, rule: row.update(answer=""),
    "answer 1": lambda row, rule: row.update(answer=7),
    "answer 100": lambda row, rule: row.update(answer="y" * 100),
    "answer 101": lambda row, rule: row.update(answer="y" * 101),
    "answer 100 emoji": lambda row, rule: row.update(answer="🦌" * 100),
    "answer hedged": lambda row, rule: row.update(answer="That is Not Enough to say"),
    "answer nearly hedged": lambda row, rule: row.update(answer="not  enough"),
    "evidence none": lambda row, rule: row.update(
        haystack_sessions=[
            [{"role": "assistant", "content": "Hello!"}] for _ in row["haystack_dates"]
        ]
    ),
    "evidence 2000": lambda row, rule: with_evidence(row, 2000),
    "evidence 2001": lambda row, rule: with_evidence(row, 2001),
    "evidence unmarked": lambda row, rule: [
        turn.pop("has_answer", None) for session in row["haystack_sessions"] for turn in session
    ],
}


@pytest.fixture(scope="module")
def sample():
    return load_protocol("sample")


@pytest.mark.parametrize("change", CHANGES)
def test_the_rule_picks_what_a_literal_reading_picks(sample, tmp_path, change):
    """For every third row in turn, whatever it is."""
    rows = json.loads((sample.folder / "dataset.json").read_text("utf-8"))
    manifest = sample.official.model_dump(mode="json")
    manifest["selection"]["excluded_pilot_ids"] += ["a_pilot"]
    official = type(sample.official).model_validate_json(json.dumps(manifest))
    differs = False
    for place in range(0, len(rows), 3):
        changed = copy.deepcopy(rows)
        try:
            CHANGES[change](changed[place], manifest["selection"])
        except (IndexError, StopIteration):  # a row without a user's turn, or of another type
            continue
        content = json.dumps(changed).encode()
        path = tmp_path / "changed.json"
        path.write_bytes(content)
        records = read_longmemeval(path, hashlib.sha256(content).hexdigest())
        picked = {name: list(ids) for name, ids in select_official_cases(records, official).items()}
        literal = literal_selection(changed, manifest)
        for ids in literal.values():  # cases of both types, each in order of ids
            assert len(ids) == 10
        assert picked == literal
        differs |= picked != {name: list(ids) for name, ids in sample.official.scenarios.items()}
    assert differs or change in ("evidence 2000", "evidence unmarked")


def test_the_rule_refuses_a_data_set_that_is_too_small(sample):
    records = read_longmemeval(sample.folder / "dataset.json", sample.config.dataset.sha256)
    few = [record for record in records if record.question_type != "temporal-reasoning"]
    with pytest.raises(DeermemEvalError, match="has 0 eligible rows of type temporal-reasoning"):
        select_official_cases(few, sample.official)
