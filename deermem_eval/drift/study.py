"""A drift study: sides by name, of a protocol with whatever texts and outcomes are at hand."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from deermem_eval.cases import build_cases, record_source
from deermem_eval.drift.noise import against_the_floor, natural_repeats, noise_floor
from deermem_eval.drift.sides import RecordsOf, Side, outcome_side, run_side, variant_side
from deermem_eval.drift.variants import VARIANTS
from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import read_outcomes
from deermem_eval.protocol import Protocol

OUTCOMES = "outcomes.csv"


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

    def side(self, name: str) -> Side:
        """Return a variant by name, a published run with its outcomes, or the run of a folder.

        Raises
        ------
        DeermemEvalError
            It is none of them, or a run that cannot be compared.
        """
        if name in VARIANTS:
            side = variant_side(self.protocol, VARIANTS[name], self.records_of)
            if self.outcomes is None or name not in set(self.outcomes["run"]):
                return side
            of_run = self.outcomes[self.outcomes["run"] == name].reset_index(drop=True)
            return outcome_side(side, of_run, self.protocol.config.qa.grader_version)
        if Path(name).is_dir():
            return run_side(Path(name), Path(name).resolve().name)
        raise DeermemEvalError(
            f"{name!r} is neither a folder nor a variant; the variants are {', '.join(VARIANTS)}"
        )


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
    """
    protocol = texts or facts
    records_of = record_source(protocol, dataset)
    path = facts.folder / OUTCOMES
    outcomes = None
    if path.is_file():
        outcomes = read_outcomes(path, build_cases(facts, record_source(facts)(facts.details)))
    return DriftStudy(protocol, records_of, outcomes)


def noise_of(*sides: Side, alpha: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the noise floor of graded sides, and their differences against it.

    Returns
    -------
    floor, against : DataFrame
        As `noise_floor()` and `against_the_floor()` return them; empty where sides are not graded.
    """
    graded = [side.graded.assign(run=side.name) for side in sides if side.graded is not None]
    if not graded:
        return pd.DataFrame(), pd.DataFrame()
    rows = pd.concat(graded, ignore_index=True)
    repeats = natural_repeats(rows)
    return noise_floor(repeats, alpha=alpha), against_the_floor(rows, repeats, alpha=alpha)
