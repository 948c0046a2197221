"""The bound: no policy passes it, and somebody who knew everything would reach it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces import (
    Making,
    Setting,
    build_trace,
    made_life,
    most_needs_met,
    need_places,
    simulate,
)
from deermem_eval.traces.study import needs_met
from deermem_eval.traces.trace import CREATE
from deermem_eval.traces.victims import KEYS
from tests.traces.strategies import traces

RECENCIES = (None, 0, 0.5, 1)


def most_met_by_a_policy(trace, capacity, places, seeds=4):
    numbers = np.arange(seeds)
    confidence = np.random.default_rng(7).random((seeds, len(trace.fact_ids)))
    confidence[0] = trace.confidence
    found = []
    for policy in KEYS:
        lives = simulate(trace, Setting(policy, capacity), confidence, numbers, need_places=places)
        found.append(int(needs_met(trace, lives, places)[0].sum(axis=1).max()))
    return max(found)


def most_met_of_all_choices(trace, capacity, places):
    """Try every way to evict."""
    created = np.flatnonzero(trace.kinds == CREATE).tolist()
    ways = {(frozenset(), frozenset())}
    for place in range(len(trace.kinds) + 1):
        due = {number for number, at in enumerate(places.tolist()) if at == place}
        ways = {
            (held, met | {n for n in due if held.issuperset(trace.needs[n].facts)})
            for held, met in ways
        }
        if place in created:
            fact = created.index(place)
            grown = {(held | {fact}, met) for held, met in ways}
            ways = {
                (frozenset(kept), met)
                for held, met in grown
                for kept in itertools.combinations(sorted(held), min(len(held), capacity))
            }
    return max(len(met) for _, met in ways)


@settings(max_examples=60)
@given(traces(), st.integers(0, 8), st.sampled_from(RECENCIES))
def test_no_policy_meets_more_needs_than_the_bound(trace, capacity, recency):
    if trace.needs:
        places = need_places(trace, recency)
        best = most_met_by_a_policy(trace, capacity, places)
        assert best <= most_needs_met(trace, capacity, places) <= len(trace.needs)


@settings(max_examples=120)
@given(traces(most_facts=6, most_steps=14), st.integers(0, 2), st.sampled_from(RECENCIES))
def test_the_bound_is_the_most_that_any_choice_of_evictions_meets(trace, capacity, recency):
    places = need_places(trace, recency)
    expected = most_met_of_all_choices(trace, capacity, places)
    assert most_needs_met(trace, capacity, places) == expected


@given(traces())
def test_a_store_of_nothing_meets_nothing_and_one_of_all_meets_all(trace):
    for recency in RECENCIES:
        places = need_places(trace, recency)
        assert most_needs_met(trace, 0, places) == 0
        for capacity in (len(trace.fact_ids), len(trace.fact_ids) + 3):
            assert most_needs_met(trace, capacity, places) == len(trace.needs)


@pytest.mark.parametrize("recency", RECENCIES)
def test_the_bound_of_a_made_life_grows_with_the_capacity_and_holds_for_every_policy(recency):
    trace = made_life("made", 1, Making(facts=60, accesses=100, needs=60))
    places = need_places(trace, recency)
    bounds = [most_needs_met(trace, capacity, places) for capacity in (1, 5, 20, 60)]
    assert bounds == sorted(bounds)
    for capacity, bound in zip((1, 5, 20), bounds, strict=False):
        assert most_met_by_a_policy(trace, capacity, places, seeds=2) <= bound


def test_what_is_needed_last_is_not_always_what_should_go():
    """Belady's rule drops the fact of two late needs for one that is needed sooner, and once."""
    events = [("create", "allergy"), ("create", "train"), ("need", "train")]
    events += [("need", "allergy"), ("need", "allergy")]
    trace = build_trace(
        "ana",
        [
            {"time": f"2026-03-0{day}", "event": event}
            | ({"facts": [name]} if event == "need" else {"fact": name, "confidence": 0.8})
            for day, (event, name) in enumerate(events, start=1)
        ],
    )
    places = need_places(trace, None)
    (evicted_at,) = simulate(
        trace, Setting("clairvoyant", 1), trace.confidence, 0, need_places=places
    )
    assert needs_met(trace, evicted_at[np.newaxis], places)[0].sum() == 1
    assert most_needs_met(trace, 1, places) == 2


def test_a_negative_capacity_is_refused():
    trace = made_life("made", 0, Making(facts=5, accesses=0, needs=5))
    with pytest.raises(DeermemEvalError, match="capacity is -1"):
        most_needs_met(trace, -1, need_places(trace, None))
