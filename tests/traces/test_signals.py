"""What turns of a conversation become: hits, confirmations, confidences, and places of needs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces import (
    Life,
    Making,
    Noted,
    Question,
    SignalModel,
    Turn,
    build_trace,
    confidences,
    made_life,
    need_places,
    trace_of_life,
)
from deermem_eval.traces.retrieval import top_hits, words
from deermem_eval.traces.signals import normal_scores, times_needed
from deermem_eval.traces.trace import ACCESS, CONFIRM, CREATE, EVENTS, NEED
from tests.traces.strategies import traces

TEXTS = st.lists(
    st.sampled_from(("rye", "bread", "Thursday", "violin", "an", "äpfel", "für")), max_size=5
).map(" ".join)


def hits(turns, facts, turn_of_fact, top_k=5):
    return list(top_hits(turns, facts, turn_of_fact, top_k=top_k))


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=2)), max_size=8), st.integers(0, 4))
def test_a_turn_finds_the_nearest_facts_of_earlier_turns_alone(said, top_k):
    facts = [(text, turn) for turn, (_, noted) in enumerate(said) for text in noted]
    turns = [text for text, _ in said]
    turn_of_fact = [turn for _, turn in facts]
    found = hits(turns, [text for text, _ in facts], turn_of_fact, top_k)
    assert len(found) == len(turns)
    for turn, of_turn in enumerate(found):
        assert len(of_turn) <= top_k
        assert all(turn_of_fact[fact] < turn for fact, _ in of_turn)
        assert all(words(facts[fact][0]).keys() & words(turns[turn]).keys() for fact, _ in of_turn)
        assert of_turn == sorted(of_turn, key=lambda hit: (-hit[1], hit[0]))
        assert all(0 < similarity <= 1 for _, similarity in of_turn)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.lists(TEXTS, max_size=6))
def test_what_is_noted_later_changes_nothing_of_what_was_found_before(turns, later):
    facts, turn_of_fact = turns[:2], list(range(len(turns[:2])))
    alone = hits(turns, facts, turn_of_fact)
    together = hits(turns, facts + later, turn_of_fact + [len(turns)] * len(later))
    for one, other in zip(alone, together, strict=True):
        assert dict(other) == pytest.approx(dict(one))


def test_the_similarity_is_the_cosine_of_words_weighted_by_how_rare_they_are():
    facts = ["Plays violin", "Plays chess, plays often", "Bakes rye bread"]
    (_, _, _, found) = hits(["", "", "", "Violin! Who plays the tuba?"], facts, [0, 1, 2])
    plays, rare = 1 + math.log(4 / 3), 1 + math.log(4 / 2)
    unheard = 1 + math.log(4 / 1)
    turn = math.sqrt(rare**2 + plays**2 + 3 * unheard**2)  # who, the, tuba
    violin = (rare**2 + plays**2) / (math.sqrt(rare**2 + plays**2) * turn)
    chess = 2 * plays**2 / (math.sqrt(4 * plays**2 + 2 * rare**2) * turn)
    assert [fact for fact, _ in found] == [0, 1]
    assert [similarity for _, similarity in found] == pytest.approx([violin, chess])


def test_facts_of_the_same_words_are_found_in_their_own_order():
    facts = ["rye bread Thursday", "violin", "Thursday rye bread", "bread Thursday rye"]
    (*_, found) = hits(["", "rye Thursday violin bread"], facts, [0, 0, 0, 0])
    assert [fact for fact, _ in found] == [0, 2, 3, 1]
    assert len({similarity for _, similarity in found}) == 2


def test_words_are_compared_in_lower_case_and_the_shortest_are_left_out():
    assert words("Am Käse liegt's: äh, die KÄSE-Reibe_2 of my 茶") == {
        "käse": 2,
        "liegt": 1,
        "äh": 1,
        "die": 1,
        "reibe": 1,
        "茶": 1,
    }


def test_no_fact_and_facts_without_words_are_no_hits():
    assert hits(["Good morning", "Is there any rye?"], [], []) == [[], []]
    assert hits(["", "rye rye"], ["...", ""], [0, 0]) == [[], []]


SAID = (
    ("I bake rye bread every Thursday evening.", "human"),
    ("Noted: rye bread, Thursday evening.", "ai"),
    ("My daughter plays the violin in the town orchestra.", "human"),
    ("Is rye bread on Thursday still the plan?", "ai"),
    ("That's exactly right.", "human"),
    ("Then I add rye flour to the list. Exactly right?", "ai"),
    ("Bread, rye, Thursday: you know me.", "human"),
    ("", "ai"),
)
NOTES = (
    Noted("bread", "Bakes rye bread on Thursday", "preference", 0),
    Noted("violin", "Daughter plays violin", "correction", 2),
)
BAKING = Question("bake", (0,))


def life(questions=(BAKING,), said=SAID):
    turns = tuple(Turn(60.0 * i, text, role) for i, (text, role) in enumerate(said))
    return Life("ines", turns, NOTES, questions)


def named(trace):
    return [
        (EVENTS[kind], trace.needs[i].kind if kind == NEED else trace.fact_ids[i], seconds / 60)
        for kind, i, seconds in zip(trace.kinds, trace.subjects, trace.times, strict=True)
    ]


def test_people_search_confirm_and_mention_again_and_assistants_do_nothing():
    asked = (Question("late", (0, 1)), Question("early", (0,), 4))
    trace = trace_of_life(life(asked))
    assert named(trace) == [
        ("create", "bread", 0),
        ("create", "violin", 2),
        ("need", "early", 4),
        ("confirm", "bread", 4),
        ("access", "bread", 6),
        ("confirm", "bread", 6),
        ("need", "late", 7),
    ]
    assert trace.probabilities.tolist() == [1, 1, 1, 1, 1, 0.25, 1]
    assert trace.categories == ("preference", "correction")
    assert np.isnan(trace.confidence).all()
    assert [need.facts for need in trace.needs] == [(0, 1), (0,)]


def test_the_model_says_how_much_is_found_and_what_confirms():
    def kinds(**model):
        kinds = trace_of_life(life(), SignalModel(**model)).kinds.tolist()
        return [kinds.count(kind) for kind in (CREATE, ACCESS, CONFIRM, NEED)]

    assert kinds() == [2, 1, 2, 1]
    assert kinds(remention_probability=0.0) == [2, 1, 1, 1]
    assert kinds(remention_similarity=0.95) == [2, 1, 1, 1]
    assert kinds(top_k=0) == [2, 0, 0, 1]
    certain = trace_of_life(life(), SignalModel(remention_probability=1.0))
    assert (certain.probabilities == 1).all()


def test_what_a_person_says_right_after_nothing_was_near_confirms_nothing():
    said = (SAID[0], ("How is the weather over there?", "ai"), *SAID[2:3], ("Hm?", "ai"), SAID[4])
    assert "confirm" not in [event for event, *_ in named(trace_of_life(life(said=said)))]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"top_k": -1}, "top_k is -1, and must be a whole number from 0"),
        ({"top_k": 2.0}, "top_k is 2.0"),
        ({"top_k": True}, "top_k is True"),
        ({"remention_similarity": 1.1}, r"remention_similarity is 1.1, and must be in \[0, 1\]"),
        ({"remention_probability": -0.1}, "remention_probability is -0.1"),
        ({"remention_probability": float("nan")}, "remention_probability is nan"),
    ],
)
def test_a_model_that_is_none_is_refused(model, said):
    with pytest.raises(DeermemEvalError, match=said):
        SignalModel(**model)


def test_confidence_is_constant_or_as_it_was_stored():
    trace = made_life("made", 0, Making(facts=20))
    assert set(confidences(trace, "constant", 5).tolist()) == {0.8}
    with pytest.raises(DeermemEvalError, match="life made has facts without a confidence"):
        confidences(trace, "stored", 0)
    day = {"time": "2026-05-01", "event": "create"}
    notes = [{**day, "fact": "tea", "confidence": 0.4}, {**day, "fact": "jam", "confidence": 1}]
    assert confidences(build_trace("jo", notes), "stored", 9).tolist() == [0.4, 1]


@settings(max_examples=40)
@given(traces(), st.integers(0, 99), st.sampled_from((0.0, 0.3, 0.77, 1.0)))
def test_informative_confidence_lies_where_deermem_stores_any_and_is_seeded(trace, seed, rho):
    found = confidences(trace, f"rho={rho}", seed)
    assert found.shape == (len(trace.fact_ids),)
    assert ((found >= 0.7) & (found <= 1)).all()
    assert (found == confidences(trace, f"rho={rho}", seed)).all()


@settings(max_examples=40)
@given(traces(), st.integers(0, 99))
def test_blind_confidence_is_the_same_whatever_is_needed_and_full_one_orders_by_need(trace, seed):
    needless = replace(trace, needs=(), kinds=trace.kinds[:0], subjects=trace.subjects[:0])
    blind = confidences(trace, "rho=0", seed)
    assert (blind == confidences(needless, "rho=0", seed)).all()
    full, needs = confidences(trace, "rho=1", seed), times_needed(trace)
    order = np.argsort(full, kind="stable")
    assert (np.diff(needs[order]) >= 0).all()
    assert len(set(full.tolist())) == len(full)


def test_confidence_knows_the_more_of_what_is_needed_the_larger_rho():
    trace = made_life("made", 2)
    needs = times_needed(trace)
    known = [
        np.mean([spearmanr(confidences(trace, f"rho={rho}", s), needs)[0] for s in range(20)])
        for rho in (0, 0.25, 0.5, 0.75, 1)
    ]
    assert abs(known[0]) < 0.06
    assert (np.diff(known) > 0.05).all()
    full = confidences(trace, "rho=1", 0)
    assert (np.diff(needs[np.argsort(full)]) >= 0).all()


@given(st.lists(st.sampled_from((0.0, 1.0, 2.0, 7.0)), max_size=30))
def test_normal_scores_keep_order_and_ties_and_have_a_variance_of_one(values):
    scores = normal_scores(np.array(values))
    if len(set(values)) > 1:
        assert scores.mean() == pytest.approx(0, abs=1e-12)
        assert scores.std() == pytest.approx(1)
    for a, one in zip(values, scores, strict=True):
        assert all((a < b) == (one < other) for b, other in zip(values, scores, strict=True))


@pytest.mark.parametrize("model", ["rho=1.5", "rho=-0.1", "rho=nan", "rho=x", "rho=", "foo", ""])
def test_a_model_of_confidence_that_is_none_is_refused(model):
    said = "and must be in 0..1" if model in ("rho=1.5", "rho=-0.1", "rho=nan") else "is none"
    with pytest.raises(DeermemEvalError, match=said):
        confidences(made_life("made", 0, Making(facts=5)), model, 0)


def test_needs_come_as_late_or_as_soon_as_the_recency_says():
    trace = trace_of_life(life((Question("bread", (0,)), Question("both", (0, 1)))))
    minutes = (trace.times / 60).tolist()
    assert minutes == [0, 2, 4, 6, 6, 7, 7]
    assert need_places(trace, None).tolist() == [5, 6]
    assert need_places(trace, 0).tolist() == [7, 7]
    assert need_places(trace, 1).tolist() == [1, 2]
    assert need_places(trace, 0.5).tolist() == [2, 3]  # at 3.5 and 4.5 minutes


@settings(max_examples=60)
@given(traces(), st.sampled_from((0, 0.2, 0.5, 0.9, 1)))
def test_a_need_comes_after_all_its_facts_and_no_sooner_if_it_is_less_recent(trace, recency):
    places = need_places(trace, recency)
    created = trace.places(CREATE)
    for need, place in zip(trace.needs, places, strict=True):
        assert created[list(need.facts)].max() < place <= len(trace.kinds)
    assert (need_places(trace, min(1, recency + 0.1)) <= places).all()


@pytest.mark.parametrize("recency", [-0.1, 1.01, float("nan")])
def test_a_recency_that_is_none_is_refused(recency):
    with pytest.raises(DeermemEvalError, match="recency is .*, and must be in 0..1"):
        need_places(made_life("made", 0, Making(facts=5)), recency)
