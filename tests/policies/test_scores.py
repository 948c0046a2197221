import math
from datetime import UTC, datetime, timedelta

import pytest

from deermem_eval.policies import access_heat, confirmation_freshness, stored_confidence

NOW = datetime(2026, 8, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.7, 0.7),
        (1.5, 1.0),
        (-0.1, 0.0),
        ("0.4", 0.4),
        (" 0.4 ", 0.4),
        ("high", 0.5),
        (None, 0.5),
        (True, 0.5),
        (False, 0.5),
        (math.nan, 0.5),
        (math.inf, 0.5),
        ("1e999", 0.5),
        (10**400, 0.5),
        ([], 0.5),
        ({}, 0.5),
    ],
)
def test_confidence_is_clipped_and_defaults_to_a_half(value, expected):
    assert stored_confidence({"confidence": value}) == expected


def test_a_missing_confidence_is_a_half():
    assert stored_confidence({}) == 0.5


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        ({"lastConfirmedAt": "2026-08-13T00:00:00Z"}, 1.0),
        ({"lastConfirmedAt": "2026-05-15T00:00:00Z"}, 0.5),
        ({"lastConfirmedAt": "2026-05-15T08:00:00+08:00"}, 0.5),
        ({"lastConfirmedAt": "2026-05-15"}, 0.5),
        ({"lastConfirmedAt": "2026-05-15T00:00Z"}, 0.5),
        ({"lastConfirmedAt": " 2026-05-15T00:00:00 "}, 0.5),
        ({"lastConfirmedAt": "2027-01-01T00:00:00Z"}, 1.0),
        ({"createdAt": "2026-05-15T00:00:00Z"}, 0.25),
        ({"createdAt": "2026-08-13T00:00:00Z"}, 0.5),
        ({"lastConfirmedAt": "soon", "createdAt": "2026-05-15T00:00:00Z"}, 0.25),
        ({"lastConfirmedAt": 1754000000, "createdAt": "2026-05-15T00:00:00Z"}, 0.25),
        ({"createdAt": "2026-13-40"}, 0.0),
        ({}, 0.0),
    ],
)
def test_freshness_halves_every_half_life_and_creation_counts_half(fact, expected):
    assert confirmation_freshness(fact, NOW, 90) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("heat", "days", "expected"),
    [
        (8, 0, 1.0),
        (100, 0, 1.0),
        (16, 30, 1.0),
        (8, 30, math.log(5) / math.log(9)),
        (1, 0, math.log(2) / math.log(9)),
        ("8", 0, 1.0),
        (0, 0, 0.0),
        (-3, 0, 0.0),
        (True, 0, 0.0),
        (None, 0, 0.0),
        ("x", 0, 0.0),
        (8, -5, 1.0),
    ],
)
def test_heat_decays_and_saturates_at_eight(heat, days, expected):
    entry = {"accessHeat": heat, "lastAccessedAt": (NOW - timedelta(days=days)).isoformat()}
    assert access_heat(entry, NOW, 30) == pytest.approx(expected)


@pytest.mark.parametrize("entry", [None, [], "8", {"accessHeat": 8}])
def test_an_entry_without_time_or_shape_is_cold(entry):
    assert access_heat(entry, NOW, 30) == 0.0
