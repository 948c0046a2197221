"""Cases: one question, the pool of ten facts from which its memory is kept, and their usage."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from deermem_eval.cases.bank import build_bank, draw_distractors
from deermem_eval.cases.record_files import load_records
from deermem_eval.cases.records import Record
from deermem_eval.cases.scenarios import SUPPORT_SIGNALS, Signals, distractor_signals
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol import Protocol
from deermem_eval.protocol.manifests import SyntheticCase

SYNTHETIC_QUESTION_TYPE = "synthetic-correction"
SUITE_OF_SOURCE = {"longmemeval": "official", "synthetic": "synthetic"}


@dataclass(frozen=True)
class CaseTexts:
    """What a model is asked and graded by; `question_date` is None for synthetic cases."""

    question: str
    answer: str
    question_date: str | None


@dataclass(frozen=True)
class Case:
    """One case and its pool.

    Attributes
    ----------
    case_id, scenario, question_type : str
    source : str
        `longmemeval` (suite official) or `synthetic`.
    loss_rank : int
        Rank of the support fact under `confidence` where the scenario uses it, 1..10.
    support_fact_ids : tuple of str
        The facts that the question rests on; here always one.
    facts : tuple of dict
        The pool in the order of the fact ids, as DeerMem stores facts (camelCase keys;
        `content` is there only with texts).
    usage : dict of str to dict
        DeerMem's usage entries by fact id.
    distractor_sources : dict of str to str
        Question id behind each distractor, by fact id, in the order of the draw.
    texts : CaseTexts or None
        None where the protocol carries facts only.
    """

    case_id: str
    source: str
    scenario: str
    question_type: str
    loss_rank: int
    support_fact_ids: tuple[str, ...]
    facts: tuple[dict[str, Any], ...]
    usage: dict[str, dict[str, Any]]
    distractor_sources: dict[str, str]
    texts: CaseTexts | None

    @property
    def sources(self) -> dict[str, str]:
        """Case id or question id behind each fact, by fact id."""
        return dict.fromkeys(self.support_fact_ids, self.case_id) | self.distractor_sources

    @property
    def suite(self) -> str:
        """`official` or `synthetic`."""
        return SUITE_OF_SOURCE[self.source]


def build_cases(protocol: Protocol, records: Sequence[Record]) -> tuple[Case, ...]:
    """Build every case of a protocol: official ones by scenario, then the synthetic ones.

    Parameters
    ----------
    protocol : Protocol
    records : sequence of Record
        Of all cases and of the bank's candidates; order does not matter.

    Returns
    -------
    tuple of Case
        In `scenario_order`, within a scenario by (question type, id), which is also the order in
        which the manifest's loss ranks are dealt out.

    Raises
    ------
    DeermemEvalError
        A case has no record, or a scenario has not the stated number of cases of each type.
    """
    by_id = {record.question_id: record for record in records}
    bank = build_bank(records, protocol.config.pool, protocol.details)
    cases = []
    for scenario in protocol.official.scenario_order:
        chosen = sorted(
            (_record_of(case_id, by_id) for case_id in protocol.official.scenarios[scenario]),
            key=lambda record: (
                record.question_type if protocol.details.loss_rank_order == "type and id" else "",
                record.question_id,
            ),
        )
        _refuse_uneven_types(protocol, scenario, chosen)
        for record, loss_rank in zip(chosen, protocol.official.loss_ranks, strict=True):
            cases.append(_official_case(protocol, scenario, record, loss_rank, bank))
    cases += [_synthetic_case(protocol, case, bank) for case in protocol.synthetic.cases]
    return tuple(cases)


def load_cases(protocol: Protocol, dataset: Path | None = None) -> tuple[Case, ...]:
    """Load the records of a protocol and build its cases; see `load_records`, `build_cases`."""
    return build_cases(protocol, load_records(protocol, dataset))


def case_of(cases: Sequence[Case], case_id: str) -> Case:
    """Return the case of that id; where it is empty, the first with the highest loss rank.

    Raises
    ------
    DeermemEvalError
        There is none.
    """
    if not case_id:
        return max(cases, key=lambda case: case.loss_rank)
    for case in cases:
        if case.case_id == case_id:
            return case
    raise DeermemEvalError(f"case_id {case_id!r} is not one of the protocol's {len(cases)} cases")


def _record_of(case_id: str, by_id: dict[str, Record]) -> Record:
    if case_id not in by_id:
        raise DeermemEvalError(
            f"case {case_id} of the official manifest is not among the records; "
            "use the data set that the protocol pins"
        )
    return by_id[case_id]


def _refuse_uneven_types(protocol: Protocol, scenario: str, records: Sequence[Record]) -> None:
    expected = protocol.official.selection.cases_per_type_per_scenario
    for question_type in protocol.official.selection.eligible_question_types:
        count = sum(record.question_type == question_type for record in records)
        if count != expected:
            raise DeermemEvalError(
                f"official manifest, scenario {scenario}: {count} cases of type {question_type}, "
                f"not {expected}; correct the list"
            )


def _official_case(
    protocol: Protocol, scenario: str, record: Record, loss_rank: int, bank: Sequence[Record]
) -> Case:
    texts = record.texts
    return _case(
        protocol,
        bank,
        case_id=record.question_id,
        source="longmemeval",
        scenario=scenario,
        question_type=record.question_type,
        loss_rank=loss_rank,
        support_category=_category(record.question_type),
        support_content=record.evidence,
        texts=CaseTexts(texts.question, texts.answer, texts.question_date) if texts else None,
    )


def _synthetic_case(protocol: Protocol, case: SyntheticCase, bank: Sequence[Record]) -> Case:
    texts = None
    if case.question is not None and case.answer is not None:
        texts = CaseTexts(case.question, case.answer, None)
    return _case(
        protocol,
        bank,
        case_id=case.case_id,
        source="synthetic",
        scenario=protocol.synthetic.scenario,
        question_type=SYNTHETIC_QUESTION_TYPE,
        loss_rank=case.loss_rank,
        support_category="correction",
        support_content=case.support_fact,
        texts=texts,
    )


def _case(
    protocol: Protocol,
    bank: Sequence[Record],
    *,
    case_id: str,
    source: str,
    scenario: str,
    question_type: str,
    loss_rank: int,
    support_category: str,
    support_content: str | None,
    texts: CaseTexts | None,
) -> Case:
    clock, pool, details = protocol.config.evaluation_time, protocol.config.pool, protocol.details
    is_raw = details.fact_ids == "raw"
    support_id = case_id if is_raw else f"gold_{case_id}"
    members = [(support_id, support_category, support_content, SUPPORT_SIGNALS[scenario])]
    distractor_sources = {}
    for i, record in enumerate(draw_distractors(case_id, bank, pool, details)):
        fact_id = record.question_id if is_raw else f"d_{case_id}_{i}_{record.question_id}"
        signals = distractor_signals(scenario, loss_rank, i, details)
        members.append((fact_id, _category(record.question_type), record.evidence, signals))
        distractor_sources[fact_id] = record.question_id
    if pool.fact_order == "fact-id":
        members.sort(key=lambda member: member[0])
    return Case(
        case_id=case_id,
        source=source,
        scenario=scenario,
        question_type=question_type,
        loss_rank=loss_rank,
        support_fact_ids=(support_id,),
        facts=tuple(_fact(*member, clock) for member in members),
        usage={
            fact_id: _usage_entry(signals, clock)
            for fact_id, _, _, signals in members
            if signals.access_heat
        },
        distractor_sources=distractor_sources,
        texts=texts,
    )


def _category(question_type: str) -> str:
    return "preference" if question_type == "single-session-preference" else "context"


def _fact(
    fact_id: str, category: str, content: str | None, signals: Signals, clock: datetime
) -> dict[str, Any]:
    fact: dict[str, Any] = {
        "id": fact_id,
        "category": category,
        "confidence": signals.confidence,
        "createdAt": _days_before(clock, signals.created_days_ago),
    }
    if content is not None:
        fact["content"] = content
    if signals.confirmed_days_ago is not None:
        fact["lastConfirmedAt"] = _days_before(clock, signals.confirmed_days_ago)
        fact["confirmationCount"] = 1
    return fact


def _usage_entry(signals: Signals, clock: datetime) -> dict[str, Any]:
    return {
        "accessHeat": signals.access_heat,
        "accessCount": signals.access_heat,
        "lastAccessedAt": _days_before(clock, 0),
    }


def _days_before(clock: datetime, days: int) -> str:
    return (clock - timedelta(days=days)).isoformat().replace("+00:00", "Z")
