"""The simulator equals one that lives fact by fact, and chance does what its formulas say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces import Setting, build_trace, kept_sets, made_life, need_places, simulate
from deermem_eval.traces.generator import Making
from deermem_eval.traces.simulator import next_needs
from deermem_eval.traces.study import needs_met
from deermem_eval.traces.trace import CREATE
from tests.traces.literal import literal_life
from tests.traces.strategies import BEGINS, WEIGHTS, traces

LITERAL = (
    *("confidence", "hybrid-v1", "recency", "frequency", "fifo", "correction-tie-break"),
    *("forgetting-curve", "power-law"),
)
ON_ARRAYS = (*LITERAL, "random", "clairvoyant")


def notes(*confidence, days=1):
    return build_trace(
        "jo",
        [
            {
                "time": f"2026-01-{1 + days * i:02d}",
                "event": "create",
                "fact": f"n{i}",
                "confidence": c,
            }
            for i, c in enumerate(confidence)
        ],
    )


def lived(trace, policy, capacity, confidence=None, seeds=0, weights=(0.65, 0.25, 0.1)):
    confidence = trace.confidence if confidence is None else confidence
    places = need_places(trace, None)
    return simulate(
        trace, Setting(policy, capacity), confidence, seeds, weights=weights, need_places=places
    )


def held_after(trace, evicted_at):
    return [set(np.flatnonzero(row).tolist()) for row in kept_sets(trace, evicted_at)]


@settings(max_examples=90)
@given(traces(), st.integers(0, 12), WEIGHTS, st.integers(0, 3))
def test_every_policy_holds_what_a_literal_store_holds_after_every_event(
    trace, capacity, weights, seed
):
    for policy in LITERAL:
        (evicted_at,) = lived(trace, policy, capacity, seeds=seed, weights=weights)
        expected = literal_life(
            trace, policy, capacity, confidence=trace.confidence, seed=seed, weights=weights
        )
        assert held_after(trace, evicted_at) == expected, policy


@pytest.mark.parametrize("capacity", [5, 20, 50])
def test_a_long_made_life_is_lived_as_literally(capacity):
    trace = made_life("made", 3, Making(facts=70, accesses=250, needs=10, corrections=0.2))
    confidence = 0.7 + 0.3 * np.random.default_rng(1).random(len(trace.fact_ids)).round(1)
    for policy in LITERAL:
        (evicted_at,) = lived(trace, policy, capacity, confidence)
        expected = literal_life(trace, policy, capacity, confidence=confidence)
        assert held_after(trace, evicted_at) == expected, policy


@settings(max_examples=30)
@given(traces(), st.integers(0, 8), st.integers(0, 99), st.lists(WEIGHTS, min_size=3, max_size=3))
def test_a_store_lives_the_same_life_whatever_lives_beside_it(trace, capacity, lot, triples):
    rows = np.random.default_rng(lot).integers(7, 11, (3, len(trace.fact_ids))) / 10
    seeds = np.array([lot, lot + 1, lot])
    weights = np.array(triples)
    for policy in ON_ARRAYS:
        together = lived(trace, policy, capacity, rows, seeds, weights)
        for i in range(3):
            alone = lived(trace, policy, capacity, rows[i], seeds[i], weights[i])
            assert (together[i] == alone[0]).all(), policy


@settings(max_examples=30)
@given(traces(), st.integers(0, 8), st.integers(0, 99))
def test_the_same_seed_gives_the_same_life(trace, capacity, seed):
    for policy in ON_ARRAYS:
        first, second = (lived(trace, policy, capacity, seeds=seed) for _ in range(2))
        assert (first == second).all()


@settings(max_examples=50)
@given(traces(), st.integers(0, 30))
def test_a_store_never_holds_more_than_its_capacity_and_forgets_only_when_it_must(trace, capacity):
    made = np.cumsum(trace.kinds == CREATE)
    for policy in ON_ARRAYS:
        (evicted_at,) = lived(trace, policy, capacity)
        sizes = kept_sets(trace, evicted_at).sum(axis=1)
        assert (sizes == np.minimum(made, capacity)).all(), policy


@settings(max_examples=30)
@given(traces(), st.integers(0, 5))
def test_a_store_with_room_for_all_loses_nothing_and_meets_every_need(trace, more):
    for policy in ON_ARRAYS:
        evicted_at = lived(trace, policy, len(trace.fact_ids) + more)
        assert (evicted_at == len(trace.kinds)).all()
        if trace.needs:
            met, in_part = needs_met(trace, evicted_at, need_places(trace, None))
            assert met.all()
            assert (in_part == 1).all()


@settings(max_examples=25)
@given(traces(), st.integers(0, 8), st.integers(0, 3))
def test_a_function_of_ones_own_lives_literally_too(own_policy, trace, capacity, seed):
    confidence = np.vstack([trace.confidence, trace.confidence[::-1]])
    lives = lived(trace, own_policy, capacity, confidence, [seed, seed + 1])
    for i, evicted_at in enumerate(lives):
        expected = literal_life(
            trace, own_policy, capacity, confidence=confidence[i], seed=seed + i
        )
        assert held_after(trace, evicted_at) == expected


@pytest.fixture(scope="module")
def own_policy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "garden_policy.py").write_text(
        "def warmest(facts, *, max_facts, usage, now):\n"
        "    def key(fact):\n"
        "        heat = usage.get(fact['id'], {}).get('accessHeat', 0)\n"
        "        return heat, 'lastConfirmedAt' in fact, fact['confidence']\n"
        "    return [f['id'] for f in sorted(facts, key=key, reverse=True)[:max_facts]]\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield "garden_policy:warmest"


def test_policies_that_cannot_be_simulated_are_refused():
    trace = notes(0.7, 0.8)
    with pytest.raises(DeermemEvalError, match="policy 'lru' is not one of"):
        lived(trace, "lru", 1)
    with pytest.raises(DeermemEvalError, match="oracle must be told what will be asked for"):
        lived(trace, "oracle", 1)
    with pytest.raises(DeermemEvalError, match="clairvoyant policy must be told"):
        simulate(trace, Setting("clairvoyant", 1), trace.confidence, 0)


@pytest.mark.parametrize("capacity", [-1, 1.5, True, None])
def test_a_capacity_that_is_none_is_refused(capacity):
    with pytest.raises(DeermemEvalError, match="capacity is .*, and must be a whole number from 0"):
        Setting("confidence", capacity)


@pytest.mark.parametrize(("count", "capacity"), [(8, 3), (12, 1), (6, 5), (5, 0)])
def test_random_lets_a_fact_survive_as_often_as_its_formula_says(count, capacity):
    seeds = np.arange(4000)
    lives = lived(notes(*[0.8] * count), "random", capacity, seeds=seeds)
    survived = (lives == count).mean(axis=0)
    for fact in range(count):
        overflows = count - max(fact, capacity)
        expected = (capacity / (capacity + 1)) ** overflows
        tolerance = 4 * np.sqrt(expected * (1 - expected) / len(seeds))
        assert abs(survived[fact] - expected) <= tolerance, fact


@pytest.mark.parametrize("capacity", range(12))
def test_fifo_keeps_the_last_facts(capacity):
    (evicted_at,) = lived(notes(*[0.9, 0.7] * 5), "fifo", capacity)
    assert np.flatnonzero(evicted_at == 10).tolist() == list(range(max(0, 10 - capacity), 10))


def test_of_equal_facts_the_last_one_goes():
    for policy in ("confidence", "frequency"):
        (evicted_at,) = lived(notes(0.8, 0.8, 0.8, 0.8), policy, 2)
        assert evicted_at.tolist() == [4, 4, 2, 3]


@pytest.mark.parametrize("recency", [None, 0, 0.5, 1])
@settings(max_examples=30)
@given(trace=traces(), capacity=st.integers(0, 8))
def test_the_clairvoyant_never_evicts_what_is_needed_sooner_than_what_it_keeps(
    trace, capacity, recency
):
    places = need_places(trace, recency)
    setting = Setting("clairvoyant", capacity)
    (evicted_at,) = simulate(trace, setting, trace.confidence, 0, need_places=places)
    held = kept_sets(trace, evicted_at)
    needed = next_needs(trace, places)

    def next_need(fact, place):
        return min((at for at in needed[fact].tolist() if at > place), default=np.inf)

    for fact, place in enumerate(evicted_at.tolist()):
        if place < len(trace.kinds):
            others = [next_need(other, place) for other in np.flatnonzero(held[place]).tolist()]
            assert all(next_need(fact, place) >= other for other in others)


@pytest.mark.parametrize("chances", [[0.0], [1.0], [0.25], [0.5, 0.5], [0.1, 0.0, 0.6]])
def test_a_confirmation_happens_as_often_as_its_probability(chances):
    new = {"time": "2026-06-01", "event": "create", "confidence": 0.7}
    again = {"time": "2026-06-01", "event": "confirm", "fact": "tea"}
    events = [{"time": BEGINS.isoformat(), "event": "create", "fact": "tea", "confidence": 0.7}]
    events += [again | {"probability": chance} for chance in chances]
    events += [new | {"fact": "coffee"}, new | {"fact": "milk"}]
    seeds = np.arange(4000)
    # In June the creation in January is worth less than half of one now, a confirmation more.
    lives = lived(build_trace("jo", events), "hybrid-v1", 2, seeds=seeds, weights=(0, 1, 0))
    expected = 1 - np.prod(1 - np.array(chances))
    tolerance = 4 * np.sqrt(expected * (1 - expected) / len(seeds))
    assert abs((lives[:, 0] == len(events)).mean() - expected) <= tolerance
