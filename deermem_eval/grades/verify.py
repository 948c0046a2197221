"""Verify: what of a run holds, recomputed from the protocol, row by row.

Nothing that a run says of itself is believed: decisions, requests, grades and statistics are computed
anew, and compared. What cannot be computed, for want of texts, is said.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from deermem_eval.answers import answer_tasks, qa_decisions, row_id
from deermem_eval.answers.run_directory import MARKER_SCHEMA_VERSION, RESPONSES, ROWS, RunMarker
from deermem_eval.cases import build_cases, dataset_file, load_records, read_longmemeval
from deermem_eval.files import json_document, sha256_hex
from deermem_eval.grades.checks import Check, Difference, Verification, compare, same_lines
from deermem_eval.grades.grade import Grade
from deermem_eval.grades.graded_rows import StoredRun, read_run
from deermem_eval.grades.graders import grade_answer
from deermem_eval.grades.grading import statistics_document, summary_document
from deermem_eval.grades.row_checks import (
    KEPT_FIELDS,
    SUPPORT_FIELDS,
    Fields,
    answers_equal,
    identity_fields,
    metadata_consistent,
    rows_complete,
    rows_equal,
    rows_in_order,
)
from deermem_eval.protocol import (
    Identity,
    Protocol,
    ProtocolConfig,
    upstream_identity,
    with_run_config,
)
from deermem_eval.reading import read_bytes
from deermem_eval.selection import CaseDecision

GRADED_CHECKS = ("support_retained", "grade", "grade_rule", "summary", "statistics")
NO_TEXTS = "needs the texts: name them with --upstream and --dataset, or fetch them"


def verify_run(
    folder: Path,
    protocol: Protocol,
    *,
    texts: Protocol | None = None,
    dataset: Path | None = None,
    expect_digest: str = "",
) -> Verification:
    """Recompute a run from its protocol and compare.

    Parameters
    ----------
    folder : Path
        A run directory, or a folder of published rows: `qa_run.json` beside `qa.rows.jsonl` or
        `responses/`.
    protocol : Protocol
        Whose pins the run is held to: its own files, or the sources of a protocol of facts.
    texts : Protocol, optional
        The complete protocol behind a protocol of facts, as it was fetched or copied.
    dataset : Path, optional
        The data set, instead of the one that lies with the texts. One that is not pinned is used,
        and counts as a difference.
    expect_digest : str
        SHA-256 that `qa.rows.jsonl` must have; empty: any.

    Raises
    ------
    DeermemEvalError
        A file is missing or malformed, or the protocol's grader cannot read a reference.
    """
    run = read_run(folder)
    used = with_run_config(texts or protocol, folder)
    pinned = upstream_identity(protocol)
    if used.config != (texts or protocol).config:  # the run's own: its hash is the run's
        pinned = replace(pinned, config_sha256=used.identity.config_sha256)
    path = dataset_file(used, dataset)
    if path is None:
        records, hashes = load_records(protocol), {}
    else:
        hashes = {"dataset_sha256": sha256_hex(read_bytes(path, "data set"))}
        records = read_longmemeval(path, hashes["dataset_sha256"])
    if not used.missing_texts:
        hashes = used.identity.as_dict() | hashes
    config = used.config
    decisions = {row_id(one): one for one in qa_decisions(used, build_cases(used, records))}
    checks = [
        _hash_check(pinned, hashes, run.marker),
        compare("run_settings", *_settings(used.config, run.marker)),
        rows_complete(decisions, run),
        rows_equal("row_identity", decisions, run, identity_fields(protocol)),
        rows_equal("kept_fact_ids", decisions, run, KEPT_FIELDS),
        _fingerprint_check(used, decisions, run),
        metadata_consistent(config.qa.max_attempts, run),
        *_graded_checks(used, decisions, run),
    ]
    if expect_digest:
        checks.append(compare("rows_digest", {ROWS: expect_digest}, {ROWS: run.rows_sha256}.get))
    return Verification(tuple(checks), run.rows_sha256)


def _hash_check(pinned: Identity, used: Mapping[str, str], marker: RunMarker) -> Check:
    """Compare what is pinned with what the run says, and with the files that were used here."""
    again = {"dataset_sha256": marker.dataset.get("sha256")}  # a run says this one twice
    said = again | marker.artifacts
    differences = []
    for name, pin in pinned.as_dict().items():
        if said.get(name) != pin or again.get(name, pin) != pin:
            found = again.get(name) if said.get(name) == pin else said.get(name)
            differences.append(Difference(name, pin, found))
        elif used.get(name, pin) != pin:
            differences.append(Difference(f"{name} of the file used here", pin, used[name]))
    return Check("protocol_hashes", len(pinned.as_dict()), tuple(differences))


def _settings(
    config: ProtocolConfig, marker: RunMarker
) -> tuple[dict[str, Any], Callable[[str], Any]]:
    """Return what the marker must say beside the hashes, and what it says."""
    qa = config.qa.model_dump(mode="json", exclude={"answer_prompt", "provider"}, exclude_none=True)
    dataset = config.dataset.model_dump(exclude={"sha256"})
    expected = {
        "schema_version": MARKER_SCHEMA_VERSION,
        "protocol_id": config.protocol_id,
        "qa.capacity": config.pool.qa_capacity,
        **{f"qa.{key}": value for key, value in qa.items()},
        **{f"dataset.{key}": value for key, value in dataset.items()},
    }
    found = {
        "schema_version": marker.schema_version,
        "protocol_id": marker.protocol_id,
        **{f"qa.{key}": value for key, value in marker.qa.items()},
        **{f"dataset.{key}": value for key, value in marker.dataset.items()},
    }
    return expected, found.get


def _fingerprint_check(
    protocol: Protocol, decisions: Mapping[str, CaseDecision], run: StoredRun
) -> Check:
    name = "request_fingerprint"
    with_texts = {key: one for key, one in decisions.items() if one.case.texts}
    complete = [one for one in with_texts.values() if _is_complete(one)]
    if protocol.missing_texts or not complete:
        return Check(name, 0, note=NO_TEXTS)
    tasks = {task.row_id: task.fingerprint for task in answer_tasks(protocol, complete)}
    known = {key: decisions[key] for key in decisions if key in tasks}
    check = rows_equal(name, known, run, {name: lambda decision: tasks[row_id(decision)]})
    return replace(check, note=_without_texts(len(decisions) - len(known)))


def _graded_checks(
    protocol: Protocol, decisions: Mapping[str, CaseDecision], run: StoredRun
) -> list[Check]:
    if not run.graded:
        note = f"the run holds no {ROWS}: it is not graded yet"
        return [Check(name, 0, note=note) for name in GRADED_CHECKS]
    support, grade, grade_rule, summary, statistics = GRADED_CHECKS
    grades = _regraded(protocol, decisions, run)
    known = {key: one for key, one in decisions.items() if one.case.texts}
    note = _without_texts(len(decisions) - len(known)) if known else NO_TEXTS
    fields: Mapping[str, Fields] = {
        grade: {"grade_correct": lambda decision: grades[row_id(decision)].correct},
        grade_rule: {"grade_rule": lambda decision: grades[row_id(decision)].rule},
    }
    checks = [rows_in_order(run), rows_equal(support, decisions, run, SUPPORT_FIELDS)]
    checks += [
        replace(rows_equal(name, known, run, of_name), note=note)
        for name, of_name in fields.items()
    ]
    correct = {name: row.grade_correct for name, row in run.graded.items()}
    correct |= {name: one.correct for name, one in grades.items()}
    recorded = "" if len(known) == len(decisions) else "made from grades that the rows record"
    for name, filename, document in (
        (summary, "qa.summary.json", summary_document),
        (statistics, "qa.stats.json", statistics_document),
    ):
        path = run.folder / filename
        if not (path.exists() or path.is_symlink()):
            checks.append(Check(name, 0, note=f"the run holds no {filename}"))
        elif decisions.keys() - correct.keys():
            missing = Difference(filename, "made from all rows", "some rows are missing")
            checks.append(Check(name, 1, (missing,)))
        else:
            expected = json_document(document(_outcomes(decisions, correct), protocol.config))
            check = same_lines(name, expected, read_bytes(path, filename))
            checks.append(replace(check, note=recorded))
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


def _is_complete(decision: CaseDecision) -> bool:
    return all("content" in fact for fact in decision.case.facts)


def _without_texts(rows: int) -> str:
    return f"{rows} rows have no texts here" if rows else ""
