import copy
import dataclasses
import gc
import json
import math
import pickle
import warnings
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import Decision, DuplicateFactIdWarning, select_facts_for_capacity

NOW = datetime(2026, 8, 13, tzinfo=UTC)
POLICIES = ("confidence", "hybrid-v1")


def kept(facts, **arguments):
    decision = select_facts_for_capacity(facts, **{"now": NOW, "policy": "hybrid-v1", **arguments})
    return [fact["id"] for fact in decision.kept]


def ago(days):
    return (NOW - timedelta(days=days)).isoformat()


def test_every_recorded_decision_is_reproduced(reference):
    vectors = (reference / "selector_vectors.jsonl").read_text("utf-8").splitlines()
    assert len(vectors) == 400
    for vector in map(json.loads, vectors):
        facts, usage = copy.deepcopy(vector["facts"]), copy.deepcopy(vector["usage"])
        decision = select_facts_for_capacity(
            facts,
            usage=usage,
            now=datetime.fromisoformat(vector["now"]),
            **vector["parameters"],
        )
        expected = vector["expected"]
        assert [fact["id"] for fact in decision.kept] == expected["kept"]
        assert [vars(fact) for fact in decision.evicted] == expected["evicted"]
        assert {id_: vars(score) for id_, score in decision.scores.items()} == expected["scores"]
        assert decision.reserved_correction_slots == expected["reserved_correction_slots"]
        assert decision.policy == vector["parameters"]["policy"]
        assert (facts, usage) == (vector["facts"], vector["usage"])


def test_the_opening_pair_of_the_proposal():
    """0.9 never confirmed for 180 days against 0.7 confirmed 7 days ago (PR #4789)."""
    facts = [
        {"id": "old", "confidence": 0.9, "createdAt": ago(180)},
        {"id": "fresh", "confidence": 0.7, "createdAt": ago(180), "lastConfirmedAt": ago(7)},
    ]
    decision = select_facts_for_capacity(facts, max_facts=1, policy="hybrid-v1", now=NOW)
    assert decision.scores["old"].value == pytest.approx(0.61625)
    assert decision.scores["fresh"].value == pytest.approx(0.455 + 0.25 * 2 ** (-7 / 90))
    assert [fact["id"] for fact in decision.kept] == ["fresh"]
    assert kept(facts, max_facts=1, policy="confidence") == ["old"]


def test_one_correction_survives_ten_preferences_by_the_reserve():
    facts = [
        {"id": f"p{i}", "category": "preference", "confidence": 0.9, "createdAt": ago(1)}
        for i in range(10)
    ]
    facts.append({"id": "c", "category": " Correction", "confidence": 0.7, "createdAt": ago(1)})
    assert kept(facts, max_facts=10) == [*(f"p{i}" for i in range(9)), "c"]
    assert "c" not in kept(facts, max_facts=10, policy="confidence")
    assert "c" not in kept(facts, max_facts=10, correction_reserved_fraction=0.0)
    assert "c" not in kept(facts, max_facts=10, correction_reserved_max=0)


def test_unused_reserve_returns_to_all():
    facts = [{"id": str(i), "confidence": i / 10} for i in range(5)]
    decision = select_facts_for_capacity(
        facts, max_facts=3, policy="hybrid-v1", now=NOW, correction_reserved_fraction=1.0
    )
    assert [fact["id"] for fact in decision.kept] == ["4", "3", "2"]
    assert decision.reserved_correction_slots == 0


def test_at_or_under_the_capacity_input_order_stays():
    facts = [{"id": "low", "confidence": 0.1}, {"id": "high", "confidence": 0.9}]
    for capacity in (2, 3):
        assert kept(facts, max_facts=capacity) == ["low", "high"]
    assert kept(facts, max_facts=0) == []


def test_ties_stay_in_input_order_and_leave_from_the_end():
    facts = [{"id": id_, "confidence": 0.5} for id_ in "dacb"]
    decision = select_facts_for_capacity(facts, max_facts=2, policy="confidence", now=NOW)
    assert [fact["id"] for fact in decision.kept] == ["d", "a"]
    assert [fact.fact_id for fact in decision.evicted] == ["b", "c"]


def test_evicted_facts_carry_no_content():
    facts = [{"id": "a", "confidence": 0.9}, {"id": "b", "content": "secret"}]
    (evicted,) = select_facts_for_capacity(facts, max_facts=1, policy="confidence", now=NOW).evicted
    assert vars(evicted) == {
        "fact_id": "b",
        "category": "context",
        "score": 0.5,
        "components": {"confidence": 0.5},
    }


def test_facts_that_share_an_id_are_scored_apart_and_named():
    facts = [
        {"id": "x", "confidence": 0.9},
        {"id": "y", "confidence": 0.5},
        {"id": "x", "confidence": 0.1},
        {"confidence": 0.4},
        {"confidence": 0.3},
    ]
    with pytest.warns(DuplicateFactIdWarning, match="share the id 'x'; each is scored apart"):
        decision = select_facts_for_capacity(facts, max_facts=2, policy="confidence", now=NOW)
    assert decision.kept == facts[:2]
    assert {key: score.value for key, score in decision.scores.items()} == {
        "x": 0.9,
        "y": 0.5,
        "x__duplicate_2": 0.1,
        "__missing_3": 0.4,
        "__missing_4": 0.3,
    }
    assert [(fact.fact_id, fact.score) for fact in decision.evicted] == [
        ("x", 0.1),
        ("__missing_4", 0.3),
        ("__missing_3", 0.4),
    ]


def test_facts_that_share_an_id_share_its_usage_and_one_without_has_none():
    facts = [{"id": "x"}, {"id": "x"}, {"confidence": 0.5}]
    entry = {"accessHeat": 8, "lastAccessedAt": ago(0)}
    usage = {"x": entry, "__missing_2": entry, "": entry}
    with pytest.warns(DuplicateFactIdWarning):
        decision = select_facts_for_capacity(
            facts, max_facts=2, policy="hybrid-v1", now=NOW, usage=usage
        )
    heats = [score.components["accessHeat"] for score in decision.scores.values()]
    assert heats == [1.0, 1.0, 0.0]


def test_facts_without_id_are_no_duplicates():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select_facts_for_capacity([{}, {"id": None}], max_facts=1, policy="confidence", now=NOW)


def test_an_id_that_looks_like_ours_takes_no_score_away():
    facts = [{"confidence": 0.9}, {"id": "__missing_0", "confidence": 0.2}]
    decision = select_facts_for_capacity(facts, max_facts=1, policy="confidence", now=NOW)
    assert {key: score.value for key, score in decision.scores.items()} == {
        "__missing_0_": 0.9,
        "__missing_0": 0.2,
    }
    assert decision.kept == facts[:1]


def test_a_naive_clock_means_utc_and_the_zone_does_not_matter():
    facts = [
        {"id": "a", "confidence": 0.6, "lastConfirmedAt": "2026-08-12T23:00:00"},
        {"id": "b", "confidence": 0.6, "lastConfirmedAt": "2026-08-12T23:00:00+05:00"},
    ]
    clocks = [NOW, NOW.replace(tzinfo=None), NOW.astimezone(timezone(timedelta(hours=-9)))]
    scores = [
        select_facts_for_capacity(facts, max_facts=1, policy="hybrid-v1", now=clock).scores
        for clock in clocks
    ]
    assert scores[0] == scores[1] == scores[2]
    assert scores[0]["a"].value > scores[0]["b"].value


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"policy": "lru"}, "policy 'lru' is unknown; choose confidence or hybrid-v1"),
        ({"max_facts": -1}, "max_facts is -1"),
        ({"max_facts": 1.5}, "max_facts is 1.5"),
        ({"max_facts": True}, "max_facts is True"),
        ({"confidence_weight": 0.55}, r"weights \(0.55, 0.25, 0.1\) sum to 0.9"),
        ({"confidence_weight": -0.1}, "the confidence weight is -0.1"),
        ({"access_weight": math.nan}, "the access weight is nan"),
        ({"access_weight": "0.1"}, "the access weight is '0.1'"),
        ({"confirmation_half_life_days": 0}, "must be a positive number of days"),
        ({"access_half_life_days": math.inf}, "must be a positive number of days"),
        ({"access_half_life_days": 10**400}, "must be a positive number of days"),
        ({"access_half_life_days": math.nan}, "must be a positive number of days"),
        ({"correction_reserved_fraction": 1.1}, "must be in"),
        ({"correction_reserved_max": -1}, "must be a whole number from 0"),
        ({"now": "2026-08-13"}, "must be a datetime"),
        ({"now": None}, "must be a datetime"),
    ],
)
def test_a_parameter_out_of_range_is_refused(arguments, said):
    with pytest.raises(DeermemEvalError, match=said):
        kept([{"id": "a"}], **{"max_facts": 1, **arguments})


@pytest.mark.parametrize("policy", POLICIES)
def test_a_store_that_is_too_large_is_refused_in_one_line(policy):
    facts = [{"id": "a"}] * 10_000_000
    with pytest.raises(DeermemEvalError, match="holds 10,000,000 facts, and at most 1,000,000"):
        select_facts_for_capacity(facts, max_facts=0, policy=policy, now=NOW)


def test_a_decision_is_a_plain_value_whether_or_not_its_parts_were_asked_for():
    facts = [{"id": "a", "confidence": 0.9}, {"id": "b", "confidence": 0.1}]

    def decide():
        return select_facts_for_capacity(facts, max_facts=1, policy="confidence", now=NOW)

    asked = decide()
    assert type(asked.evicted) is list
    assert type(asked.scores) is dict
    assert asked.evicted is asked.evicted
    assert asked.evicted[0].components is not asked.scores["b"].components
    written = Decision(asked.kept, asked.evicted, asked.scores, "confidence", 0)
    assert asked == written == decide() == copy.deepcopy(decide())
    assert pickle.loads(pickle.dumps(decide())) == written
    assert repr(decide()) == repr(written)
    assert dataclasses.asdict(decide()) == dataclasses.asdict(written)
    assert dataclasses.replace(decide(), policy="mine").policy == "mine"
    with pytest.raises(AttributeError, match="a decision has no content"):
        decide().content  # noqa: B018
    with pytest.raises(dataclasses.FrozenInstanceError):
        decide().evicted = []


def test_what_is_made_late_shows_the_facts_as_they_were():
    facts = [{"id": "a", "category": "goal"}, {"id": "b", "category": "goal"}]
    decision = select_facts_for_capacity(facts, max_facts=0, policy="hybrid-v1", now=NOW)
    for fact in facts:
        fact.clear()
    assert [(fact.fact_id, fact.category) for fact in decision.evicted] == [
        ("b", "goal"),
        ("a", "goal"),
    ]
    assert list(decision.scores) == ["a", "b"]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(is_enabled):
    try:
        (gc.enable if is_enabled else gc.disable)()
        decision = select_facts_for_capacity(
            [{"id": "a"}], max_facts=0, policy="confidence", now=NOW
        )
        assert decision.evicted
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()


facts_without_ties = st.lists(
    st.tuples(st.integers(0, 1000), st.booleans()),
    min_size=1,
    max_size=25,
    unique_by=lambda pair: pair[0],
).map(
    lambda pairs: [
        {
            "id": f"f{number}",
            "confidence": number / 1000,
            "category": "correction" if is_correction else "context",
        }
        for number, is_correction in pairs
    ]
)


@given(facts_without_ties, st.randoms(), st.integers(0, 26), st.sampled_from(POLICIES))
def test_without_ties_input_order_decides_nothing(facts, random, capacity, policy):
    shuffled = random.sample(facts, len(facts))
    first, second = (kept(f, max_facts=capacity, policy=policy) for f in (facts, shuffled))
    assert sorted(first) == sorted(second)
    if capacity < len(facts):
        assert first == second


@given(
    facts_without_ties,
    st.integers(0, 25),
    st.sampled_from(POLICIES),
    st.floats(0, 1),
    st.integers(0, 12),
)
def test_kept_sets_nest_as_the_capacity_grows(facts, capacity, policy, fraction, most):
    """Also with a reserve: it grows by one slot at most when the capacity does."""
    reserve = {"correction_reserved_fraction": fraction, "correction_reserved_max": most}
    smaller, larger = (
        set(kept(facts, max_facts=c, policy=policy, **reserve)) for c in (capacity, capacity + 1)
    )
    assert smaller <= larger


@given(st.floats(0.01, 100).filter(lambda factor: abs(factor - 1) > 1e-6))
def test_scaled_weights_are_refused_rather_than_normalised(factor):
    with pytest.raises(DeermemEvalError, match="must"):
        kept(
            [{"id": "a"}],
            max_facts=1,
            confidence_weight=0.65 * factor,
            confirmation_weight=0.25 * factor,
            access_weight=0.10 * factor,
        )


@given(st.timedeltas(timedelta(days=-4000), timedelta(days=4000)))
def test_the_clock_that_is_given_decides_and_no_other(shift):
    """Moving the clock and every time by the same amount changes no score."""

    def facts(by):
        return [
            {"id": "a", "lastConfirmedAt": (NOW + by - timedelta(days=7)).isoformat()},
            {"id": "b", "createdAt": (NOW + by - timedelta(days=30)).isoformat()},
        ]

    def scores(by):
        entry = {"accessHeat": 3, "lastAccessedAt": (NOW + by - timedelta(days=2)).isoformat()}
        return select_facts_for_capacity(
            facts(by), max_facts=1, policy="hybrid-v1", now=NOW + by, usage={"b": entry}
        ).scores

    assert scores(shift) == scores(timedelta(0))


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["nan", "inf", "1e999", "0001-01-01T00:00:00+14:00", "9999-12-31", 10**400])
    | st.datetimes().map(str)
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
dirty_fact = (
    st.dictionaries(
        st.sampled_from(
            ["id", "category", "confidence", "createdAt", "lastConfirmedAt", "confirmationCount"]
        ),
        anything,
    )
    | anything
)
dirty_usage = st.dictionaries(
    st.text(max_size=3),
    st.dictionaries(st.sampled_from(["accessHeat", "accessCount", "lastAccessedAt"]), anything)
    | anything,
)


@given(
    st.lists(dirty_fact, max_size=8),
    dirty_usage | anything,
    st.integers(0, 9),
    st.sampled_from(POLICIES),
)
@pytest.mark.filterwarnings("ignore::deermem_eval.policies.DuplicateFactIdWarning")
def test_no_stored_value_raises_or_leaves_its_bounds(facts, usage, capacity, policy):
    before = copy.deepcopy((facts, usage))
    decision = select_facts_for_capacity(
        facts, max_facts=capacity, policy=policy, usage=usage, now=NOW
    )
    assert repr((facts, usage)) == repr(before)
    assert len(decision.kept) == min(capacity, len(facts))
    assert len(decision.kept) + len(decision.evicted) == len(facts) == len(decision.scores)
    for score in decision.scores.values():
        assert 0 <= score.value <= 1 + 1e-9
        assert all(0 <= component <= 1 for component in score.components.values())
