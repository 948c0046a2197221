"""Comparisons over lives: each life is one unit, whatever it asks and however many seeds it was given.

Ten lives are ten observations. The unit's value is the share of its needs that were met, the mean over its
seeds; lives are resampled whole, and signs are flipped life by life.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import resampled_indices, smallest_attainable_p
from deermem_eval.traces.study import BOUND
from deermem_eval.traces.trace import Floats

RESAMPLES = 10_000
SEED = 4789
MOST_EXACT = 16
FLIPS, BATCHES = 10_000, 10
"""Lives up to which all sign flips are counted; beyond, so many random ones are drawn."""
SETTINGS = ["capacity", "confidence", "recency"]
COMPARISON_COLUMNS = (
    *("policy", "baseline", *SETTINGS, "lives", "share_baseline", "share", "difference"),
    *("lower", "upper", "p_value", "smallest_attainable_p", "p_holm"),
)


def shares_by_life(outcomes: pd.DataFrame, *, of: str = "met") -> pd.DataFrame:
    """Return each life's share of needs met, the mean over its seeds.

    Parameters
    ----------
    outcomes : DataFrame
        As `run_study()` returns it.
    of : {"met", "met_in_part"}

    Returns
    -------
    DataFrame
        Columns `life`, `policy`, `capacity`, `confidence`, `recency`, `share`.
    """
    keys = ["life", "policy", *SETTINGS]
    table = outcomes.assign(share=outcomes[of] / outcomes["needs"])
    return table.groupby(keys, sort=False)["share"].mean().reset_index()


def shares_by_setting(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over lives of what each policy meets, keeps and evicts.

    Returns
    -------
    DataFrame
        Columns `policy`, `capacity`, `confidence`, `recency`, `lives`, `share`, `share_in_part`,
        `regret` (the bound's share minus the policy's), `corrections_kept` (share of the lives'
        corrections that are there at the end) and `churn` (evictions a creation).
    """
    table = outcomes.assign(
        share=outcomes["met"] / outcomes["needs"],
        share_in_part=outcomes["met_in_part"] / outcomes["needs"],
        kept=outcomes["corrections_kept"] / outcomes["corrections"].replace(0, np.nan),
        churn=outcomes["evicted"] / outcomes["facts"],
    )
    keys = ["policy", *SETTINGS]
    values = ["share", "share_in_part", "kept", "churn"]
    means = table.groupby(["life", *keys], sort=False)[values].mean().groupby(keys, sort=False)
    found = means.mean()
    found.insert(0, "lives", means.size())
    found = found.reset_index().rename(columns={"kept": "corrections_kept"})
    bounds = found[found["policy"] == BOUND].set_index(["capacity", "recency"])["share"]
    places = pd.MultiIndex.from_frame(found[["capacity", "recency"]])
    found["regret"] = bounds.reindex(places).to_numpy() - found["share"].to_numpy()
    columns = ["lives", "share", "share_in_part", "regret", "corrections_kept", "churn"]
    return found[[*keys, *columns]]


def compare_policies(
    outcomes: pd.DataFrame,
    *,
    baseline: str = "confidence",
    policies: Sequence[str] = (),
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Compare policies with a baseline over the same lives, in every setting.

    Parameters
    ----------
    outcomes : DataFrame
        As `run_study()` returns it.
    baseline : str
    policies : sequence of str
        Empty: all others but the bound and the clairvoyant.
    alpha : float
        1 - coverage of the intervals.

    Returns
    -------
    DataFrame
        Columns `COMPARISON_COLUMNS`. `difference` is policy minus baseline in the mean share of needs
        met; `lower` and `upper` bound it by a bootstrap over lives; `p_value` is of the two-sided
        sign-flip test over lives, and `p_holm` the same after Holm over the policies of a setting.

    Raises
    ------
    DeermemEvalError
        The baseline was not simulated.
    """
    shares = shares_by_life(outcomes)
    wide = shares.pivot(index=[*SETTINGS, "life"], columns="policy", values="share")
    for name in (baseline, *policies):
        if name not in wide:
            raise DeermemEvalError(f"policy {name!r} was not simulated; name it among the policies")
    others = list(policies) or [
        name for name in shares["policy"].unique() if name not in (baseline, BOUND, "clairvoyant")
    ]
    rows = []
    for setting, of_setting in wide.groupby(level=SETTINGS, sort=False):
        for policy in others:
            pair = of_setting[[baseline, policy]].dropna()
            if pair.empty:
                continue
            rows.append((policy, baseline, *setting, *_compared(pair.to_numpy(), alpha)))
    table = pd.DataFrame(rows, columns=list(COMPARISON_COLUMNS[:-1]))
    table["p_holm"] = table.groupby(SETTINGS, sort=False)["p_value"].transform(
        lambda of_setting: holm(of_setting.to_numpy())
    )
    return table


def comparison_in_words(
    compared: pd.DataFrame, *, policies: Sequence[str] = ("hybrid-v1",)
) -> list[str]:
    """Say what a comparison shows of some policies, and what so few lives can show at all.

    Parameters
    ----------
    compared : DataFrame
        As `compare_policies()` returns it.
    policies : sequence of str
    """
    of = compared[compared["policy"].isin(policies)]
    lines = []
    for row in of.to_dict("records"):
        interval = f"[{100 * row['lower']:+.1f}, {100 * row['upper']:+.1f}]"
        if row["lives"] < 2:
            interval = "(one life gives no interval)"
        lines.append(
            f"{row['policy']} meets {100 * row['share']:.1f} %, {row['baseline']} "
            f"{100 * row['share_baseline']:.1f} % of needs at capacity {row['capacity']}, confidence "
            f"{row['confidence']}, recency {row['recency']}: {100 * row['difference']:+.1f} points "
            f"{interval}; p {row['p_value']:.3g}, after Holm {row['p_holm']:.3g}"
        )
    if len(compared):
        lives, smallest = int(compared["lives"].max()), compared["smallest_attainable_p"].min()
        family = int(compared.groupby(SETTINGS).size().max())
        lines.append(
            f"{lives} lives are {lives} observations: no p-value can fall below {smallest:.3g}, and after "
            f"Holm over the {family} policies of a setting none below {min(1.0, smallest * family):.3g}"
        )
    return lines


def cluster_interval(differences: ArrayLike, *, alpha: float = 0.05) -> tuple[float, float]:
    """Return the percentile interval of a mean over lives, from a bootstrap that draws whole lives.

    One life has none: both bounds are NaN. Over few lives such intervals are somewhat too narrow.

    The stream is the pinned one of the other bootstraps here: 10,000 resamples, seed 4789.
    """
    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return float("nan"), float("nan")
    drawn = resampled_indices(len(values), seed=SEED, iterations=RESAMPLES)
    means = np.sort(values[drawn].mean(axis=1))
    upper = max(0, int((1 - alpha / 2) * RESAMPLES) - 1)
    return float(means[int(alpha / 2 * RESAMPLES)]), float(means[upper])


def sign_flip_p(differences: ArrayLike) -> float:
    """Return the two-sided p-value of the sign-flip test of a mean difference over lives, in (0, 1].

    Exact up to 16 lives (Fisher 1935): the share of all 2^n ways to flip the signs whose mean is at
    least as far from zero. Beyond, 100,000 random flips and the observed one stand for them.

    Examples
    --------
    >>> sign_flip_p([0.1, 0.2, 0.1, 0.3])
    0.125
    """
    values = np.asarray(differences, dtype=float)
    if not values.any():
        return 1.0
    if len(values) <= MOST_EXACT:
        flips = np.array(list(itertools.product((1.0, -1.0), repeat=len(values))))
        sums = np.abs(flips @ values)
    else:
        draw = np.random.default_rng(SEED)
        sums = np.concatenate([[values.sum()], *(_flipped(values, draw) for _ in range(BATCHES))])
    return float((np.abs(sums) >= abs(values.sum()) - 1e-12).mean())


def smallest_p(lives: int) -> float:
    """Return the smallest p-value that `sign_flip_p()` can give for so many lives."""
    return smallest_attainable_p(lives) if lives <= MOST_EXACT else 1 / (1 + BATCHES * FLIPS)


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted by Holm's method, from statsmodels."""
    from statsmodels.stats.multitest import multipletests

    return np.asarray(multipletests(p_values, method="holm")[1])


def _flipped(values: Floats, draw: np.random.Generator) -> Floats:
    signs = draw.integers(0, 2, size=(FLIPS, len(values)), dtype=np.int8)
    return np.asarray((1.0 - 2.0 * signs) @ values)


def _compared(pair: Floats, alpha: float) -> tuple[float, ...]:
    differences = pair[:, 1] - pair[:, 0]
    lives = len(differences)
    return (
        lives,
        float(pair[:, 0].mean()),
        float(pair[:, 1].mean()),
        float(differences.mean()),
        *cluster_interval(differences, alpha=alpha),
        sign_flip_p(differences),
        smallest_p(lives),
    )
