"""Sides: what a protocol variant, or a run, shows of itself at each layer."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from deermem_eval.answers import answer_tasks, qa_decisions, request_bytes, row_id
from deermem_eval.cases import Case, Record, build_bank, build_cases
from deermem_eval.drift.variants import Variant, varied
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.grades.graded_rows import StoredRun, read_run
from deermem_eval.protocol import Protocol
from deermem_eval.protocol.details import Details
from deermem_eval.protocol.download import in_one_line
from deermem_eval.selection import CaseDecision

Layer = Literal[
    "retention totals",
    "retained flags",
    "bank",
    "pools",
    "metadata",
    "scores",
    "kept sets",
    "kept order",
    "request bytes",
    "answer text",
    "grade",
]
LAYERS: tuple[Layer, ...] = get_args(Layer)
"""The layers from the aggregate down: what two things can agree on while all below it differs."""

RecordsOf = Callable[[Details], Sequence[Record]]
"""Gives the records of a data set, or of a table of facts, as the details render them."""


@dataclass(frozen=True)
class Side:
    """One of two things to compare.

    Attributes
    ----------
    name : str
    layers : mapping of str to mapping
        For each layer that the side shows, its values by key: a case, a row, a record.
    requests : mapping of str to bytes
        By row id; empty where there are no texts.
    answers : mapping of str to str
        Answer texts by row id, for a screen; empty where only their hashes are at hand.
    protocol_id : str
    capacity : int
    grader : str
        Version of the grader; empty where there are no grades.
    id_scheme : str
        `prefixed` or `raw`: how the side names its facts.
    notes : tuple of str
        What the side does not show, and why.
    answered : DataFrame or None
        Its rows as `natural_repeats()` takes them; None: nobody was asked.
    """

    name: str
    layers: Mapping[Layer, Mapping[Hashable, Any]]
    requests: Mapping[str, bytes] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    protocol_id: str = ""
    capacity: int = 0
    grader: str = ""
    id_scheme: str = ""
    notes: tuple[str, ...] = ()
    answered: pd.DataFrame | None = None


def variant_side(protocol: Protocol, variant: Variant, records_of: RecordsOf) -> Side:
    """Recompute what a variant of a protocol gives, as far down as there are texts.

    Parameters
    ----------
    protocol : Protocol
    variant : Variant
    records_of : callable
        From details to records; `deermem_eval.cases.record_source()` makes one.
    """
    changed = varied(protocol, variant)
    try:
        records = records_of(changed.details)
        bank = build_bank(records, changed.config.pool, changed.details)
        cases = build_cases(changed, records)
    except DeermemEvalError as error:
        return Side(variant.name, {}, notes=(f"{variant.name} is not computed: {error}",))
    decisions = qa_decisions(changed, cases)
    layers: dict[Layer, Mapping[Hashable, Any]] = {
        **_decision_layers(decisions),
        "bank": {record.question_id: place for place, record in enumerate(bank)},
        "pools": {case.case_id: frozenset(case.distractor_sources.values()) for case in cases},
        "metadata": {key: value for case in cases for key, value in _metadata(case).items()},
        "scores": {
            (row_id(decision), decision.case.sources[id_]): score.value
            for decision in decisions
            for id_, score in decision.outcome.scores.items()
        },
    }
    requests: dict[str, bytes] = {}
    notes: tuple[str, ...] = ()
    if changed.missing_texts or any(case.texts is None for case in cases):
        notes = (f"{variant.name}: requests are not computed, because there are no texts here",)
    else:
        tasks = answer_tasks(changed, decisions)
        requests = {task.row_id: request_bytes(task.payload, changed.details) for task in tasks}
        layers["request bytes"] = {id_: sha256_hex(sent) for id_, sent in requests.items()}
    return Side(
        variant.name,
        layers,
        requests,
        protocol_id=changed.config.protocol_id,
        capacity=changed.config.pool.qa_capacity,
        id_scheme=changed.details.fact_ids,
        notes=notes,
    )


def outcome_side(side: Side, graded: pd.DataFrame, grader: str) -> Side:
    """Return a recomputed side with what is recorded of the run that it stands for.

    Parameters
    ----------
    side : Side
    graded : DataFrame
        As `deermem_eval.grades.read_outcomes()` returns it, of one run.
    grader : str
    """
    ids = graded["case_id"] + "__" + graded["policy"]
    recorded: dict[Layer, Mapping[Hashable, Any]] = {
        "request bytes": dict(zip(ids, graded["request_fingerprint"], strict=True)),
        "answer text": dict(zip(ids, graded["answer_sha256"], strict=True)),
        "grade": dict(zip(ids, graded["correct"], strict=True)),
    }
    flags = dict(zip(ids, graded["support_retained"], strict=True))
    scenarios = dict(zip(ids, graded["scenario"], strict=True))
    layers = {**side.layers, **_retention(flags, scenarios), **recorded}
    notes = tuple(note for note in side.notes if "requests are not computed" not in note)
    return replace(side, layers=layers, grader=grader, notes=notes, answered=graded)


def run_side(folder: Path, name: str) -> Side:
    """Read what a run directory, or a folder of published rows, shows.

    Parameters
    ----------
    folder : Path
    name : str
        What the side is called.

    Raises
    ------
    DeermemEvalError
        The folder holds no run, or its rows are malformed, of several capacities, or graded by
        several graders.
    """
    run = read_run(folder)
    capacities = {row.capacity for row in run.rows.values()}
    graders = {row.grader_version for row in run.graded.values()}
    for what, found in (("capacities", capacities), ("graders", graders)):
        if len(found) > 1:
            raise DeermemEvalError(
                f"{folder}: its rows are of several {what} ({', '.join(map(str, sorted(found)))}); "
                "compare runs of one"
            )
    kept: dict[Hashable, tuple[str, ...]] = {
        id_: tuple(source_of(fact_id, row.case_id) for fact_id in row.kept_fact_ids)
        for id_, row in run.rows.items()
    }
    rows = run.rows
    flags = {id_: row.case_id in kept[id_] for id_, row in rows.items()}
    _refuse_contradictions(run, flags, folder)
    layers: dict[Layer, Mapping[Hashable, Any]] = {
        **_retention(flags, {id_: row.scenario for id_, row in rows.items()}),
        "kept sets": {id_: frozenset(sources) for id_, sources in kept.items()},
        "kept order": kept,
        "request bytes": {id_: row.request_fingerprint for id_, row in rows.items()},
        "answer text": {id_: sha256_hex(row.prediction.encode()) for id_, row in rows.items()},
    }
    if run.graded:
        layers["grade"] = {id_: row.grade_correct for id_, row in run.graded.items()}
    is_prefixed = any(
        fact_id.startswith("gold_") for row in rows.values() for fact_id in row.kept_fact_ids
    )
    return Side(
        name,
        layers,
        answers={id_: row.prediction for id_, row in rows.items()},
        protocol_id=run.marker.protocol_id,
        capacity=capacities.pop(),
        grader=graders.pop() if graders else "",
        id_scheme="prefixed" if is_prefixed else "raw",
        notes=_run_notes(run, name),
        answered=pd.DataFrame(
            [
                {
                    "run": name,
                    "case_id": row.case_id,
                    "policy": row.policy,
                    "request_fingerprint": row.request_fingerprint,
                    "answer_sha256": sha256_hex(row.prediction.encode()),
                    "correct": run.graded[id_].grade_correct if run.graded else None,
                }
                for id_, row in rows.items()
            ]
        ),
    )


def source_of(fact_id: str, case_id: str) -> str:
    """Return the record behind a fact: its own case, or a question id; in either id scheme."""
    if fact_id == f"gold_{case_id}":
        return case_id
    match = re.fullmatch(rf"d_{re.escape(case_id)}_\d+_(.+)", fact_id)
    return match[1] if match else fact_id


def _refuse_contradictions(run: StoredRun, flags: Mapping[str, bool], folder: Path) -> None:
    """Refuse rows that are named otherwise than they say, or keep what their flag denies."""
    for id_, row in run.rows.items():
        problem = ""
        if not id_ == row.row_id == f"{row.case_id}__{row.policy}":
            problem = f"is of case {row.case_id} and policy {row.policy}"
        elif not 0 < len(set(row.kept_fact_ids)) == len(row.kept_fact_ids) <= row.capacity:
            problem = f"keeps {len(set(row.kept_fact_ids))} facts at capacity {row.capacity}"
        elif run.graded and run.graded[id_].support_all_retained != flags[id_]:
            problem = "says of its support fact what its kept facts deny"
        if problem:
            raise DeermemEvalError(
                f"{folder}: row {in_one_line(id_)} {in_one_line(problem)}; it was changed, compare "
                "another copy"
            )


def _run_notes(run: StoredRun, name: str) -> tuple[str, ...]:
    notes = []
    if not run.graded:
        notes.append(f"{name} is not graded")
    if len(run.order) > len(run.graded):
        repeated = next(one for one in run.order if run.order.count(one) > 1)
        notes.append(f"{name}: row {repeated} stands twice; the first is compared")
    return tuple(notes)


def _decision_layers(decisions: Sequence[CaseDecision]) -> dict[Layer, Mapping[Hashable, Any]]:
    kept: dict[Hashable, tuple[str, ...]] = {
        row_id(decision): tuple(decision.case.sources[id_] for id_ in decision.kept_fact_ids)
        for decision in decisions
    }
    flags = {row_id(decision): decision.support_retained for decision in decisions}
    return {
        **_retention(flags, {row_id(one): one.case.scenario for one in decisions}),
        "kept sets": {id_: frozenset(sources) for id_, sources in kept.items()},
        "kept order": kept,
    }


def _retention(
    flags: Mapping[str, bool], scenarios: Mapping[str, str]
) -> dict[Layer, Mapping[Hashable, Any]]:
    """Return the totals by policy and scenario, and the flags that they are made of."""
    totals: dict[Hashable, int] = {}
    for id_, retained in flags.items():
        key = (id_.rpartition("__")[2], scenarios[id_])
        totals[key] = totals.get(key, 0) + bool(retained)
    return {
        "retention totals": totals,
        "retained flags": {id_: bool(flag) for id_, flag in flags.items()},
    }


def _metadata(case: Case) -> dict[Hashable, tuple[Any, ...]]:
    """Return confidence, confirmation, creation and heat of a pool's facts, by case and record."""
    return {
        (case.case_id, case.sources[fact["id"]]): (
            fact["confidence"],
            fact.get("lastConfirmedAt"),
            fact["createdAt"],
            case.usage.get(fact["id"], {}).get("accessHeat", 0),
        )
        for fact in case.facts
    }
