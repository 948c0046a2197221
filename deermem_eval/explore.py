"""The explorer: sliders for weights and capacity beside the ranking of one pool, in JupyterLab.

Where no widgets run, as in a batch, it is the figure of its first state.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deermem_eval.cases import Case, case_of
from deermem_eval.protocol import Protocol
from deermem_eval.report import SavedFigure, figure_title, pool_anatomy, pool_table, shown_figure
from deermem_eval.selection import decide, policy_settings, sweep

if TYPE_CHECKING:
    from ipywidgets import Widget

SLIDER_STEP = 0.01


def explore_weights(
    protocol: Protocol, cases: Sequence[Case], *, case_id: str = "", interactive: bool = True
) -> "Widget | SavedFigure":
    """Return a panel for weights, capacity and case: the ten facts ranked, the cut, the retained count.

    Parameters
    ----------
    protocol : Protocol
    cases : sequence of Case
        Of the protocol.
    case_id : str
        The case to begin with; empty: the first with the highest loss rank.
    interactive : bool
        Whether to show sliders where a kernel runs; the batch sets it to False.

    Raises
    ------
    DeermemEvalError
        There is no such case.
    """
    first = case_of(cases, case_id)
    hybrid = policy_settings(protocol.config)[1].parameters
    weights = [hybrid[f"{name}_weight"] for name in ("confidence", "confirmation", "access")]
    capacity = protocol.config.pool.qa_capacity
    if not (interactive and _has_kernel()):
        return pool_figure(protocol, cases, first, weights, capacity)
    return _panel(protocol, cases, first, weights, capacity)


def pool_figure(
    protocol: Protocol,
    cases: Sequence[Case],
    case: Case,
    weights: Sequence[float],
    capacity: int,
) -> SavedFigure:
    """Return the ranking of one pool under both policies, with the retained count of all cases."""
    settings = policy_settings(protocol.config, weights=weights)
    now = protocol.config.evaluation_time
    pool = pool_table(decide([case], settings, [capacity], now=now), settings)
    figure = pool_anatomy(pool)
    retained = retained_count(protocol, cases, weights, capacity)
    return shown_figure(
        figure, f"{figure_title(figure)}; {retained} of {len(cases)} cases retained"
    )


def retained_count(
    protocol: Protocol, cases: Sequence[Case], weights: Sequence[float], capacity: int
) -> int:
    """Count the cases that `hybrid-v1` retains at a triple of weights."""
    found = sweep(cases, protocol.config, weights=[list(weights)], capacities=[capacity])
    return int(found.retained.sum())


def _has_kernel() -> bool:
    from IPython import get_ipython

    shell = get_ipython()
    return hasattr(shell, "kernel")


def _panel(
    protocol: Protocol, cases: Sequence[Case], first: Case, weights: list[float], capacity: int
) -> "Widget":
    import ipywidgets as widgets
    from IPython.display import display

    def slider(name: str, value: float) -> Any:
        wide = {"description_width": "initial"}  # else the name is cut
        return widgets.FloatSlider(
            value, min=0, max=1, step=SLIDER_STEP, description=name, style=wide
        )

    confidence, confirmation = slider("confidence", weights[0]), slider("confirmation", weights[1])
    access = widgets.Label()
    size = widgets.IntSlider(capacity, min=1, max=protocol.config.pool.size, description="capacity")
    ids = [(f"{case.case_id} ({case.scenario})", case.case_id) for case in cases]
    chosen = widgets.Dropdown(options=ids, value=first.case_id, description="case")
    count, output = widgets.HTML(), widgets.Output()

    def draw(_: object = None) -> None:
        confirmation.max = max(0.0, round(1 - confidence.value, 6))
        rest = max(0.0, round(1 - confidence.value - confirmation.value, 6))
        triple = [confidence.value, round(1 - confidence.value - rest, 6), rest]
        access.value = f"access {rest:.2f}, what is left of 1"
        retained = retained_count(protocol, cases, triple, size.value)
        count.value = f"<b>{retained} of {len(cases)} cases retained</b> at capacity {size.value}"
        with output:
            output.clear_output(wait=True)
            display(  # type: ignore[no-untyped-call]
                pool_figure(protocol, cases, case_of(cases, chosen.value), triple, size.value)
            )

    for control in (confidence, confirmation, size, chosen):
        control.observe(draw, names="value")
    draw()
    return widgets.VBox([confidence, confirmation, access, size, chosen, count, output])
