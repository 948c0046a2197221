"""Tables for people: what a case, a bank and a pool hold, and the two overviews of a study."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from deermem_eval.cases import Case, Record, bank_offset
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import write_file
from deermem_eval.protocol import Protocol
from deermem_eval.selection import CaseDecision, PolicySetting

COMPONENT_WEIGHTS = {
    "confidence": "confidence_weight",
    "confirmationFreshness": "confirmation_weight",
    "accessHeat": "access_weight",
}

COUNTS = ("capacity", "cases", "retained", "correct")
COLUMNS_READ = {
    "retention_by_scenario": (("policy", "scenario"), ("capacity", "cases", "retained")),
    "retention_by_suite": (("policy", "suite"), ("capacity", "cases", "retained")),
    "qa_accuracy_by_scenario": (("run", "policy", "scenario"), ("cases", "correct")),
    "qa_accuracy_by_suite": (("run", "policy", "suite"), ("cases", "correct")),
    "qa_paired_by_suite": (
        ("run", "suite"),
        ("difference", "lower", "upper", "p_value", "smallest_attainable_p"),
    ),
}
"""Text and number columns that the overviews need, by table."""


def case_table(protocol: Protocol, cases: Sequence[Case]) -> pd.DataFrame:
    """Return one row a case.

    Returns
    -------
    DataFrame
        Columns `case_id`, `suite`, `scenario`, `question_type`, `loss_rank`, `bank_offset`
        (index of the first distractor in the bank), `distractors` (question ids in the order of
        the draw, separated by blanks).
    """
    return pd.DataFrame(
        [
            {
                "case_id": case.case_id,
                "suite": case.suite,
                "scenario": case.scenario,
                "question_type": case.question_type,
                "loss_rank": case.loss_rank,
                "bank_offset": bank_offset(case.case_id, protocol.config.pool),
                "distractors": " ".join(case.distractor_sources.values()),
            }
            for case in cases
        ]
    )


def bank_table(bank: Sequence[Record], cases: Sequence[Case]) -> pd.DataFrame:
    """Return one row a distractor of the bank.

    Returns
    -------
    DataFrame
        Columns `bank_index` (from 0), `question_id`, `question_type`, `evidence_chars`, `pools`
        (number of pools that hold it).
    """
    drawn = [source for case in cases for source in case.distractor_sources.values()]
    return pd.DataFrame(
        [
            {
                "bank_index": index,
                "question_id": record.question_id,
                "question_type": record.question_type,
                "evidence_chars": record.evidence_chars,
                "pools": drawn.count(record.question_id),
            }
            for index, record in enumerate(bank)
        ]
    )


def scenario_table(cases: Sequence[Case]) -> pd.DataFrame:
    """Count cases by suite, scenario and question type.

    Returns
    -------
    DataFrame
        Columns `suite`, `scenario`, `question_type`, `cases`, `loss_ranks` (ascending, separated
        by blanks).
    """
    rows = pd.DataFrame(
        [
            {
                "suite": case.suite,
                "scenario": case.scenario,
                "question_type": case.question_type,
                "loss_rank": case.loss_rank,
            }
            for case in cases
        ]
    )
    groups = rows.groupby(["suite", "scenario", "question_type"], sort=False)["loss_rank"]
    return groups.agg(
        cases="size", loss_ranks=lambda ranks: " ".join(map(str, sorted(ranks)))
    ).reset_index()


def pool_table(
    decisions: Sequence[CaseDecision], settings: Sequence[PolicySetting]
) -> pd.DataFrame:
    """Take decisions apart: every fact's rank, score, and what each component adds to it.

    Parameters
    ----------
    decisions : sequence of CaseDecision
        Of one case at one capacity, one for each policy.
    settings : sequence of PolicySetting
        For the weights.

    Returns
    -------
    DataFrame
        Columns `case_id`, `capacity`, `policy`, `rank` (from 1, best first), `fact_id`,
        `is_support`, `kept`, `by_reserve` (bool; kept although an evicted fact scores higher),
        `category`, `score`, and `confidence`, `confirmationFreshness`, `accessHeat`: each
        component times its weight, so that the three sum to `score`.
    """
    parameters = {setting.name: setting.parameters for setting in settings}
    rows = []
    for decision in decisions:
        outcome = decision.outcome
        categories = {fact["id"]: fact["category"] for fact in decision.case.facts}
        evicted = [fact.fact_id for fact in reversed(outcome.evicted)]
        best_evicted = max((fact.score for fact in outcome.evicted), default=0.0)
        for rank, fact_id in enumerate([*decision.kept_fact_ids, *evicted], start=1):
            score = outcome.scores[fact_id]
            weights = parameters[decision.policy]
            rows.append(
                {
                    "case_id": decision.case.case_id,
                    "capacity": decision.capacity,
                    "policy": decision.policy,
                    "rank": rank,
                    "fact_id": fact_id,
                    "is_support": fact_id in decision.case.support_fact_ids,
                    "kept": fact_id not in evicted,
                    "by_reserve": fact_id not in evicted and score.value < best_evicted,
                    "category": categories[fact_id],
                    "score": score.value,
                    **{
                        name: score.components.get(name, 0.0) * weights.get(weight, 1.0)
                        for name, weight in COMPONENT_WEIGHTS.items()
                    },
                }
            )
    return pd.DataFrame(rows)


def retention_overview(by_scenario: pd.DataFrame, by_suite: pd.DataFrame) -> pd.DataFrame:
    """Lay retention out for reading: a row a scenario or suite, a column a capacity and policy.

    Parameters
    ----------
    by_scenario, by_suite : DataFrame
        As `retention_by_scenario()` and `retention_by_suite()` return them.

    Returns
    -------
    DataFrame
        Column `group`, then `{policy} @ {capacity}` with values like `3/10`.
    """
    rows = pd.concat([by_scenario.assign(group=by_scenario["scenario"]), _as_groups(by_suite)])
    rows = rows.assign(
        column=rows["policy"] + " @ " + rows["capacity"].astype(str),
        value=[f"{n}/{of}" for n, of in zip(rows["retained"], rows["cases"], strict=True)],
    )
    return _wide(rows)


def qa_overview(
    by_scenario: pd.DataFrame, by_suite: pd.DataFrame, paired: pd.DataFrame
) -> pd.DataFrame:
    """Lay one run's answers out for reading.

    Parameters
    ----------
    by_scenario, by_suite : DataFrame
        As `accuracy_by_scenario()` and `accuracy_by_suite()` return them, of one run.
    paired : DataFrame
        As `paired_by_suite()` returns it, of the same run.

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


def text_table(table: pd.DataFrame) -> str:
    """Return a table as aligned text for a terminal."""
    return table.to_string(index=False, justify="right")


def markdown_table(table: pd.DataFrame) -> str:
    """Return a table as Markdown, first column left, the others right."""
    lines = [list(table.columns), ["---", *["---:"] * (len(table.columns) - 1)]]
    lines += [[str(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def save_table(table: pd.DataFrame, folder: Path, name: str) -> Path:
    """Write a table as `{name}.csv`, floats in full, and return its path."""
    path = folder / f"{name}.csv"
    write_file(path, table.to_csv(index=False, lineterminator="\n").encode())
    return path


def read_table(folder: Path, name: str) -> pd.DataFrame:
    """Read back one of the tables `COLUMNS_READ` that `save_table()` wrote.

    Raises
    ------
    DeermemEvalError
        It is not there, or lacks rows, columns or numbers.
    """
    path = folder / f"{name}.csv"
    if not path.is_file():
        raise DeermemEvalError(f"{path} is not there; run `deermem-eval notebooks` first")
    text, numeric = COLUMNS_READ[name]
    try:
        table = pd.read_csv(
            path, dtype={**dict.fromkeys(text, str), **dict.fromkeys(numeric, float)}
        )
        table = table.astype({column: int for column in numeric if column in COUNTS})
        missing = {*text, *numeric} - set(table.columns)
        if missing or table.empty:
            raise ValueError(f"missing: {', '.join(sorted(missing)) or 'rows'}")
    except (OSError, ValueError, KeyError) as error:
        raise DeermemEvalError(
            f"{path} is not the table that the notebooks write ({error}); run `deermem-eval "
            "notebooks` again"
        ) from error
    return table


def _as_groups(by_suite: pd.DataFrame) -> pd.DataFrame:
    return by_suite.assign(group=by_suite["suite"])


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    wide = rows.pivot(index="group", columns="column", values="value")
    wide = wide.loc[list(rows["group"].unique()), list(rows["column"].unique())]
    return wide.reset_index().rename_axis(columns=None)
