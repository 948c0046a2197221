"""Made lives: seeded, in order, and made of what their module says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces import (
    Making,
    build_trace,
    made_life,
    made_lives,
    read_traces,
    trace_events,
    write_traces,
)
from deermem_eval.traces.trace import ACCESS, CONFIRM, CREATE, NEED

SMALL = st.builds(
    Making,
    facts=st.integers(1, 40),
    accesses=st.integers(0, 60),
    needs=st.integers(1, 30),
    days=st.sampled_from((1.0, 30.0, 365.0)),
    topics=st.integers(1, 5),
    drift=st.sampled_from((0.0, 0.1, 1.0)),
    corrections=st.sampled_from((0.0, 0.3, 1.0)),
    zipf=st.sampled_from((0.0, 1.0, 3.0)),
    lifetime_days=st.sampled_from((0.01, 5.0, 1000.0)),
)


def in_bytes(trace):
    arrays = (trace.confidence, trace.kinds, trace.subjects, trace.times, trace.corrects)
    return b"".join(array.tobytes() for array in arrays) + repr(trace.needs).encode()


def test_the_same_seed_makes_the_same_life_and_another_one_another():
    first, again, other = (in_bytes(made_life("made", seed)) for seed in (4, 4, 5))
    assert first == again != other
    lives = made_lives(3)
    assert [life.life for life in lives] == ["made-0", "made-1", "made-2"]
    assert in_bytes(lives[2]) == in_bytes(made_life("made-2", 2))


@settings(max_examples=80)
@given(SMALL, st.integers(0, 999))
def test_a_made_life_is_one_that_can_be(making, seed):
    trace = made_life("made", seed, making)
    assert (np.diff(trace.times) >= 0).all()
    assert (trace.probabilities == 1).all()
    events = list(trace_events(trace))
    again = build_trace("made", events)
    assert (again.fact_ids, again.needs) == (trace.fact_ids, trace.needs)
    assert (again.kinds == trace.kinds).all()
    assert len(trace.fact_ids) >= 1


@settings(max_examples=80)
@given(SMALL, st.integers(0, 999))
def test_at_least_one_fact_comes(making, seed):
    assert len(made_life("made", seed, making).fact_ids) >= 1


def test_a_need_that_finds_nothing_that_matters_is_dropped():
    making = Making(facts=1, needs=1, accesses=0, days=1, lifetime_days=0.01)
    assert made_life("made", 0, making).needs == ()


@settings(max_examples=80)
@given(SMALL, st.integers(0, 999))
def test_what_was_corrected_is_needed_and_looked_for_no_more(making, seed):
    trace = made_life("made", seed, making)
    ends = np.full(len(trace.fact_ids), np.inf)
    for fact, corrected in enumerate(trace.corrects.tolist()):
        if corrected >= 0:
            assert corrected < fact
            assert ends[corrected] == np.inf
            ends[corrected] = trace.created[fact]
    assert (trace.corrections == (trace.corrects >= 0)).all()
    for kind, subject, time in zip(trace.kinds, trace.subjects, trace.times, strict=True):
        if kind == NEED:
            assert all(time < ends[fact] for fact in trace.needs[subject].facts)
        elif kind in (ACCESS, CONFIRM):
            assert time < ends[subject]


def test_a_life_has_about_as_much_of_everything_as_was_asked_for():
    lives = [made_life("made", seed) for seed in range(20)]
    counts = np.mean([[np.sum(life.kinds == kind) for kind in range(4)] for life in lives], axis=0)
    assert counts[CREATE] == pytest.approx(250, abs=15)
    assert 1300 < counts[ACCESS] <= 1530  # those in the first days find nothing
    assert counts[CONFIRM] == pytest.approx(counts[ACCESS] / 10, abs=15)
    assert 130 < counts[NEED] <= 160
    needs = [len(need.facts) for life in lives for need in life.needs]
    assert np.mean([size == 1 for size in needs]) == pytest.approx(0.75, abs=0.04)
    assert np.mean([life.corrections.mean() for life in lives]) == pytest.approx(0.08, abs=0.02)
    assert max(life.times[-1] - life.times[0] for life in lives) <= 365 * 86_400


def test_worth_is_uneven_the_more_so_the_larger_its_exponent():
    def share_of_the_ten_best(zipf):
        trace = made_life("made", 1, Making(zipf=zipf))
        hits = np.bincount(trace.subjects[trace.kinds == ACCESS], minlength=len(trace.fact_ids))
        return np.sort(hits)[-10:].sum() / hits.sum()

    even, published, steep = map(share_of_the_ten_best, (0.0, 1.0, 2.0))
    assert even < published < steep


def test_a_made_life_survives_the_file_format(tmp_path):
    lives = made_lives(2, Making(facts=60, accesses=200, needs=40))
    write_traces(tmp_path / "made.jsonl", lives)
    for life, again in zip(lives, read_traces(tmp_path / "made.jsonl"), strict=True):
        assert (life.life, life.fact_ids, life.categories, life.needs) == (
            *(again.life, again.fact_ids, again.categories, again.needs),
        )
        for name in ("kinds", "subjects", "corrects", "probabilities"):
            assert (getattr(life, name) == getattr(again, name)).all()
        assert again.times == pytest.approx(life.times, rel=0, abs=1e-6)
        assert np.isnan(again.confidence).all()


@pytest.mark.parametrize(
    ("making", "said"),
    [
        ({"facts": 0}, "facts is 0, and must be positive"),
        ({"needs": -1}, "needs is -1, and must be positive"),
        ({"topics": 0}, "topics is 0, and must be positive"),
        ({"days": float("nan")}, "days is nan, and must be positive"),
        ({"lifetime_days": 0.0}, "lifetime_days is 0.0, and must be positive"),
        ({"accesses": -1}, "accesses is -1, and must be from 0"),
        ({"zipf": -0.5}, "zipf is -0.5, and must be in"),
        ({"drift": 1.5}, r"drift is 1.5, and must be in \[0, 1\]"),
        ({"corrections": float("nan")}, "corrections is nan, and must be in"),
    ],
)
def test_a_making_that_is_none_is_refused(making, said):
    with pytest.raises(DeermemEvalError, match=said):
        Making(**making)


@pytest.mark.parametrize(
    "making", [{"zipf": 1000.0}, {"days": float("inf")}, {"facts": float("inf")}, {"topics": 2.5}]
)
def test_a_making_is_refused_or_makes_a_life(making):
    try:
        trace = made_life("made", 0, Making(**{"facts": 30, "needs": 10} | making))
    except DeermemEvalError:
        return
    assert np.isfinite(trace.times).all()
