"""The bound: how many needs a store could meet that knew them all in advance.

No policy exceeds it. A fact that is gone never comes back, so Belady's rule (evict what is needed last)
is not the best one here; the bound is the optimum of an integer programme, from HiGHS by way of scipy.
"""

import numpy as np

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces.simulator import next_needs
from deermem_eval.traces.trace import CREATE, Integers, Trace

SECONDS_LIMIT = 60.0


def most_needs_met(trace: Trace, capacity: int, places: Integers) -> int:
    """Return the most needs that any store of a capacity can meet in whole.

    Parameters
    ----------
    trace : Trace
    capacity : int
        From 0.
    places : array of int, shape (needs,)
        Where in the events each need stands, as `need_places()` returns it.

    Returns
    -------
    int
        The optimum; where it is not proved in `SECONDS_LIMIT` seconds, a number that is certainly no
        smaller.

    Raises
    ------
    DeermemEvalError
        The programme cannot be solved.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    if capacity < 0:
        raise DeermemEvalError(f"capacity is {capacity}, and must be at least 0")
    if not trace.needs or capacity >= len(trace.fact_ids):
        return len(trace.needs)
    needed = next_needs(trace, places)
    # One variable for each stretch of a fact's life that ends with a need of it, one for each need.
    first = np.cumsum([0, *(len(np.unique(of_fact)) for of_fact in needed)])
    distinct = [np.unique(of_fact) for of_fact in needed]
    stretches, needs = int(first[-1]), len(trace.needs)
    rows: list[tuple[list[tuple[int, float]], float]] = []
    for fact, ends in enumerate(distinct):
        start = int(first[fact])
        rows += [([(start + j + 1, 1.0), (start + j, -1.0)], 0.0) for j in range(len(ends) - 1)]
    for number, (need, place) in enumerate(zip(trace.needs, places.tolist(), strict=True)):
        for fact in need.facts:
            j = int(np.searchsorted(distinct[fact], place))
            rows.append(([(stretches + number, 1.0), (int(first[fact]) + j, -1.0)], 0.0))
    created = trace.places(CREATE)
    for place in _full_moments(created, np.unique(places)):
        held = []
        for fact in np.flatnonzero(created <= place).tolist():
            j = int(np.searchsorted(distinct[fact], place, side="right"))
            if j < len(distinct[fact]):
                held.append((int(first[fact]) + j, 1.0))
        if len(held) > capacity:
            rows.append((held, float(capacity)))
    at = [(r, column, value) for r, (terms, _) in enumerate(rows) for column, value in terms]
    r, c, v = zip(*at, strict=True)
    size = stretches + needs
    matrix = coo_array((v, (r, c)), shape=(len(rows), size)).tocsr()
    solved = milp(
        np.concatenate([np.zeros(stretches), -np.ones(needs)]),
        integrality=np.ones(size),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, ub=np.array([limit for _, limit in rows])),
        options={"time_limit": SECONDS_LIMIT, "mip_rel_gap": 0.0},
    )
    dual = getattr(solved, "mip_dual_bound", None)
    if dual is None or not np.isfinite(dual):
        raise DeermemEvalError(f"life {trace.life}: the bound cannot be computed: {solved.message}")
    return min(needs, int(np.floor(-dual + 1e-6)))


def _full_moments(created: Integers, needed: Integers) -> list[int]:
    """Return the last creation before each need, and of all: between them a store only fills up."""
    before = np.searchsorted(created, needed, side="left") - 1
    return sorted({int(created[i]) for i in before if i >= 0} | {int(created[-1])})
