"""Tables of weight regions: the corners of every part, and what the policies retain at each capacity."""

from collections.abc import Sequence

import pandas as pd

from deermem_eval.cases import Case
from deermem_eval.policies import policy_names
from deermem_eval.protocol import ProtocolConfig
from deermem_eval.selection.decisions import decide, decision_table, policy_settings
from deermem_eval.selection.regions import Overlay
from deermem_eval.selection.retention import retention_by_suite


def region_parts(parts: Sequence[Overlay]) -> pd.DataFrame:
    """Return the corners of the parts of an overlay, neighbours of one count as they are.

    Returns
    -------
    DataFrame
        One row a corner: `part` (from 0), `retained` (cases), `share` (of the triangle), `corner`
        (from 0, in order), `confidence`, `confirmation`, `access`.
    """
    rows = [
        (i, part.retained, part.share, k, float(1 - x - y), float(x), float(y))
        for i, part in enumerate(parts)
        for k, (x, y) in enumerate(part.corners)
    ]
    columns = ["part", "retained", "share", "corner", "confidence", "confirmation", "access"]
    return pd.DataFrame(rows, columns=columns)


def policy_curves(
    cases: Sequence[Case], config: ProtocolConfig, *, more: Sequence[str] = ()
) -> pd.DataFrame:
    """Count what every policy retains at every capacity, the bound and chance included.

    Parameters
    ----------
    cases : sequence of Case
    config : ProtocolConfig
    more : sequence of str
        Further policies, as `module:function`.

    Returns
    -------
    DataFrame
        As `retention_by_suite()` returns it, with a column `expected`: what chance retains on
        average, exactly, for the policy `random` and missing for the others.
    """
    settings = policy_settings(config, policies=[*policy_names(), *more])
    capacities = range(1, config.pool.size + 1)
    decisions = decide(cases, settings, capacities, now=config.evaluation_time)
    table = retention_by_suite(decision_table(decisions))
    expected = table["cases"] * table["capacity"] / config.pool.size
    return table.assign(expected=expected.where(table["policy"] == "random"))
