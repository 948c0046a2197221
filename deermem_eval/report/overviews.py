"""Overviews: the two tables that a reader of the report looks at first, as text values."""

import pandas as pd


def retention_overview(by_scenario: pd.DataFrame, by_suite: pd.DataFrame) -> pd.DataFrame:
    """Lay retention out for reading: a row a scenario or suite, a column a policy.

    Parameters
    ----------
    by_scenario, by_suite : DataFrame
        As `retention_by_scenario()` and `retention_by_suite()` return them.

    Returns
    -------
    DataFrame
        Columns `group`, then `{policy} @ {capacities}` with retained of cases at each capacity:
        `0/10 3/10 6/10`.
    """
    rows = pd.concat([by_scenario.assign(group=by_scenario["scenario"]), _as_groups(by_suite)])
    capacities = " ".join(map(str, rows["capacity"].unique()))
    rows = rows.assign(
        column=rows["policy"] + f" @ {capacities}",
        value=[f"{n}/{of}" for n, of in zip(rows["retained"], rows["cases"], strict=True)],
    )
    joined = rows.groupby(["group", "column"], sort=False)["value"].agg(" ".join)
    return _wide(joined.reset_index())


def qa_overview(
    by_scenario: pd.DataFrame, by_suite: pd.DataFrame, paired: pd.DataFrame | None
) -> pd.DataFrame:
    """Lay one run's answers out for reading.

    Parameters
    ----------
    by_scenario, by_suite : DataFrame
        As `accuracy_by_scenario()` and `accuracy_by_suite()` return them, of one run.
    paired : DataFrame or None
        As `paired_by_suite()` returns it, of the same run; None where it knows one policy alone.

    Returns
    -------
    DataFrame
        Columns `group` (scenario or suite), one of correct answers a policy (`24/45`), and for
        suites `difference` (candidate - baseline) with its interval, `p` (exact McNemar) and
        `smallest p` that so few cases could reach.
    """
    rows = pd.concat([by_scenario.assign(group=by_scenario["scenario"]), _as_groups(by_suite)])
    rows = rows.assign(
        column=rows["policy"],
        value=[f"{n}/{of}" for n, of in zip(rows["correct"], rows["cases"], strict=True)],
    )
    if paired is None:
        return _wide(rows)
    tests = pd.DataFrame(
        [
            {
                "group": row["suite"],
                "difference": f"{row['difference']:+.3f} [{row['lower']:+.3f}, "
                f"{row['upper']:+.3f}]",
                "p": repr(row["p_value"]),
                "smallest p": f"{row['smallest_attainable_p']:.3g}",
            }
            for row in paired.to_dict("records")
        ]
    )
    return _wide(rows).merge(tests, on="group", how="left").fillna("")


def p_overview(paired: pd.DataFrame) -> pd.DataFrame:
    """Lay the exact McNemar p-values out for reading: a row a run, a column a suite.

    Parameters
    ----------
    paired : DataFrame
        As `paired_by_suite()` returns it.
    """
    rows = paired.assign(
        group=paired["run"], column=paired["suite"], value=paired["p_value"].map(repr)
    )
    return _wide(rows).rename(columns={"group": "run"})


def text_table(table: pd.DataFrame) -> str:
    """Return a table as aligned text for a terminal."""
    return table.to_string(index=False, justify="right")


def markdown_table(table: pd.DataFrame) -> str:
    """Return a table as Markdown, first column left, the others right."""
    lines = [list(table.columns), ["---", *["---:"] * (len(table.columns) - 1)]]
    lines += [[str(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _as_groups(by_suite: pd.DataFrame) -> pd.DataFrame:
    return by_suite.assign(group=by_suite["suite"])


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    wide = rows.pivot(index="group", columns="column", values="value")
    wide = wide.loc[list(rows["group"].unique()), list(rows["column"].unique())]
    return wide.reset_index().rename_axis(columns=None)
