"""Baselines and rivals: each by its own rule, and any of them believed only if it may be."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import Policy, apply_policy, load_policy, policy_names
from deermem_eval.policies import baselines as rules
from deermem_eval.selection import decide, decision_table, policy_settings, retention_by_suite

NOW = datetime(2026, 8, 13, tzinfo=UTC)


def ago(days):
    return (NOW - timedelta(days=days)).isoformat()


FACTS = [
    {"id": "old", "confidence": 0.9, "createdAt": ago(300)},
    {"id": "confirmed", "confidence": 0.5, "createdAt": ago(400), "lastConfirmedAt": ago(20)},
    {"id": "used", "confidence": 0.7, "createdAt": ago(200)},
    {"id": "new", "confidence": 0.7, "createdAt": ago(30)},
    {"id": "corrected", "confidence": 0.7, "category": "correction", "createdAt": ago(200)},
]
USAGE = {"used": {"accessCount": 9, "lastAccessedAt": ago(1)}, "old": {"accessCount": 2}}
OWN = [
    *("correction-tie-break", "fifo", "forgetting-curve", "frequency", "oracle", "power-law"),
    *("random", "recency"),
]


def kept(name, facts=FACTS, usage=USAGE, max_facts=3, **more):
    policy = load_policy(name)
    decision = apply_policy(policy, facts, max_facts=max_facts, usage=usage, now=NOW, **more)
    return [fact["id"] for fact in decision.kept]


def test_the_names_are_these():
    assert list(policy_names()) == ["confidence", "hybrid-v1", *OWN]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recency", ["used", "confirmed", "new"]),
        ("frequency", ["used", "old", "confirmed"]),
        ("fifo", ["new", "used", "corrected"]),
        ("correction-tie-break", ["old", "corrected", "new"]),
    ],
)
def test_each_keeps_by_its_own_rule(name, expected):
    assert kept(name) == expected


def test_the_oracle_keeps_what_will_be_asked_for():
    assert kept("oracle", support_fact_ids=["corrected"])[0] == "corrected"


def test_the_forgetting_curve_is_finmems():
    """Q = 14 days at no confidence, 365 at full: the first is gone where the second has hardly faded."""
    facts = [
        {"id": "trivial", "confidence": 0.0, "createdAt": ago(10)},
        {"id": "important", "confidence": 1.0, "createdAt": ago(250)},
        {"id": "middling", "confidence": 0.5, "createdAt": ago(140)},
    ]
    # e^(-10/14) = 0.490, e^(-250/365) = 0.504, e^(-140/189.5) = 0.478
    assert kept("forgetting-curve", facts, {}, 2) == ["important", "trivial"]


def test_the_power_law_decays_confidence_by_the_root_of_the_age():
    facts = [
        {"id": "a", "confidence": 0.9, "createdAt": ago(99)},  # 0.09
        {"id": "b", "confidence": 0.3, "createdAt": ago(8)},  # 0.1
        {"id": "c", "confidence": 0.19, "createdAt": ago(3)},  # 0.095
    ]
    assert kept("power-law", facts, {}, 2) == ["b", "c"]


def test_chance_is_seeded_and_fair():
    assert kept("random") == kept("random")
    facts = [{"id": f"f{i}"} for i in range(10)]
    counts = dict.fromkeys((fact["id"] for fact in facts), 0)
    for seed in range(2000):
        for id_ in rules.random(facts, max_facts=3, usage={}, now=NOW, seed=seed):
            counts[id_] += 1
    assert sum(counts.values()) == 6000
    assert all(
        480 < count < 720 for count in counts.values()
    )  # 600 expected, 6 standard deviations


DIRTY = st.fixed_dictionaries(
    {},
    optional={
        "confidence": st.one_of(st.none(), st.text(), st.floats(), st.booleans()),
        "createdAt": st.one_of(st.none(), st.text(), st.integers(), st.just(ago(3))),
        "lastConfirmedAt": st.one_of(st.none(), st.text(), st.just(ago(2))),
        "category": st.one_of(st.none(), st.text(), st.just("correction")),
    },
)


@given(st.lists(DIRTY, max_size=12), st.integers(0, 12), st.sampled_from(OWN))
def test_dirty_facts_never_raise(fields, max_facts, name):
    facts = [{**of, "id": f"f{i}"} for i, of in enumerate(fields)]
    usage = {"f0": {"accessCount": "many", "lastAccessedAt": 7}, "f1": None}
    assert len(kept(name, facts, usage, max_facts)) == min(max_facts, len(facts))


def test_at_the_capacity_nothing_is_asked():
    def refuses(facts, **arguments):
        raise AssertionError

    decision = apply_policy(Policy("mine", refuses, False), FACTS, max_facts=5, usage={}, now=NOW)
    assert decision.kept == FACTS


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        (lambda facts, **more: [], "policy mine keeps 0 facts, and must keep 3, each once"),
        (lambda facts, **more: ["old"] * 3, "policy mine keeps 1 facts, and must keep 3"),
        (
            lambda facts, **more: [f["id"] for f in facts],
            "policy mine keeps 5 facts, and must keep 3",
        ),
        (
            lambda facts, **more: ["old", "used", "mine"],
            "policy mine keeps 'mine', which is no fact",
        ),
        (lambda facts, **more: 7, "policy mine fails with TypeError"),
        (lambda facts, **more: facts[9], "policy mine fails with IndexError"),
    ],
)
def test_a_policy_that_keeps_what_it_may_not_is_named(keep, said):
    with pytest.raises(DeermemEvalError, match=said):
        apply_policy(Policy("mine", keep, False), FACTS, max_facts=3, usage={}, now=NOW)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lru", "policy 'lru' is not one of confidence, hybrid-v1, correction-tie-break, fifo"),
        ("nowhere:f", "policy 'nowhere:f' cannot be imported: ModuleNotFoundError"),
        ("math:nothing", "policy 'math:nothing' cannot be imported: AttributeError"),
        (":", "policy ':' cannot be imported"),
    ],
)
def test_a_policy_that_is_none_is_refused(name, said):
    with pytest.raises(DeermemEvalError, match=said):
        load_policy(name)


def test_a_function_of_ones_own_is_a_policy_everywhere(
    historical, historical_cases, tmp_path, monkeypatch
):
    (tmp_path / "mine_policy.py").write_text(
        "def last(facts, *, max_facts, usage, now):\n"
        "    return [fact['id'] for fact in facts[::-1][:max_facts]]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = policy_settings(historical.config, policies=["mine_policy:last", "confidence"])
    assert [setting.name for setting in settings] == ["confidence", "mine_policy:last"]
    decisions = decide(historical_cases, settings, [7], now=historical.config.evaluation_time)
    assert all(len(decision.kept_fact_ids) == 7 for decision in decisions)


def test_no_policy_passes_the_oracle_and_none_is_worse_than_nothing(historical, historical_cases):
    settings = policy_settings(historical.config, policies=policy_names())
    decisions = decide(
        historical_cases, settings, range(1, 11), now=historical.config.evaluation_time
    )
    table = retention_by_suite(decision_table(decisions))
    retained = table[table["suite"] == "overall"].pivot(
        index="capacity", columns="policy", values="retained"
    )
    assert retained["oracle"].eq(45).all()
    assert retained.loc[10].eq(45).all()
    assert retained.loc[7, ["confidence", "hybrid-v1"]].to_list() == [27, 45]
