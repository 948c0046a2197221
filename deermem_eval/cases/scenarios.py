"""Scenario metadata: what a pool's facts say about confidence, confirmation, access and age.

Source: the protocol of PR #4789, as rebuilt in PR #4810. The metadata are constructed, so that
under `confidence` the support fact of a `*_help` or correction case has the case's loss rank.
"""

from dataclasses import dataclass

from deermem_eval.protocol.details import HISTORICAL, Details

CREATED_DAYS_AGO = 180
RECENT_DAYS_AGO = 7
HOT_ACCESS_HEAT = 8


@dataclass(frozen=True)
class Signals:
    """The metadata of one fact, relative to the evaluation clock.

    Attributes
    ----------
    confidence : float
        In [0, 1].
    created_days_ago : int
        Age of the fact in days.
    confirmed_days_ago : int or None
        Days since the user last confirmed it; None: never.
    access_heat : int
        Heat at the evaluation clock; 0: never accessed.
    """

    confidence: float
    created_days_ago: int = CREATED_DAYS_AGO
    confirmed_days_ago: int | None = None
    access_heat: int = 0


SUPPORT_SIGNALS = {
    "confirmation_help": Signals(0.70, confirmed_days_ago=RECENT_DAYS_AGO),
    "access_help": Signals(0.70, access_heat=HOT_ACCESS_HEAT),
    "confidence_control": Signals(0.95, created_days_ago=30),
    "noisy_signal_control": Signals(0.90),
    "correction_reserve": Signals(0.65),
}


def distractor_signals(
    scenario: str, loss_rank: int, i: int, details: Details = HISTORICAL
) -> Signals:
    """Return the signals of a pool's distractor.

    Parameters
    ----------
    scenario : str
        One of the five keys of `SUPPORT_SIGNALS`.
    loss_rank : int
        Rank that the case's support fact is to have where the scenario uses it, 1..10: the first
        `loss_rank - 1` distractors rank above it, or carry the noisy signal.
    i : int
        Index of the distractor in the order in which it was drawn, from 0.
    details : Details
        `confidence_step` and `confirmed_parity`.

    Raises
    ------
    ValueError
        The scenario is unknown.
    """
    above, step = loss_rank - 1, details.confidence_step
    match scenario:
        case "confirmation_help" | "access_help":
            return Signals(0.94 - step * i if i < above else 0.68 - step * (i - above))
        case "confidence_control":
            return Signals(0.94 - step * i) if i < 5 else _noisy(i, details)
        case "noisy_signal_control":
            return _noisy(i, details) if i < above else Signals(0.70)
        case "correction_reserve":
            return Signals(0.90 - 0.03 * i if i < above else 0.60 - 0.02 * (i - above))
    raise ValueError(f"unknown scenario {scenario!r}")


def _noisy(i: int, details: Details) -> Signals:
    """Middling confidence with a strong signal: odd `i` confirmed lately, even `i` hot."""
    if i % 2 == details.confirmed_parity:
        return Signals(0.70, confirmed_days_ago=RECENT_DAYS_AGO)
    return Signals(0.70, access_heat=HOT_ACCESS_HEAT)
