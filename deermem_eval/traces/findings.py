"""What simulated lives say, in sentences that each carry their numbers."""

from collections.abc import Sequence

import pandas as pd

from deermem_eval.traces.comparison import smallest_p
from deermem_eval.traces.signals import TRACED
from deermem_eval.traces.study import BOUND


def findings(
    shares: pd.DataFrame,
    cells: pd.DataFrame,
    ages: pd.DataFrame,
    tuning: pd.DataFrame | None,
    *,
    capacity: int,
    confidence: str,
    policies: Sequence[str] = ("confidence", "hybrid-v1"),
) -> list[str]:
    """Say where a candidate is better than a baseline, and how much either leaves to be won.

    Parameters
    ----------
    shares : DataFrame
        As `shares_by_setting()` returns it.
    cells : DataFrame
        As `decision_map()` returns it.
    ages : DataFrame
        As `ages_of_needs()` returns it.
    tuning : DataFrame or None
        As `leave_one_life_out()` returns it; None where there is one life alone.
    capacity : int
    confidence : str
        Model of confidence of the sentences that speak of one.
    policies : sequence of str
        Baseline and candidate.
    """
    baseline, candidate = policies
    lives, smallest = int(cells["lives"].iloc[0]), smallest_p(int(cells["lives"].iloc[0]))
    lines = []
    for recency, of in cells.groupby("recency"):
        worse, better = int((of["upper"] < 0).sum()), int((of["lower"] > 0).sum())
        lines.append(
            f"With needs of recency {recency:g}, {candidate} minus {baseline} is "
            f"{_points(of['difference'].min())} to {_points(of['difference'].max())} points of needs "
            f"met at {len(of)} values of rho from {of['rho'].min():g} to {of['rho'].max():g}; the interval "
            f"lies above zero in {better} of them, below in {worse}."
        )
    recency = str(shares["recency"].iloc[0])
    at = shares[(shares["capacity"] == capacity) & (shares["recency"] == recency)]
    of_model = at[at["confidence"] == confidence].set_index("policy")["share"]
    bound = at[at["policy"] == BOUND]["share"].iloc[0]
    known = of_model.drop(["clairvoyant"], errors="ignore")
    rivals = known[~known.isin([of_model[baseline], of_model[candidate]])]
    best = (
        f", and the best other policy, {rivals.idxmax()}, {rivals.max():.1%}" if len(rivals) else ""
    )
    setting = f"at capacity {capacity}, confidence {confidence}, needs {needs_when(recency)}"
    lines.append(
        f"Of all needs ({setting}), {baseline} meets {of_model[baseline]:.1%}, {candidate} "
        f"{of_model[candidate]:.1%}{best}; the bound is {bound:.1%}."
    )
    oldest = list(dict.fromkeys(ages["age"]))
    oldest.sort(key=lambda name: float(name.partition("-")[0]))
    by_age = ages.groupby(["policy", "age"])[["met", "needs"]].sum()
    rates = by_age["met"] / by_age["needs"]
    first, last = oldest[0], oldest[-1]
    lines.append(
        f"Of those whose oldest fact is {last.rstrip('-')} days old or more, {baseline} meets "
        f"{rates[baseline, last]:.1%} and {candidate} {rates[candidate, last]:.1%}; of those of "
        f"{first} days {rates[baseline, first]:.1%} and {rates[candidate, first]:.1%}."
    )
    for when, of in () if tuning is None else tuning.groupby("recency", sort=False):
        gains = [
            100 * (of["share_tuned"] - of[f"share_{name}"]).mean()
            for name in ("published", "confidence")
        ]
        names = ["confidence_weight", "confirmation_weight", "access_weight"]
        triples = of[names].round(6).value_counts()
        most = " / ".join(f"{weight:g}" for weight in triples.index[0])
        lines.append(
            f"With needs {needs_when(str(when))} (same capacity and confidence), weights of hybrid-v1 tuned on all other "
            f"lives meet {gains[0]:+.1f} points against the published ones on the life left out, "
            f"{gains[1]:+.1f} against confidence; they are {most} in {int(triples.iloc[0])} of {len(of)} lives."
        )
    family = len(cells)
    lines.append(
        f"{lives} lives are {lives} observations: the smallest p-value that they can give is "
        f"{smallest:.2g}, and after Holm over the {family} settings of the map {min(1.0, smallest * family):.2g}."
    )
    return lines


def needs_when(recency: str) -> str:
    """Say when needs come, after the word `needs`: `as traced`, or `of recency 0.5`."""
    return "as traced" if recency == TRACED else f"of recency {recency}"


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"
