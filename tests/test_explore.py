"""The explorer: sliders where somebody can move them, a figure elsewhere."""

import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.explore import explore_weights, retained_count
from deermem_eval.report import SavedFigure, plan_notebooks


def children(panel):
    return {
        getattr(child, "description", "") or type(child).__name__: child for child in panel.children
    }


def test_without_a_front_end_it_is_a_figure(historical, historical_cases):
    shown = explore_weights(historical, historical_cases)
    assert isinstance(shown, SavedFigure)
    assert "45 of 45 cases retained" in shown.alt
    assert shown.png.startswith(b"\x89PNG")


def test_in_a_batch_it_is_a_figure_whatever_runs(historical, historical_cases, monkeypatch):
    monkeypatch.setattr("deermem_eval.explore._has_kernel", lambda: True)
    shown = explore_weights(historical, historical_cases, interactive=False)
    assert isinstance(shown, SavedFigure)
    (task,) = plan_notebooks(["03_weights"], {})
    assert task.parameters == {"interactive": False}


def test_sliders_change_the_count_and_the_weights_stay_a_triple(
    historical, historical_cases, monkeypatch
):
    monkeypatch.setattr("deermem_eval.explore._has_kernel", lambda: True)
    panel = children(explore_weights(historical, historical_cases))
    assert "45 of 45 cases retained" in panel["HTML"].value
    panel["confidence"].value = 1.0
    assert panel["confirmation"].value == 0
    assert "access 0.00" in panel["Label"].value
    assert "31 of 45 cases retained" in panel["HTML"].value
    panel["capacity"].value = 10
    assert "45 of 45 cases retained</b> at capacity 10" in panel["HTML"].value
    panel["case"].value = "correction_language"


def test_it_counts_what_the_selector_retains(historical, historical_cases):
    assert retained_count(historical, historical_cases, (1, 0, 0), 7) == 31


def test_a_case_that_is_none_is_refused(historical, historical_cases):
    with pytest.raises(DeermemEvalError, match="case_id 'nobody' is not one of"):
        explore_weights(historical, historical_cases, case_id="nobody")
