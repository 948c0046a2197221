"""Verify: what of a run holds, recomputed from the protocol, row by row.

Nothing that a run says of itself is believed: decisions, requests, grades and statistics are computed
anew, and compared. What cannot be computed, for want of texts, is said and not counted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from deermem_eval.answers import answer_tasks, row_id
from deermem_eval.answers.run_directory import RESPONSES, RunMarker
from deermem_eval.cases import Record, build_cases
from deermem_eval.files import json_document
from deermem_eval.grades.checks import Check, Difference, Verification, compare, same_lines
from deermem_eval.grades.grade import Grade
from deermem_eval.grades.graded_rows import ROWS, StoredRun, read_run
from deermem_eval.grades.graders import grade_answer
from deermem_eval.grades.grading import statistics_document, summary_document
from deermem_eval.grades.row_checks import (
    KEPT_FIELDS,
    SUPPORT_FIELDS,
    answers_equal,
    identity_fields,
    metadata_consistent,
    rows_complete,
    rows_equal,
)
from deermem_eval.protocol import Identity, Protocol
from deermem_eval.reading import read_bytes
from deermem_eval.selection import CaseDecision, decide, policy_settings

GRADED_CHECKS = ("support_retained", "grade", "grade_rule", "summary", "statistics")
NO_TEXTS = "needs the texts: name them with --upstream and --dataset, or fetch them"


def verify_run(
    folder: Path,
    protocol: Protocol,
    records: Sequence[Record],
    identity: Identity,
    *,
    expect_digest: str = "",
) -> Verification:
    """Recompute a run from its protocol and compare.

    Parameters
    ----------
    folder : Path
        A run directory, or a folder of published rows: `qa_run.json` beside `qa.rows.jsonl` or
        `responses/`.
    protocol : Protocol
    records : sequence of Record
        Of the data set; with texts, or requests and grades cannot be checked.
    identity : Identity
        The five SHA-256 that the run is to have been made from.
    expect_digest : str
        SHA-256 that `qa.rows.jsonl` must have; empty: any.

    Raises
    ------
    DeermemEvalError
        A file is missing or malformed, or the protocol's grader cannot read a reference.
    """
    run = read_run(folder)
    config = protocol.config
    cases = build_cases(protocol, records)
    settings, capacity = policy_settings(config), config.pool.qa_capacity
    decided = decide(cases, settings, [capacity], now=config.evaluation_time)
    decisions = {row_id(decision): decision for decision in decided}
    checks = [
        compare("protocol_hashes", identity.as_dict(), run.marker.artifacts.get),
        compare("run_settings", *_settings(protocol, identity, run.marker)),
        rows_complete(decisions, run),
        rows_equal("row_identity", decisions, run, identity_fields(protocol)),
        rows_equal("kept_fact_ids", decisions, run, KEPT_FIELDS),
        _fingerprint_check(protocol, decisions, run),
        metadata_consistent(config.qa.max_attempts, run),
        *_graded_checks(protocol, decisions, run),
    ]
    if expect_digest:
        checks.append(compare("rows_digest", {ROWS: expect_digest}, {ROWS: run.rows_sha256}.get))
    return Verification(tuple(checks), run.rows_sha256)


def _settings(
    protocol: Protocol, identity: Identity, marker: RunMarker
) -> tuple[dict[str, Any], Callable[[str], Any]]:
    """Return what the marker must say beside the hashes, and what it says."""
    config = protocol.config
    qa = config.qa.model_dump(exclude={"answer_prompt", "provider"})
    expected = {"protocol_id": config.protocol_id, "qa.capacity": config.pool.qa_capacity}
    expected |= {f"qa.{key}": value for key, value in qa.items()}
    dataset = config.dataset.model_dump(exclude={"sha256"})
    expected |= {f"dataset.{key}": value for key, value in dataset.items()}
    expected["dataset.sha256"] = marker.artifacts.get("dataset_sha256", identity.dataset_sha256)
    found = {"protocol_id": marker.protocol_id}
    found |= {f"qa.{key}": value for key, value in marker.qa.items()}
    found |= {f"dataset.{key}": value for key, value in marker.dataset.items()}
    return expected, found.get


def _fingerprint_check(
    protocol: Protocol, decisions: Mapping[str, CaseDecision], run: StoredRun
) -> Check:
    name = "request_fingerprint"
    if protocol.missing_texts or not _have_texts(decisions.values()):
        return Check(name, 0, not_checked=NO_TEXTS)
    tasks = {task.row_id: task.fingerprint for task in answer_tasks(protocol, decisions.values())}
    return rows_equal(name, decisions, run, {name: lambda decision: tasks[row_id(decision)]})


def _graded_checks(
    protocol: Protocol, decisions: Mapping[str, CaseDecision], run: StoredRun
) -> list[Check]:
    if not run.graded:
        reason = f"the run holds no {ROWS}: it is not graded yet"
        return [Check(name, 0, not_checked=reason) for name in GRADED_CHECKS]
    support, grade, grade_rule, summary, statistics = GRADED_CHECKS
    correct = {name: row.grade_correct for name, row in run.graded.items()}
    checks = [rows_equal(support, decisions, run, SUPPORT_FIELDS)]
    if _have_texts(decisions.values()):
        regraded = _regraded(protocol, decisions, run)
        correct = {name: one.correct for name, one in regraded.items()}
        checks += [
            rows_equal(grade, decisions, run, {"grade_correct": lambda d: correct[row_id(d)]}),
            rows_equal(
                grade_rule, decisions, run, {"grade_rule": lambda d: regraded[row_id(d)].rule}
            ),
        ]
    else:
        checks += [Check(name, 0, not_checked=NO_TEXTS) for name in (grade, grade_rule)]
    for name, filename, document in (
        (summary, "qa.summary.json", summary_document),
        (statistics, "qa.stats.json", statistics_document),
    ):
        path = run.folder / filename
        if not path.is_file():
            checks.append(Check(name, 0, not_checked=f"the run holds no {filename}"))
        elif decisions.keys() - correct.keys():
            missing = Difference(filename, "made from all rows", "some rows are missing")
            checks.append(Check(name, 1, (missing,)))
        else:
            expected = json_document(document(_outcomes(decisions, correct), protocol.config))
            checks.append(same_lines(name, expected, read_bytes(path, filename)))
    if any((run.folder / RESPONSES).glob("*.json")):
        checks.append(answers_equal(run))
    return checks


def _regraded(
    protocol: Protocol, decisions: Mapping[str, CaseDecision], run: StoredRun
) -> dict[str, Grade]:
    version = protocol.config.qa.grader_version
    return {
        name: grade_answer(row.prediction, texts.answer, version=version)
        for name, row in run.graded.items()
        if name in decisions and (texts := decisions[name].case.texts)
    }


def _outcomes(decisions: Mapping[str, CaseDecision], correct: Mapping[str, bool]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "run": "the run",
                "case_id": decision.case.case_id,
                "source": decision.case.source,
                "suite": decision.case.suite,
                "scenario": decision.case.scenario,
                "policy": decision.policy,
                "correct": correct[name],
            }
            for name, decision in decisions.items()
        ]
    )


def _have_texts(decisions: Iterable[CaseDecision]) -> bool:
    return all(decision.case.texts for decision in decisions)
