"""Statistics of two policies graded on the same cases, honest about how few the cases are."""

import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deermem_eval.errors import DeermemEvalError

WORDS_A_BLOCK = 16_384  # stays in the processor's cache


@dataclass(frozen=True)
class PairedCounts:
    """Cases by outcome under a baseline and a candidate policy (a 2x2 table)."""

    both: int
    baseline_only: int
    candidate_only: int
    neither: int

    @property
    def cases(self) -> int:
        """All pairs."""
        return self.both + self.baseline_only + self.candidate_only + self.neither

    @property
    def discordant(self) -> int:
        """Pairs in which exactly one policy is right."""
        return self.baseline_only + self.candidate_only


@dataclass(frozen=True)
class Interval:
    """An estimate and its bounds."""

    estimate: float
    lower: float
    upper: float


def paired_counts(baseline: npt.ArrayLike, candidate: npt.ArrayLike) -> PairedCounts:
    """Count paired outcomes.

    Parameters
    ----------
    baseline, candidate : array_like of bool, shape (cases,)
        Whether each case is right, in the same order.

    Raises
    ------
    DeermemEvalError
        The arrays differ in length, are empty, or hold something else than true and false.
    """
    first, second = _paired(baseline, candidate)
    return PairedCounts(
        both=int(np.sum(first & second)),
        baseline_only=int(np.sum(first & ~second)),
        candidate_only=int(np.sum(~first & second)),
        neither=int(np.sum(~first & ~second)),
    )


def mcnemar_p(counts: PairedCounts) -> float:
    """Return the two-sided exact McNemar p-value, in (0, 1]; 1.0 where no pair is discordant.

    McNemar (1947), in its exact binomial form, from statsmodels.
    """
    from statsmodels.stats.contingency_tables import mcnemar

    table = [
        [counts.both, counts.baseline_only],
        [counts.candidate_only, counts.neither],
    ]
    return float(mcnemar(table, exact=True).pvalue)


def smallest_attainable_p(cases: int) -> float:
    """Return the p-value if every one of `cases` pairs were discordant in one direction.

    A suite whose value exceeds alpha cannot be significant whatever happens: five cases stop at
    0.0625, above 0.05.

    Examples
    --------
    >>> smallest_attainable_p(5)
    0.0625
    """
    return min(1.0, 2.0 ** (1 - cases))


def wilson_interval(correct: int, cases: int, *, alpha: float = 0.05) -> Interval:
    """Return a share and its score interval (Wilson 1927, from statsmodels), each in [0, 1].

    Parameters
    ----------
    correct, cases : int
        0 <= correct <= cases, cases >= 1.
    alpha : float
        1 - coverage, in (0, 1).

    Raises
    ------
    DeermemEvalError
        The counts are not those of a share.
    """
    from statsmodels.stats.proportion import proportion_confint

    if not 0 <= correct <= cases or cases < 1:
        raise DeermemEvalError(f"{correct} of {cases} cases is no share; check the counts")
    lower, upper = proportion_confint(correct, cases, alpha=alpha, method="wilson")
    return Interval(correct / cases, float(lower), float(upper))


def bootstrap_difference(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    seed: int = 4789,
    iterations: int = 10_000,
    alpha: float = 0.05,
) -> Interval:
    """Return the pinned paired bootstrap of the difference in accuracy.

    Cases are resampled with the stream of `random.Random(seed)`; the difference of a resample is
    the candidate's mean minus the baseline's; the bounds are the sorted differences at positions
    `floor(alpha / 2 * iterations)` and `floor((1 - alpha / 2) * iterations) - 1`. Bit for bit the
    published procedure (PR #4810), on arrays.

    Parameters
    ----------
    baseline, candidate : array_like of bool, shape (cases,)
        In the order of the case ids: the stream makes the order count.
    seed : int
    iterations : int
        Number of resamples, at least 1.
    alpha : float
        1 - coverage, in (0, 1).

    Returns
    -------
    Interval
        Observed difference and bounds, each in [-1, 1].

    Raises
    ------
    DeermemEvalError
        As `paired_counts()`; or `iterations` or `alpha` is out of range.
    """
    if iterations < 1 or not 0 < alpha < 1:
        raise DeermemEvalError(
            f"bootstrap of {iterations} resamples at alpha {alpha}: at least 1 resample and an "
            "alpha between 0 and 1 are needed"
        )
    first, second = _paired(baseline, candidate)
    cases = len(first)
    drawn = resampled_indices(cases, seed=seed, iterations=iterations)
    # Both sums of a resample in one: the candidate's in the upper half of the word.
    sums = (second.astype(np.int64) << 32 | first).take(drawn).sum(axis=1)
    differences = np.sort((sums >> 32) / cases - (sums & 0xFFFFFFFF) / cases)
    return Interval(
        estimate=float(second.sum() / cases - first.sum() / cases),
        lower=float(differences[int(alpha / 2 * iterations)]),
        upper=float(differences[max(0, int((1 - alpha / 2) * iterations) - 1)]),
    )


def resampled_indices(cases: int, *, seed: int, iterations: int) -> npt.NDArray[np.int64]:
    """Return what `iterations * cases` calls of `random.Random(seed).randrange(cases)` return.

    Python's `randrange(n)` takes the upper `n.bit_length()` bits of a 32-bit word of the Mersenne
    Twister and draws again while they are not below n; here the words come as arrays.

    Parameters
    ----------
    cases : int
        1..2**32 - 1.
    seed : int
    iterations : int

    Returns
    -------
    ndarray of int64, shape (iterations, cases)
    """
    *key, position = random.Random(seed).getstate()[1]
    twister = np.random.MT19937()
    twister.state = {
        "bit_generator": "MT19937",
        "state": {"key": np.array(key, dtype=np.uint32), "pos": position},
    }
    shift = np.uint64(32 - cases.bit_length())
    drawn = np.empty(iterations * cases, dtype=np.int64)
    filled = 0
    while filled < len(drawn):
        values = (twister.random_raw(WORDS_A_BLOCK) >> shift).view(np.int64)
        # compress() is faster than a boolean index here
        accepted = values.compress(values < cases)[: len(drawn) - filled]
        drawn[filled : filled + len(accepted)] = accepted
        filled += len(accepted)
    return drawn.reshape(iterations, cases)


def _outcomes(values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Refuse what is neither right nor wrong, such as a case that was never graded."""
    array = np.asarray(values)
    if array.size and not (array.dtype.kind in "biuf" and np.isin(array, (0, 1)).all()):
        raise DeermemEvalError("an outcome is neither true nor false; grade every case")
    return array.astype(bool)


def _paired(
    baseline: npt.ArrayLike, candidate: npt.ArrayLike
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    first, second = _outcomes(baseline), _outcomes(candidate)
    if first.shape != second.shape or first.ndim != 1 or not first.size:
        raise DeermemEvalError(
            f"paired statistics need two equally long, non-empty lists of outcomes, and got "
            f"{first.shape} and {second.shape}"
        )
    return first, second
