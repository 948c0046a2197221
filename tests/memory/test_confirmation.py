"""The confirmation gate and its truth table, staleness, injection, and what a search hit does."""

from datetime import timedelta

import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.memory import (
    accessed,
    after_search,
    confirmed,
    confirmed_ids,
    injected_facts,
    is_reinforced,
    load_patterns,
    stale_facts,
)
from tests.memory.deermem_store import NOW, ago

PATTERNS = load_patterns()
FACTS = [{"id": "tea", "content": "Prefers tea."}, {"id": "bike", "content": "Cycles to work."}]
YES = {"role": "human", "content": "That's exactly right, tea it is."}
ENTRY = {"id": "tea", "scope": "user", "reason": "said so"}


def said(text):
    return [{"role": "human", "content": text}]


@pytest.mark.parametrize(
    "text",
    [
        *("That's exactly right.", "that is absolutely correct!", "Yes, that's right, Tuesdays."),
        *("You remembered it correctly", "You're completely right about that", "Spot on."),
        *("yes that is still true", "对，就是这样", "对,就是这样。", "完全正确！", "你说得完全对"),
        *("就是这样，没错", "你记得没错", "嗯，确实是这样"),
    ],
)
def test_a_confirmation_is_heard_in_both_languages(text):
    assert is_reinforced(said(text), PATTERNS)


@pytest.mark.parametrize(
    "text",
    [
        *("对的", "没错", "你说的对", "对不起，我来晚了", "对方还没有回复", "对啊", "对"),
        *("right", "Turn right at the church.", "That's right next to the station?", "ok", "yes"),
        *("Is that exactly what you meant?", "That is not exactly correct.", "that's wrong", ""),
        *(
            "That's not exactly right.",
            "It isn't exactly right",
            "not spot on",
            "You weren't spot on",
        ),
    ],
)
def test_what_only_agrees_or_says_something_else_is_not(text):
    assert not is_reinforced(said(text), PATTERNS)


@pytest.mark.parametrize(
    ("messages", "entry", "expected"),
    [
        ([YES], ENTRY, ("tea",)),
        ([YES], {**ENTRY, "scope": "agent"}, ()),
        ([YES], {**ENTRY, "scope": None}, ()),
        ([YES], {**ENTRY, "reason": "  "}, ()),
        ([YES], {"id": "tea", "scope": "user"}, ()),
        ([YES], {**ENTRY, "reason": 7}, ()),
        ([YES], {**ENTRY, "id": "gone"}, ()),
        ([YES], {**ENTRY, "id": ["tea"]}, ()),
        ([YES], "tea", ()),
        (said("I had tea again."), ENTRY, ()),
        ([{**YES, "role": "ai"}], ENTRY, ()),
        ([{**YES, "role": "tool"}], ENTRY, ()),
        ([{**YES, "role": "system"}], ENTRY, ()),
        ([{**YES, "hidden": True}], ENTRY, ()),
        ([{"role": "human", "content": None}], ENTRY, ()),
        ([], ENTRY, ()),
    ],
)
def test_the_gate_opens_only_if_person_and_model_agree(messages, entry, expected):
    assert confirmed_ids(FACTS, messages, [entry], PATTERNS) == expected


@pytest.mark.parametrize(("later", "opens"), [(5, True), (6, False)])
def test_the_window_is_of_six_shown_messages(later, opens):
    between = {"role": "ai", "content": "noted"}
    assert is_reinforced([YES, *[between] * later], PATTERNS) is opens
    unseen = [{"role": "tool", "content": "x"}, {**between, "hidden": True}] * 20
    assert is_reinforced([YES, *[between] * later, *unseen], PATTERNS) is opens


def test_a_fact_is_confirmed_once_however_often_it_is_named():
    assert confirmed_ids(FACTS, [YES], [ENTRY, ENTRY, {**ENTRY, "id": "bike"}], PATTERNS) == (
        "tea",
        "bike",
    )


def test_a_confirmation_dates_counts_and_resets_the_staleness_clock():
    old = {"id": "tea", "createdAt": ago(300), "confirmationCount": 2, "confidence": 0.7}
    fresh = confirmed(old, NOW)
    assert (fresh["lastConfirmedAt"], fresh["confirmationCount"]) == ("2026-08-13T00:00:00Z", 3)
    assert fresh["confidence"] == 0.7
    assert "lastConfirmedAt" not in old
    assert stale_facts([old], NOW) == ("tea",)
    assert stale_facts([fresh], NOW + timedelta(days=90)) == ()
    assert stale_facts([fresh], NOW + timedelta(days=91)) == ("tea",)
    assert confirmed({"id": "x", "confirmationCount": "many"}, NOW)["confirmationCount"] == 1


def test_corrections_never_grow_stale():
    facts = [
        {"id": "a", "category": "correction", "createdAt": ago(999)},
        {"id": "b", "category": "context", "createdAt": ago(91)},
        {"id": "c", "category": "context", "createdAt": ago(91), "lastConfirmedAt": ago(9)},
        {"id": "d", "category": "context", "createdAt": "some day"},
    ]
    assert stale_facts(facts, NOW) == ("b", "d")


def test_corrections_are_injected_first_within_their_own_budget():
    facts = [
        {"id": "p1", "confidence": 0.9, "content": "x" * 40},
        {"id": "c1", "confidence": 0.2, "content": "x" * 40, "category": "correction"},
        {"id": "c2", "confidence": 0.9, "content": "x" * 40, "category": "correction"},
        {"id": "p2", "confidence": 0.95, "content": "x" * 40},
    ]
    assert injected_facts(facts) == ("c2", "c1", "p2", "p1")
    assert injected_facts(facts, correction_tokens=10, other_tokens=19) == ("c2", "p2")
    assert injected_facts(facts, count=lambda text: 501) == ("p2", "p1")


def test_heat_halves_in_thirty_days_and_grows_by_one():
    first = accessed(None, NOW)
    again = accessed(first, NOW + timedelta(days=30))
    assert (again["accessHeat"], again["accessCount"]) == (1.5, 2)
    assert accessed({"accessHeat": "hot", "accessCount": True}, NOW)["accessHeat"] == 1.0


def test_a_search_counts_each_fact_once_and_revives_none():
    usage = after_search({"gone": {"accessHeat": 3}}, ["tea", "tea", "lost"], FACTS, NOW)
    assert usage["tea"]["accessCount"] == 1
    assert set(usage) == {"gone", "tea"}


def test_patterns_of_ones_own_are_added(tmp_path):
    path = tmp_path / "german.yaml"
    path.write_text('german: ["genau so ist es"]\n')
    patterns = load_patterns(path)
    assert is_reinforced(said("Ja, genau so ist es!"), patterns)
    assert is_reinforced(said("完全正确"), patterns)


@pytest.mark.parametrize(
    ("content", "said_of_it"),
    [
        ('mine: ["(unclosed"]', "'(unclosed' is no regular expression"),
        ("mine: exactly", "give each name a list of expressions"),
        ("[a, b]", "give each name a list of expressions"),
        ("mine: [1]", "give each name a list of expressions"),
        ("mine: !!python/name:os.system x", "tags"),
    ],
)
def test_patterns_that_are_none_are_refused(tmp_path, content, said_of_it):
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(DeermemEvalError) as refused:
        load_patterns(path)
    assert said_of_it in str(refused.value)
    assert "mine.yaml" in str(refused.value)
