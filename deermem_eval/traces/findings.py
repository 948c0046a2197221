"""What simulated lives say, in sentences that each carry their numbers."""

from collections.abc import Sequence

import pandas as pd

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
    lives = int(cells["lives"].iloc[0])
    lines = []
    for recency, of in cells.groupby("recency"):
        worse, better = int((of["upper"] < 0).sum()), int((of["lower"] > 0).sum())
        lines.append(
            f"With needs of recency {recency:g}, {candidate} minus {baseline} is "
            f"{_points(of['difference'].min())} to {_points(of['difference'].max())} points of needs "
            f"met over rho from {of['rho'].min():g} to {of['rho'].max():g}: clearly more "
            f"in {better}, clearly fewer in {worse} of {len(of)} settings."
        )
    at = shares[(shares["capacity"] == capacity) & (shares["recency"] == shares["recency"].iloc[0])]
    of_model = at[at["confidence"] == confidence].set_index("policy")["share"]
    bound = at[at["policy"] == BOUND]["share"].iloc[0]
    rivals = of_model.drop([baseline, candidate, "clairvoyant"], errors="ignore")
    best = (
        f", and the best other policy, {rivals.idxmax()}, {rivals.max():.1%}" if len(rivals) else ""
    )
    lines.append(
        f"At capacity {capacity} with confidence {confidence}, {baseline} meets {of_model[baseline]:.1%} "
        f"of needs, {candidate} {of_model[candidate]:.1%}{best}; the bound is {bound:.1%}."
    )
    oldest = list(dict.fromkeys(ages["age"]))
    oldest.sort(key=lambda name: float(name.partition("-")[0]))
    by_age = ages.groupby(["policy", "age"])[["met", "needs"]].sum()
    rates = by_age["met"] / by_age["needs"]
    first, last = oldest[0], oldest[-1]
    lines.append(
        f"Of needs whose oldest fact is {last.rstrip('-')} days old or more, {baseline} meets "
        f"{rates[baseline, last]:.1%} and {candidate} {rates[candidate, last]:.1%}; of those of "
        f"{first} days {rates[baseline, first]:.1%} and {rates[candidate, first]:.1%}."
    )
    if tuning is not None:
        gain = 100 * (tuning["share_tuned"] - tuning["share_published"]).mean()
        names = ["confidence_weight", "confirmation_weight", "access_weight"]
        triples = tuning[names].round(6).value_counts()
        most = " / ".join(f"{weight:g}" for weight in triples.index[0])
        lines.append(
            f"Weights of hybrid-v1 tuned on all other lives meet {gain:+.1f} points against the published "
            f"ones on the life left out; they are {most} in {int(triples.iloc[0])} of {len(tuning)} lives."
        )
    lines.append(
        f"{lives} lives are {lives} observations: the smallest p-value that they can give is "
        f"{2.0 ** (1 - lives):.2g}."
    )
    return lines


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"
