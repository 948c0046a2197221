"""The scores of a whole store equal those of its facts, bit for bit."""

import struct
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deermem_eval.policies import HybridParameters, hybrid_score, store_scores
from deermem_eval.policies.scores import SECONDS_A_DAY, decay_since, parse_timestamp
from deermem_eval.policies.store_scores import hybrid_columns
from deermem_eval.policies.time_arrays import half_lives_until

NOW = datetime(2026, 8, 13, 11, 30, 59, 123_456, tzinfo=UTC)


class Text(str):
    """A text of another type."""


TIMES = [
    "2026-08-06T00:00:00Z",
    "2026-02-14T00:00:00.5+02:00",
    "2026-02-14T10:00:00.123457Z",
    " 2026-02-14 ",
    "2026-W33-4",
    "2027-01-01",
    "2026-08-13T11:30:59.123456",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999Z",
    "2026-08-06Z10:00:00",
    "2026-02-30T00:00:00Z",
    "soon",
    "",
    None,
    7,
    [],
    Text("2026-08-06T00:00:00Z"),
]
NUMBERS = [0.7, 1, 0, -0.0, 1.0, 1.5, -3, "0.4", " 8 ", True, None, 10**400, 1e305, 2**60, 1e-320]
NUMBERS += [float("nan"), float("inf"), float("-inf"), 8, 2.5, [], {}]
FACT = st.fixed_dictionaries(
    {},
    optional={
        "confidence": st.sampled_from(NUMBERS) | st.floats(),
        "lastConfirmedAt": st.sampled_from(TIMES) | st.datetimes().map(str),
        "createdAt": st.sampled_from(TIMES) | st.datetimes().map(lambda t: f"{t.isoformat()}Z"),
    },
)
ENTRY = (
    st.none()
    | st.sampled_from([[], "8", 3])
    | st.fixed_dictionaries(
        {},
        optional={
            "accessHeat": st.sampled_from(NUMBERS) | st.floats(),
            "lastAccessedAt": st.sampled_from(TIMES) | st.datetimes().map(str),
        },
    )
)
CLOCKS = st.sampled_from([NOW, NOW.astimezone(timezone(timedelta(hours=-9)))])


def bits(value):
    return struct.pack("d", value)


@given(st.lists(st.tuples(FACT, ENTRY), max_size=12), st.integers(1, 4), CLOCKS, st.booleans())
def test_a_store_scores_as_its_facts_do(pairs, times, now, on_arrays):
    facts, entries = [list(column) * times for column in zip(*pairs, strict=True)] or [[], []]
    parameters = HybridParameters()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_scores, "BLOCK_FACTS", 5)
        patch.setattr(store_scores, "MANY_TIMES", 1 if on_arrays else 20_000)
        columns = hybrid_columns(facts, entries, now, parameters)
    expected = [hybrid_score(f, e, now, parameters) for f, e in zip(facts, entries, strict=True)]
    found = columns.scores()
    assert list(map(repr, found)) == list(map(repr, expected))
    assert [bits(s.value) for s in found] == [bits(s.value) for s in expected]


@given(
    st.lists(st.datetimes(), min_size=1, max_size=20),
    st.sampled_from(["seconds", "microseconds"]),
    st.sampled_from(["", "Z", "+00:00"]),
    CLOCKS,
)
def test_half_lives_on_arrays_are_those_of_the_scores(times, precision, zone, now):
    texts = [time.isoformat(timespec=precision) + zone for time in times]
    days = [(now - parse_timestamp(text)).total_seconds() / SECONDS_A_DAY for text in texts]
    expected = [-max(day, 0.0) / 90 for day in days]
    exponents = half_lives_until(texts, now, 90)
    if max(map(abs, days)) < 365 * 285:
        assert list(map(bits, exponents)) == list(map(bits, expected))
    else:
        assert exponents is None or list(map(bits, exponents)) == list(map(bits, expected))


PLAIN = "2026-08-06T10:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-08-06 10:00:00Z",
        "2026-13-06T10:00:00Z",
        "2026-02-29T10:00:00Z",
        "0000-01-01T10:00:00Z",
        "2026-08-06T24:00:00Z",
        "2026-08-06T10:60:00Z",
        "2026-08-06T10:00:60Z",
        "2026-08-06T10:00:0/Z",
        "2026-08-06T10:00:0:Z",
        "2026-08-06T10:00:00z",
        "2026-08-06T10:00:00\0",
        "2026-08-06T10:00:0\u0660Z",
        "2026-08-06T10:00:00",
        "2026-08-06T10:00:00ZZ",
    ],
)
def test_one_text_of_another_form_sends_all_the_long_way(text):
    assert half_lives_until([PLAIN, text], NOW, 90) is None
    assert half_lives_until([PLAIN, PLAIN], NOW, 90) is not None


def test_a_large_store_with_one_odd_time_scores_as_its_facts_do(monkeypatch):
    monkeypatch.setattr(store_scores, "MANY_TIMES", 100)
    monkeypatch.setattr(store_scores, "BLOCK_FACTS", 100)
    facts = [{"createdAt": (NOW - timedelta(hours=h)).isoformat()[:19] + "Z"} for h in range(300)]
    for odd in (PLAIN, " 2026-08-06 ", "soon", None):
        facts[150] = {"createdAt": odd}
        columns = hybrid_columns(facts, [None] * 300, NOW, HybridParameters())
        for fact, found in zip(facts, columns.components["confirmationFreshness"], strict=True):
            decay = decay_since(fact["createdAt"], NOW, 90)
            assert found == (0.0 if decay is None else 0.5 * decay)
