"""A drift study: sides by name, of a protocol with whatever texts and outcomes are at hand."""

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from deermem_eval.cases import build_cases, record_source
from deermem_eval.drift.noise import against_the_floor, natural_repeats, noise_floor
from deermem_eval.drift.sides import RecordsOf, Side, outcome_side, run_side, variant_side
from deermem_eval.drift.variants import PUBLISHED, VARIANTS
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.grades import read_outcomes
from deermem_eval.grades.study import OUTCOMES
from deermem_eval.places import working_path
from deermem_eval.protocol import Protocol, with_run_config

NOISE_COLUMNS = ["case_id", "policy", "request_fingerprint", "answer_sha256", "correct"]


@dataclass(frozen=True)
class DriftStudy:
    """What sides are made from.

    Attributes
    ----------
    protocol : Protocol
        With texts where there are any.
    records_of : callable
        From details to records; `deermem_eval.cases.record_source()` makes one.
    outcomes : DataFrame or None
        Published runs as facts, as `read_outcomes()` returns them; None: the protocol has none.
    """

    protocol: Protocol
    records_of: RecordsOf
    outcomes: pd.DataFrame | None

    @property
    def published(self) -> frozenset[str]:
        """Names of the published runs whose outcomes are at hand."""
        return frozenset(() if self.outcomes is None else self.outcomes["run"])

    def side(self, name: str) -> Side:
        """Return a variant by name, a published run with its outcomes, or the run of a folder.

        Raises
        ------
        DeermemEvalError
            It is none of them, or a run that cannot be compared.
        """
        if name in VARIANTS:
            side = variant_side(self.protocol, VARIANTS[name], self.records_of)
            if self.outcomes is None or name not in self.published:
                return side
            of_run = self.outcomes[self.outcomes["run"] == name].reset_index(drop=True)
            return outcome_side(side, of_run, self.protocol.config.qa.grader_version)
        folder = working_path(name)
        if folder.is_dir():
            side = run_side(folder, folder.resolve().name)
            return replace(side, requests=self._requests(folder, side))
        raise DeermemEvalError(
            f"{name!r} is neither a folder nor a variant; the variants are {', '.join(VARIANTS)}"
        )

    def _requests(self, folder: Path, side: Side) -> dict[str, bytes]:
        """Return the requests of a run that can be rebuilt: those with the fingerprint of their row."""
        found: dict[str, bytes] = {}
        asked = side.layers["request bytes"]
        protocol = with_run_config(self.protocol, folder)
        for variant in PUBLISHED.values():
            rebuilt = variant_side(protocol, variant, self.records_of).requests
            found |= {
                id_: sent for id_, sent in rebuilt.items() if asked.get(id_) == sha256_hex(sent)
            }
            if len(found) == len(asked):
                break
        return found


def load_drift_study(
    facts: Protocol, texts: Protocol | None = None, dataset: Path | None = None
) -> DriftStudy:
    """Load what sides are made from.

    Parameters
    ----------
    facts : Protocol
        Whose outcomes are published, if any are.
    texts : Protocol, optional
        The same protocol with texts, where they are at hand.
    dataset : Path, optional
        The pinned data set, where it does not lie with the texts.

    Raises
    ------
    DeermemEvalError
        The texts are another protocol's.
    """
    protocol = texts or facts
    if _cases_of(protocol) != _cases_of(facts):
        raise DeermemEvalError(
            f"the texts in {protocol.folder} are not those of protocol {facts.name}: they have another "
            "protocol_id or other cases; name its own"
        )
    records_of = record_source(protocol, dataset)
    path = facts.folder / OUTCOMES
    outcomes = None
    if path.is_file():
        outcomes = read_outcomes(path, build_cases(facts, record_source(facts)(facts.details)))
    return DriftStudy(protocol, records_of, outcomes)


def _cases_of(protocol: Protocol) -> tuple[str, set[str]]:
    ids = {*protocol.official.case_ids, *(case.case_id for case in protocol.synthetic.cases)}
    return protocol.config.protocol_id, ids


def noise_of(
    *sides: Side, alpha: float, more: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the noise floor of sides that were answered, and their differences against it.

    Parameters
    ----------
    *sides : Side
        One that is given twice, or whose rows are a copy of another's, counts once.
    alpha : float
    more : DataFrame, optional
        Rows of further runs of the same model, to measure the floor on.

    Returns
    -------
    floor, against : DataFrame
        As `noise_floor()` and `against_the_floor()` return them; empty where nobody was asked.
        Grades are left out where they are not all there, or by several graders.
    """
    graders = {side.grader for side in sides if side.answered is not None}
    answered: list[pd.DataFrame] = []
    for side in sides:
        if side.answered is None:
            continue
        rows = side.answered[NOISE_COLUMNS].assign(run=side.name).reset_index(drop=True)
        if len(graders) > 1:
            rows["correct"] = None
        if not any(_is_copy(rows, other) for other in answered):
            answered.append(rows)
    if not answered:
        return pd.DataFrame(), pd.DataFrame()
    rows = pd.concat(answered, ignore_index=True)
    measured = [more[["run", *NOISE_COLUMNS]]] if more is not None else answered
    repeats = natural_repeats(pd.concat(measured, ignore_index=True))
    return noise_floor(repeats, alpha=alpha), against_the_floor(rows, repeats, alpha=alpha)


def _is_copy(rows: pd.DataFrame, other: pd.DataFrame) -> bool:
    a, b = (
        part[NOISE_COLUMNS].sort_values(["case_id", "policy"], ignore_index=True)
        for part in (rows, other)
    )
    return a.astype(object).equals(b.astype(object))
