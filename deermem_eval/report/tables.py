"""Tables of what a case, a bank and a pool hold."""

import math
from collections.abc import Sequence

import pandas as pd

from deermem_eval.cases import Case, Record, bank_offset
from deermem_eval.policies import FactScore
from deermem_eval.protocol import Protocol
from deermem_eval.selection import CaseDecision, PolicySetting

COMPONENT_WEIGHTS = {
    "confidence": "confidence_weight",
    "confirmationFreshness": "confirmation_weight",
    "accessHeat": "access_weight",
}
NO_SCORE = FactScore(math.nan, {})


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
        Columns `case_id`, `capacity`, `policy`, `rank` (from 1; kept facts before evicted ones, the
        best score first among each), `fact_id`, `is_support`, `kept`, `by_reserve` (bool; kept although an evicted fact scores higher),
        `category`, `score`, and `confidence`, `confirmationFreshness`, `accessHeat`: each
        component times its weight, so that the three sum to `score`. A policy without scores has
        missing values there, and its evicted facts have no order.
    """
    parameters = {setting.name: setting.parameters for setting in settings}
    rows = []
    for decision in decisions:
        outcome = decision.outcome
        categories = {fact["id"]: fact["category"] for fact in decision.case.facts}
        evicted = [fact.fact_id for fact in reversed(outcome.evicted)]
        scored = [fact.score for fact in outcome.evicted if fact.score is not None]
        best_evicted = max(scored, default=0.0)
        weights = parameters[decision.policy]
        unscored = 0.0 if outcome.scores else math.nan
        for rank, fact_id in enumerate([*decision.kept_fact_ids, *evicted], start=1):
            score = outcome.scores.get(fact_id, NO_SCORE)
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
                        name: score.components.get(name, unscored) * weights.get(weight, 1.0)
                        for name, weight in COMPONENT_WEIGHTS.items()
                    },
                }
            )
    return pd.DataFrame(rows)
