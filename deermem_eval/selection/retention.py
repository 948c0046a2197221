"""Retention: in how many cases a policy keeps the support fact."""

import pandas as pd

SUITES = ("official", "synthetic", "overall")


def retention_by_scenario(decisions: pd.DataFrame) -> pd.DataFrame:
    """Count retained support facts by capacity, policy and scenario.

    Parameters
    ----------
    decisions : DataFrame
        As `decision_table()` returns it.

    Returns
    -------
    DataFrame
        Columns `capacity`, `policy`, `suite`, `scenario`, `cases`, `retained`; scenarios and
        policies in the order of the input.
    """
    return _count_retained(decisions, ["capacity", "policy", "suite", "scenario"])


def retention_by_suite(decisions: pd.DataFrame) -> pd.DataFrame:
    """Count retained support facts by capacity, policy and suite.

    Returns
    -------
    DataFrame
        Columns `capacity`, `policy`, `suite` (`official`, `synthetic`, `overall`), `cases`,
        `retained`.
    """
    return _count_retained(with_overall(decisions), ["capacity", "policy", "suite"])


def with_overall(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows twice: under their own suite, and all together under suite `overall`."""
    return pd.concat([rows, rows.assign(suite="overall")], ignore_index=True)


def _count_retained(decisions: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    counts = decisions.groupby(keys, sort=False)["support_retained"].agg(["size", "sum"])
    return (
        counts.rename(columns={"size": "cases", "sum": "retained"})
        .astype(int)
        .reset_index()
        .sort_values("capacity", kind="stable", ignore_index=True)
    )
