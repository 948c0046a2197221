import hashlib
import json
from dataclasses import replace

import pytest

from deermem_eval.answers import (
    answer_tasks,
    render_messages,
    request_fingerprint,
    request_payload,
)
from deermem_eval.cases import case_of, load_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol import AnswerPrompt, load_protocol
from deermem_eval.selection import decide, policy_settings

PROMPT = AnswerPrompt(
    "Say what you know.",
    "{{CURRENT_DATE_SECTION}}MEMORY\n{{STORED_MEMORY}}\nASKED: {{QUESTION}}",
)


@pytest.fixture(scope="module")
def sample():
    return load_protocol("sample")


@pytest.fixture(scope="module")
def cases(sample):
    return load_cases(sample)


def tasks_of(protocol, cases):
    capacity, now = protocol.config.pool.qa_capacity, protocol.config.evaluation_time
    decisions = decide(cases, policy_settings(protocol.config), [capacity], now=now)
    return answer_tasks(protocol, decisions)


def with_texts(case, contents, **texts):
    """The case with other contents, by place in the order of the ids."""
    facts = [
        fact | {"content": content} for fact, content in zip(case.facts, contents, strict=False)
    ]
    return replace(case, facts=tuple(facts), texts=replace(case.texts, **texts))


def test_a_request_is_rendered_as_published(cases):
    case = with_texts(cases[0], ["first\nline", "zwölf"], question="?", question_date="a day")
    first, second = (fact["id"] for fact in case.facts)
    assert render_messages(PROMPT, case, [second, first]) == [
        {"role": "system", "content": "Say what you know."},
        {
            "role": "user",
            "content": f"CURRENT DATE: a day\nMEMORY\n[{first}]\nfirst\nline\n\n[{second}]\nzwölf\n"
            "ASKED: ?",
        },
    ]


@pytest.mark.parametrize("date", [None, ""])
def test_there_is_no_date_line_where_the_case_has_no_date(cases, date):
    case = with_texts(cases[0], ["x"], question="?", question_date=date)
    user = render_messages(PROMPT, case, [case.facts[0]["id"]])[1]["content"]
    assert user == f"MEMORY\n[{case.facts[0]['id']}]\nx\nASKED: ?"


def test_a_text_that_contains_a_placeholder_is_left_as_it_is(cases):
    case = with_texts(
        cases[0],
        [r"{{QUESTION}} \1 {{STORED_MEMORY}}"],
        question="{{CURRENT_DATE_SECTION}}?",
        question_date="{{QUESTION}}",
    )
    user = render_messages(PROMPT, case, [case.facts[0]["id"]])[1]["content"]
    assert user == (
        f"CURRENT DATE: {{{{QUESTION}}}}\nMEMORY\n[{case.facts[0]['id']}]\n"
        r"{{QUESTION}} \1 {{STORED_MEMORY}}" + "\nASKED: {{CURRENT_DATE_SECTION}}?"
    )


def test_the_payload_is_what_is_sent_and_its_bytes_are_its_name(sample):
    payload = request_payload(sample.config.qa, [{"role": "user", "content": "Wo ist Zoë?"}])
    assert list(payload) == ["model", "temperature", "max_tokens", "stream", "messages"]
    assert repr(payload["temperature"]) == "0.0"
    assert payload["stream"] is False
    text = (
        '{"max_tokens": 2048, "messages": [{"content": "Wo ist Zoë?", "role": "user"}], '
        '"model": "answer-model", "stream": false, "temperature": 0.0}'
    )
    assert request_fingerprint(payload) == hashlib.sha256(text.encode()).hexdigest()


def test_every_decision_has_its_request(sample, cases):
    tasks = tasks_of(sample, cases)
    assert len({task.row_id for task in tasks}) == len(tasks) == 90
    for task in tasks:
        user = task.payload["messages"][1]["content"]
        case = task.decision.case
        shown = [line[1:-1] for line in user.split("\n") if line.startswith(("[gold_", "[d_"))]
        assert shown == sorted(task.decision.kept_fact_ids)
        assert case.texts.question in user
        assert "{{" not in user
        assert user.startswith("CURRENT DATE: ") == (case.source == "longmemeval")


def test_policies_that_keep_the_same_facts_ask_the_same(sample, cases):
    by_case = {}
    for task in tasks_of(sample, cases):
        kept = frozenset(task.decision.kept_fact_ids)
        by_case.setdefault((task.decision.case.case_id, kept), set()).add(task.fingerprint)
    assert {len(fingerprints) for fingerprints in by_case.values()} == {1}
    assert len(by_case) < 90


def test_facts_alone_make_no_request(historical, historical_cases):
    with pytest.raises(DeermemEvalError, match="a request needs the answer prompt .*fetch pr4789"):
        tasks_of(historical, historical_cases)
    case = case_of(historical_cases, "")
    with pytest.raises(DeermemEvalError, match="carries no texts, .* --dataset"):
        render_messages(PROMPT, case, [case.facts[0]["id"]])


def test_all_requests_of_the_final_published_run_come_out(reference, subset):
    protocol, dataset = subset
    rows = (reference / "published" / "run3" / "qa.rows.jsonl").read_text("utf-8").splitlines()
    published = {row["row_id"]: row["request_fingerprint"] for row in map(json.loads, rows)}
    tasks = tasks_of(protocol, load_cases(protocol, dataset))
    assert {task.row_id: task.fingerprint for task in tasks} == published
    assert len(published) == 90
    assert len(set(published.values())) == 77
