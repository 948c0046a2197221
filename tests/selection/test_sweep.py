"""Sweeps: every setting of a grid, counted by scenario, suite and case."""

import sys

import pandas as pd
import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.selection import (
    decide,
    decision_table,
    policy_settings,
    retention_by_scenario,
    simplex_grid,
    sweep,
)


def test_it_counts_what_the_decisions_count(historical, historical_cases):
    config = historical.config
    triples = [(0.65, 0.25, 0.10), (0.2, 0.5, 0.3), (1, 0, 0)]
    table = sweep(historical_cases, config, weights=triples, capacities=[5, 7]).counts()
    for _, row in table.iterrows():
        setting = policy_settings(
            config,
            policies=["hybrid-v1"],
            weights=tuple(row[["confidence", "confirmation", "access"]]),
        )
        decisions = decide(
            historical_cases, setting, [int(row["capacity"])], now=config.evaluation_time
        )
        counted = retention_by_scenario(decision_table(decisions)).set_index("scenario")["retained"]
        assert row[list(counted.index)].to_dict() == counted.to_dict()
        assert row["retained"] == counted.sum()


def test_parameters_are_crossed(historical, historical_cases):
    table = sweep(
        historical_cases,
        historical.config,
        weights=simplex_grid(0.5),
        capacities=[5, 7, 9],
        parameters={
            "confirmation_half_life_days": [30, 90],
            "correction_reserved_max": [0, 10],
            "support_access_heat": [0, 1, 8],
        },
    ).counts()
    assert len(table) == 6 * 3 * 2 * 2 * 3
    columns = list(table.columns[:7])
    assert not table[columns].duplicated().any()


def test_signals_of_the_support_facts_matter_where_they_should(historical, historical_cases):
    config = historical.config
    ages = sweep(
        historical_cases, config, parameters={"support_confirmed_days": [7, 90, 3650]}
    ).counts()
    assert ages["confirmation_help"].to_list() == sorted(ages["confirmation_help"], reverse=True)
    assert ages["confirmation_help"].iloc[0] == 10
    assert ages["confirmation_help"].iloc[-1] < 10
    assert ages["access_help"].eq(10).all()
    heats = sweep(historical_cases, config, parameters={"support_access_heat": [0, 8]}).counts()
    assert heats["access_help"].to_list() == [3, 10]


def test_the_reserve_saves_four_corrections(historical, historical_cases):
    table = sweep(
        historical_cases,
        historical.config,
        weights=[(1, 0, 0)],
        parameters={"correction_reserved_max": [0, 10]},
    ).counts()
    assert table["retained"].to_list() == [27, 31]
    assert table["correction_reserve"].to_list() == [1, 5]


def test_cases_are_counted_too(historical, historical_cases):
    found = sweep(historical_cases, historical.config, weights=simplex_grid(0.05))
    by_case = found.by_case()
    assert by_case["retained"].sum() == found.counts()["retained"].sum()
    assert pd.api.types.is_integer_dtype(by_case["retained"])


@pytest.mark.parametrize("way", [{"workers": 2}, {"workers": 2, "scheduler": "local"}])
def test_chunks_and_workers_change_no_byte(historical, historical_cases, monkeypatch, way):
    grid = {"weights": simplex_grid(0.1), "capacities": [5, 7]}
    ages = {"parameters": {"support_confirmed_days": [7, 90]}}
    whole = sweep(historical_cases, historical.config, **grid, **ages)
    monkeypatch.setattr(sys.modules[sweep.__module__], "CHUNK_TRIPLES", 25)
    parted = sweep(historical_cases, historical.config, **grid, **ages, **way)
    assert parted.retained.dtype == whole.retained.dtype
    assert parted.retained.tobytes() == whole.retained.tobytes()
    pd.testing.assert_frame_equal(parted.settings, whole.settings, check_exact=True)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"half_life": [1]}, "parameter 'half_life' cannot be swept; choose of confirmation_half"),
        ({"confirmation_half_life_days": [0]}, "confirmation_half_life_days is 0, and must be"),
        ({"correction_reserved_fraction": [2]}, "correction_reserved_fraction is 2"),
        ({"correction_reserved_max": [1.5]}, "correction_reserved_max is 1.5"),
        ({"support_confirmed_days": [-1]}, "support_confirmed_days is -1, and must be in 0..36500"),
        ({"support_access_heat": [float("nan")]}, "support_access_heat is nan"),
    ],
)
def test_what_cannot_be_swept_is_refused(historical, historical_cases, parameters, said):
    with pytest.raises(DeermemEvalError, match=said):
        sweep(historical_cases, historical.config, parameters=parameters)
