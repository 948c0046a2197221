"""A graded study: the graded rows of a published run by name, or of a folder, and their regrades."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from deermem_eval.answers.replies import answered_by
from deermem_eval.answers.run_directory import ROWS, RunMarker
from deermem_eval.cases import Case
from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades.graded_rows import GradedRow, read_run
from deermem_eval.grades.outcomes import (
    RUN_COLUMNS,
    graded_table,
    read_outcomes,
    read_runs,
    rows_of_run,
)
from deermem_eval.grades.regrading import read_disputed, read_regrades, regrade
from deermem_eval.places import working_path
from deermem_eval.policies import policy_names
from deermem_eval.protocol import Protocol
from deermem_eval.selection import policy_settings

OUTCOMES = "outcomes.csv"


@dataclass(frozen=True)
class GradedStudy:
    """Graded rows and what belongs to them.

    Attributes
    ----------
    run : str
        Name of the run that is looked at; one of those in `graded`.
    graded : DataFrame
        As `read_outcomes()` returns it; all published runs, or the one of a folder.
    regrades : DataFrame
        As `regrade()` returns it; empty where there are no texts to regrade with.
    runs : DataFrame
        As `read_runs()` returns it: what each run was made from.
    """

    run: str
    graded: pd.DataFrame
    regrades: pd.DataFrame
    runs: pd.DataFrame

    @property
    def answered_by(self) -> pd.Series:
        """Who has answered, by run; for tables and figures of the answers."""
        return self.runs.set_index("run")["model"].rename("answered_by")


def load_graded_study(protocol: Protocol, cases: Sequence[Case], run: str) -> GradedStudy:
    """Load the graded rows of a run.

    Parameters
    ----------
    protocol : Protocol
    cases : sequence of Case
        Of the protocol.
    run : str
        Name of a published run in the protocol's `outcomes.csv`, which comes first; or a graded run
        directory or a folder of published rows, relative as in
        `deermem_eval.places.working_path`.

    Raises
    ------
    DeermemEvalError
        There is no such run; its rows are malformed, not of the protocol's cases and policies, or
        not in pairs.
    """
    if not run:
        raise DeermemEvalError("run is empty; name a published run, or the folder of a graded one")
    outcomes = protocol.folder / OUTCOMES
    published = read_outcomes(outcomes, cases) if outcomes.is_file() else pd.DataFrame({"run": []})
    folder = working_path(run)
    if run not in set(published["run"]) and folder.is_dir():
        study, source = _study_of_folder(protocol, cases, folder), folder / ROWS
    elif outcomes.is_file():
        study, source = _published_study(protocol, cases, published, run), outcomes
    else:
        raise DeermemEvalError(
            f"run {run!r} is no folder, and protocol {protocol.name} comes without graded runs; "
            "name a graded run directory"
        )
    _refuse_other_rows(study.graded, protocol, cases, source)
    return study


def _published_study(
    protocol: Protocol, cases: Sequence[Case], graded: pd.DataFrame, run: str
) -> GradedStudy:
    rows_of_run(graded, run)  # refuses a name that is none
    path = protocol.folder / "regrades.csv"
    regrades = read_regrades(path) if path.is_file() else regrade((), cases, run)
    return GradedStudy(run, graded, regrades, read_runs(protocol.folder / "runs.csv"))


def _study_of_folder(protocol: Protocol, cases: Sequence[Case], folder: Path) -> GradedStudy:
    stored = read_run(folder)
    rows = stored.require_grades()
    name = folder.name
    if len(stored.order) > len(rows):
        repeated = next(one for one in stored.order if stored.order.count(one) > 1)
        raise DeermemEvalError(f"{folder / ROWS}: row {repeated} stands twice; keep one")
    has_texts = all(case.texts for case in cases)
    return GradedStudy(
        name,
        graded_table(rows.values(), name, folder / ROWS),
        regrade(rows.values() if has_texts else (), cases, name, read_disputed(protocol)),
        _run_facts(name, stored.marker, rows.values()),
    )


def _run_facts(name: str, marker: RunMarker, rows: Iterable[GradedRow]) -> pd.DataFrame:
    facts = {
        "run": name,
        "created_at": marker.created_at,
        "code_revision": str(marker.git.get("head", "")),
        "model": answered_by(row.response_model for row in rows),
        **marker.artifacts,
    }
    return pd.DataFrame([{column: facts.get(column, "") for column in RUN_COLUMNS}])


def _refuse_other_rows(
    graded: pd.DataFrame, protocol: Protocol, cases: Sequence[Case], source: Path
) -> None:
    known = {setting.name for setting in policy_settings(protocol.config)} | set(policy_names())
    unknown = {policy for policy in set(graded["policy"]) - known if ":" not in policy}
    if unknown:
        raise DeermemEvalError(
            f"{source}: policy {min(unknown)!r} is not one of "
            f"{', '.join(sorted(known))}; correct it"
        )
    known_cases = {(case.case_id, case.scenario, case.source) for case in cases}
    for run, rows in graded.groupby("run", sort=False):
        found = set(zip(rows["case_id"], rows["scenario"], rows["source"], strict=True))
        for case_id, scenario, origin in sorted(found ^ known_cases):
            what = "is not the protocol's" if (case_id, scenario, origin) in found else "has no row"
            raise DeermemEvalError(
                f"{source}: run {run}: case {case_id} of scenario {scenario}, source {origin}, {what}; "
                "use the protocol that the run was made from, and a complete run"
            )
