"""A policy run on disk: `run.json`, `policy.raw.jsonl`, `summary.json`, without any text."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pandas as pd

from deermem_eval import __version__
from deermem_eval.files import json_document, json_lines, publish_folder, sha256_hex
from deermem_eval.policies import Selector
from deermem_eval.protocol import Protocol
from deermem_eval.reading import read_bytes
from deermem_eval.selection.decisions import CaseDecision, PolicySetting, decision_table
from deermem_eval.selection.retention import retention_by_scenario

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class PolicyRun:
    """Decisions, and all that they were made from."""

    protocol: Protocol
    settings: tuple[PolicySetting, ...]
    capacities: tuple[int, ...]
    selector: Selector
    decisions: tuple[CaseDecision, ...]
    records_file: Path
    """The file that the cases were built from: the data set, or the protocol's `records.csv`."""


def write_policy_run(run: PolicyRun, output_dir: Path, *, created_at: datetime) -> None:
    """Write a policy run into a new folder, whole or not at all.

    Parameters
    ----------
    run : PolicyRun
    output_dir : Path
        Missing or empty.
    created_at : datetime
        When the run was made; the only thing in it that differs from one run to the next.

    Raises
    ------
    DeermemEvalError
        The folder holds something, or cannot be written.
    """
    publish_folder(
        output_dir,
        {
            "run.json": json_document(_marker(run, created_at)),
            "policy.raw.jsonl": json_lines(raw_row(decision) for decision in run.decisions),
            "summary.json": json_document(_summary(run)),
        },
    )


def raw_row(decision: CaseDecision) -> dict[str, object]:
    """Return a decision under the published keys (PR #4810, `policy.raw.jsonl`)."""
    case = decision.case
    return {
        "schema_version": SCHEMA_VERSION,
        "case_id": case.case_id,
        "source": case.source,
        "scenario": case.scenario,
        "question_type": case.question_type,
        "policy": decision.policy,
        "capacity": decision.capacity,
        "support_fact_ids": list(case.support_fact_ids),
        "kept_fact_ids": list(decision.kept_fact_ids),
        "evicted": [
            {
                "fact_id": fact.fact_id,
                "category": fact.category,
                "score": None if fact.score is None else float(fact.score),
                "components": fact.components,
            }
            for fact in decision.outcome.evicted
        ],
        "scores": {
            fact_id: {"value": float(score.value), "components": score.components}
            for fact_id, score in decision.outcome.scores.items()
        },
        "support_all_retained": decision.support_retained,
        "support_recall": decision.support_recall,
        "reserved_correction_slots": decision.outcome.reserved_correction_slots,
    }


def retention_rows(decisions: Sequence[CaseDecision]) -> list[dict[str, object]]:
    """Return retention by capacity, policy and scenario, as plain values for JSON."""
    table = retention_by_scenario(decision_table(decisions))
    columns = ["capacity", "policy", "scenario", "cases", "retained"]
    return _plain_rows(table[columns])


def _marker(run: PolicyRun, created_at: datetime) -> dict[str, object]:
    config = run.protocol.config
    return {
        "schema_version": SCHEMA_VERSION,
        "protocol_id": config.protocol_id,
        "created_at": created_at.isoformat(),
        "software": {"name": "deermem-eval", "version": __version__},
        "selector": {"name": run.selector.name, "policy_version": run.selector.policy_version},
        "dataset": config.dataset.model_dump(),
        "artifacts": run.protocol.identity.as_dict(),
        "records": {
            "filename": run.records_file.name,
            "sha256": sha256_hex(read_bytes(run.records_file, "records")),
        },
        "evaluation_time": config.evaluation_time.isoformat(),
        "capacities": list(run.capacities),
        "policies": {setting.name: setting.parameters for setting in run.settings},
        "rows": len(run.decisions),
    }


def _summary(run: PolicyRun) -> dict[str, object]:
    table = decision_table(run.decisions)
    sources = {decision.case.scenario: decision.case.source for decision in run.decisions}
    groups = retention_by_scenario(table).drop(columns="suite")
    groups = groups.assign(
        source=groups["scenario"].map(sources), retention=groups["retained"] / groups["cases"]
    )
    groups = groups.sort_values(["source", "scenario", "capacity", "policy"])
    return {
        "schema_version": SCHEMA_VERSION,
        "protocol_id": run.protocol.config.protocol_id,
        "groups": _plain_rows(groups),
    }


def _plain_rows(table: pd.DataFrame) -> list[dict[str, object]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
