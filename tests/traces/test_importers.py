"""Lives from LoCoMo, from LongMemEval files and from DeerMem stores."""

import copy
import json
import math
import shutil
from datetime import UTC, datetime

import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces import (
    fetch_locomo,
    load_traces,
    locomo_path,
    read_locomo,
    read_longmemeval_lives,
    read_store_traces,
)
from deermem_eval.traces.trace import EVENTS, NEED
from tests.memory.deermem_store import Store, ago
from tests.traces.locomo_shape import SAMPLE, written


def test_locomo_has_the_lives_facts_and_questions_that_it_is_known_for(reference):
    lives = read_locomo(reference / "locomo" / "locomo10.json")
    assert len(lives) == 10
    assert sum(len(life.facts) for life in lives) == 2541
    assert sum(len(life.questions) + life.unanswerable for life in lives) == 1540
    sizes = [len(life.facts) for life in lives]
    assert (min(sizes), max(sizes)) == (169, 324)
    kinds = {question.kind for life in lives for question in life.questions}
    assert kinds == {"multi-hop", "temporal", "open-domain", "single-hop"}
    for life in lives:
        times = [turn.seconds for turn in life.turns]
        assert times == sorted(times)
        assert [fact.turn for fact in life.facts] == sorted(fact.turn for fact in life.facts)
        assert all(question.facts for question in life.questions)


def test_locomo_is_fetched_from_a_folder_once_and_loaded_by_name(reference, tmp_path):
    folder = reference / "locomo"
    assert fetch_locomo(tmp_path, upstream=folder).origin == f"copied from {folder}"
    assert fetch_locomo(tmp_path, upstream=folder).origin == "there already"
    loaded = load_traces("locomo", tmp_path)
    traces, unanswerable = loaded.traces, loaded.unanswerable
    assert len(traces) == 10
    assert sum(len(trace.needs) for trace in traces) + unanswerable == 1540


def test_a_file_in_locomos_shape_becomes_a_life(tmp_path):
    (life,) = read_locomo(tmp_path / "mine.json", sha256=written(tmp_path / "mine.json"))
    assert life.name == "conv-7"
    begins = datetime(2023, 5, 8, 13, 56, tzinfo=UTC).timestamp()
    later = datetime(2023, 6, 13, 0, 9, tzinfo=UTC).timestamp()
    assert [turn.seconds for turn in life.turns] == [
        *(begins, begins + 60, begins + 120),
        *(later, later + 60),
    ]
    assert {turn.role for turn in life.turns} == {"human"}
    assert [fact.fact_id for fact in life.facts] == [f"fact_{i:03d}" for i in range(5)]
    turn_of = {fact.text: fact.turn for fact in life.facts}
    assert list(turn_of.values()) == sorted(turn_of.values())
    assert turn_of["Ines adopted a greyhound named Bruno."] == 0
    assert turn_of["Tomasz keeps bees."] == 1
    assert turn_of["Tomasz harvested six jars of honey."] == 3
    assert [
        (question.kind, {life.facts[i].text for i in question.facts}) for question in life.questions
    ] == [
        ("single-hop", {"Ines adopted a greyhound named Bruno.", "Ines's greyhound won a race."}),
        ("multi-hop", {"Ines is allergic to bee stings.", "Tomasz keeps bees."}),
        ("temporal", {"Tomasz harvested six jars of honey."}),
    ]
    assert life.unanswerable == 2


def test_a_fact_of_several_turns_is_there_when_the_last_of_them_has_been_said(tmp_path):
    (life,) = read_locomo(tmp_path / "mine.json", sha256=written(tmp_path / "mine.json"))
    (won,) = (fact for fact in life.facts if "won a race" in fact.text)
    assert "race" in life.turns[won.turn].text


def test_locomo_that_is_missing_or_another_file_is_refused(tmp_path):
    path = tmp_path / "locomo10.json"
    with pytest.raises(DeermemEvalError, match="does not exist; run `deermem-eval fetch locomo`"):
        read_locomo(path)
    written(path)
    with pytest.raises(DeermemEvalError, match="is not the pinned LoCoMo file"):
        read_locomo(path)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("conversation", "session_1_date_time"), "the eighth of May"),
        (("conversation", "session_1"), [{"dia_id": "D1:1"}]),
        (("conversation", "session_1"), [{"dia_id": "one", "text": "Hello"}]),
        (("observation", "notes"), {}),
        (("qa",), None),
        (("qa",), [{}]),
        (("sample_id",), None),
    ],
)
def test_a_malformed_file_in_locomos_shape_is_refused(tmp_path, where, value):
    sample = copy.deepcopy(SAMPLE)
    inner = sample
    for name in where[:-1]:
        inner = inner[name]
    if where == ("sample_id",):
        del inner["sample_id"]
    else:
        inner[where[-1]] = value
    path = tmp_path / "mine.json"
    with pytest.raises(DeermemEvalError, match="it is malformed"):
        read_locomo(path, sha256=written(path, sample))


def test_only_the_pinned_file_is_kept(tmp_path):
    upstream, cache = tmp_path / "upstream", tmp_path / "cache"
    pin = written(upstream / "locomo10.json")
    with pytest.raises(DeermemEvalError, match="locomo10.json with --upstream"):
        fetch_locomo(cache, upstream=upstream, sha256="0" * 64)
    assert not locomo_path(cache).exists()
    with pytest.raises(DeermemEvalError, match="does not exist"):
        fetch_locomo(cache, upstream=tmp_path / "nowhere", sha256=pin)
    assert fetch_locomo(cache, upstream=upstream, sha256=pin).path == locomo_path(cache)
    assert len(read_locomo(locomo_path(cache), sha256=pin)) == 1
    shutil.rmtree(upstream)
    again = fetch_locomo(cache, upstream=upstream, sha256=pin)
    assert again.origin == "there already"
    locomo_path(cache).write_text("[]")
    with pytest.raises(DeermemEvalError, match="does not exist"):
        fetch_locomo(cache, upstream=upstream, sha256=pin)


def test_the_sample_data_set_is_lives_whose_facts_are_what_users_said(root):
    path = root / "data" / "sample" / "dataset.json"
    rows = json.loads(path.read_text("utf-8"))
    lives = list(read_longmemeval_lives(path))
    assert [life.name for life in lives] == [row["question_id"] for row in rows]
    for life, row in zip(lives, rows, strict=True):
        times = [turn.seconds for turn in life.turns]
        assert times == sorted(times)
        spoken = [turn for said in row["haystack_sessions"] for turn in said]
        users = [turn["content"] for turn in spoken if turn["role"] == "user"]
        assert [fact.text for fact in life.facts] == users
        assert all(life.turns[fact.turn].text == fact.text for fact in life.facts)
        assert life.turns[-1].role == "ai"
        told = [turn["content"] for turn in spoken if turn.get("has_answer")]
        is_answerable = bool(told) and set(told) <= set(users)
        assert (len(life.questions), life.unanswerable) == (is_answerable, not is_answerable)
        for question in life.questions:
            assert question.kind == row["question_type"]
            assert [life.facts[i].text for i in question.facts] == told


def row(**more):
    return {
        "question_id": "q1",
        "question_type": "knowledge-update",
        "question": "Where do I work now?",
        "answer": "At the library",
        "question_date": "2026/04/01 (Wed) 09:00",
        "haystack_session_ids": ["s2", "s1"],
        "haystack_dates": ["2026/03/02 (Mon) 10:00", "2026/02/02 (Mon) 10:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "I moved to the library.", "has_answer": True}],
            [
                {"role": "user", "content": "I work at the bakery.", "has_answer": True},
                {"role": "assistant", "content": "Fresh rolls every day!"},
            ],
        ],
    } | more


def of_rows(tmp_path, *rows):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    return list(read_longmemeval_lives(path))


def test_sessions_stand_in_time_order_and_what_comes_after_the_question_is_left_out(tmp_path):
    late = ["2026/03/02 (Mon) 10:00", "2026/05/02 (Sat) 10:00"]
    first, second = of_rows(tmp_path, row(), row(haystack_dates=late))
    assert [fact.text for fact in first.facts] == [
        "I work at the bakery.",
        "I moved to the library.",
    ]
    assert first.questions[0].facts == (0, 1)
    assert [fact.text for fact in second.facts] == ["I moved to the library."]


def test_evidence_that_comes_after_the_question_leaves_it_without_an_answer(tmp_path):
    (life,) = of_rows(tmp_path, row(question_date="2026/02/15 (Sun) 09:00"))
    assert [fact.text for fact in life.facts] == ["I work at the bakery."]
    assert (life.questions, life.unanswerable) == ((), 1)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (row(question_date="2026-04-01"), "row 1: .*2026-04-01.*correct the date"),
        (row(haystack_dates=["2026/03/02 (Mon) 10:00", "May"]), "row 1: .*'May'.*correct the date"),
        (row(haystack_dates=[]), "row 1: 2 session ids, 0 dates and 2 sessions"),
        (row(question_id=""), "row 1: "),
        (["q1"], "row 1: "),
    ],
)
def test_a_malformed_row_is_refused_with_its_index(tmp_path, bad, said):
    with pytest.raises(DeermemEvalError, match=said):
        of_rows(tmp_path, row(), bad)


def happenings(trace):
    ids = trace.fact_ids
    return [
        (EVENTS[kind], ids[trace.needs[i].facts[0]] if kind == NEED else ids[i])
        for kind, i in zip(trace.kinds, trace.subjects, strict=True)
    ]


def test_the_sample_store_is_a_trace_for_each_agent(root):
    traces = {trace.life: trace for trace in read_store_traces(root / "data" / "sample" / "store")}
    assert list(traces) == ["demo/corrections", "demo/pair"]
    assert happenings(traces["demo/pair"]) == [
        ("create", "never-confirmed"),
        ("create", "confirmed-lately"),
        ("confirm", "confirmed-lately"),
    ]
    assert traces["demo/corrections"].corrections.any()
    assert traces["demo/pair"].confidence.tolist() == [0.9, 0.7]


def test_a_store_tells_when_facts_came_were_confirmed_and_were_looked_for(tmp_path):
    store = Store(tmp_path)
    store.write("tea", createdAt=ago(90), lastConfirmedAt=ago(30), confidence=0.9)
    store.write("jam", createdAt=ago(60), category="correction", confidence="high")
    store.write("ham", createdAt=None)
    store.write("egg", createdAt=ago(10), lastConfirmedAt=ago(20))
    usage = {"tea": {"lastAccessedAt": ago(20)}, "jam": {"lastAccessedAt": ago(99)}, "egg": 7}
    store.sidecar("fact-usage.json", usage)
    (trace,) = read_store_traces(tmp_path)
    assert trace.life == "mara/lead"
    created = [("create", "tea"), ("create", "jam"), ("confirm", "tea")]
    found = happenings(trace)
    assert [one for one in found if one[0] in ("create", "confirm")] == [
        *created,
        ("create", "egg"),
    ]
    assert trace.confidence.tolist() == [0.9, 0.5, 0.7]
    assert trace.corrections.tolist() == [False, True, False]
    assert found == [*created, ("access", "tea"), ("need", "tea"), ("create", "egg")]
    assert math.isclose(trace.times[-1] - trace.times[0], 80 * 86_400)
    assert [need.kind for need in trace.needs] == ["access"]


def test_a_trace_is_loaded_by_name_or_path_and_one_without_needs_is_refused(root, tmp_path):
    loaded = load_traces("made", tmp_path)
    made, unanswerable = loaded.traces, loaded.unanswerable
    assert (len(made), unanswerable) == (10, 0)
    sample = root / "data" / "sample"
    loaded = load_traces(str(sample / "dataset.json"), tmp_path)
    lives, left_out = loaded.traces, loaded.unanswerable
    assert "lives without a need" in loaded.in_words()
    rows = json.loads((sample / "dataset.json").read_text("utf-8"))
    assert len(lives) + left_out == len(rows)
    assert all(len(trace.needs) == 1 for trace in lives)
    with pytest.raises(DeermemEvalError, match="holds no life with a need"):
        load_traces(str(sample / "configs"), tmp_path)
    with pytest.raises(DeermemEvalError, match="is neither one of made, locomo, nor a folder"):
        load_traces("diary.txt", tmp_path)
    with pytest.raises(DeermemEvalError, match="does not exist; run `deermem-eval fetch locomo`"):
        load_traces("locomo", tmp_path)
