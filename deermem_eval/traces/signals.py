"""Models of signals: what no data set has, each a named assumption that a table shows beside its results.

- *access*: every turn of a person searches the facts, and its `top_k` nearest ones are hit. A hit counts only
  if the fact is still in the store, which the simulator sees to.
- *confirmation*: where the gate's patterns match, the fact that the turn before came nearest to is confirmed;
  and a fact that a later turn comes very near to (`remention_similarity`) is confirmed with
  `remention_probability`.
- *confidence*: `constant`; `stored`, as the trace has it; or `rho=R`, informative to the degree R from 0
  (blind) to 1 (knows what will be needed).
- *needs*: `traced`, where the trace puts them; else with a recency from 0 (all at the end of the life) to 1
  (each as soon as its evidence is there).
"""

import math
from dataclasses import dataclass

import numpy as np

from deermem_eval.errors import DeermemEvalError
from deermem_eval.memory import is_reinforced, load_patterns
from deermem_eval.traces.lives import Life
from deermem_eval.traces.retrieval import top_hits
from deermem_eval.traces.setting import CONFIDENCE_STREAM, TIE_STREAM, chance
from deermem_eval.traces.trace import (
    ACCESS,
    CONFIRM,
    CREATE,
    NEED,
    Floats,
    Integers,
    Need,
    Trace,
)

LOWEST_CONFIDENCE = 0.7
"""DeerMem stores no fact below it (deer-flow's default `fact_confidence_threshold`)."""
CONSTANT_CONFIDENCE = 0.8
CONSTANT, STORED, RHO = "constant", "stored", "rho="
TRACED = "traced"


@dataclass(frozen=True)
class SignalModel:
    """Assumptions that make a trace of a life.

    Attributes
    ----------
    top_k : int
        Facts that a search returns, from 0.
    remention_similarity : float
        Cosine similarity in [0, 1] from which a later turn mentions a fact again.
    remention_probability : float
        With which the mention confirms it, in [0, 1].
    """

    top_k: int = 5
    remention_similarity: float = 0.3
    remention_probability: float = 0.25

    def __post_init__(self) -> None:
        if type(self.top_k) is not int or self.top_k < 0:
            raise DeermemEvalError(f"top_k is {self.top_k!r}, and must be a whole number from 0")
        for name in ("remention_similarity", "remention_probability"):
            if not 0 <= getattr(self, name) <= 1:
                raise DeermemEvalError(f"{name} is {getattr(self, name)!r}, and must be in [0, 1]")


def trace_of_life(life: Life, model: SignalModel | None = None) -> Trace:
    """Make a trace of a life: each turn searches and confirms, then becomes facts.

    Parameters
    ----------
    life : Life
    model : SignalModel, optional
        The default one if none is given.

    Raises
    ------
    DeermemEvalError
        Nothing was said, or nothing noted.
    """
    model = model or SignalModel()
    if not life.turns or not life.facts:
        raise DeermemEvalError(f"life {life.name} has no turn or no fact; leave it out")
    patterns = load_patterns()
    turn_of_fact = [fact.turn for fact in life.facts]
    hits = top_hits(
        [turn.text for turn in life.turns],
        [fact.text for fact in life.facts],
        turn_of_fact,
        top_k=model.top_k,
    )
    asked: dict[int, list[int]] = {}
    for number, question in enumerate(life.questions):
        asked.setdefault(len(life.turns) if question.turn is None else question.turn, []).append(
            number
        )
    events: list[tuple[int, int, float, float]] = []
    nearest: int | None = None
    coming = 0
    for place, (turn, found) in enumerate(zip(life.turns, hits, strict=True)):
        events += [(NEED, number, turn.seconds, 1.0) for number in asked.pop(place, [])]
        if turn.role == "human":
            message = {"role": turn.role, "content": turn.text}
            events += [(ACCESS, fact, turn.seconds, 1.0) for fact, _ in found]
            if nearest is not None and is_reinforced([message], patterns):
                events.append((CONFIRM, nearest, turn.seconds, 1.0))
            events += [
                (CONFIRM, fact, turn.seconds, model.remention_probability)
                for fact, similarity in found
                if similarity >= model.remention_similarity and model.remention_probability
            ]
        nearest = found[0][0] if found else None
        while coming < len(life.facts) and turn_of_fact[coming] == place:
            events.append((CREATE, coming, turn.seconds, 1.0))
            coming += 1
    end = life.turns[-1].seconds
    events += [(NEED, number, end, 1.0) for number in asked.pop(len(life.turns), [])]
    kinds, subjects, times, probabilities = zip(*events, strict=True)
    return Trace(
        life=life.name,
        fact_ids=tuple(fact.fact_id for fact in life.facts),
        categories=tuple(fact.category for fact in life.facts),
        confidence=np.full(len(life.facts), np.nan),
        kinds=np.array(kinds, dtype=np.int64),
        subjects=np.array(subjects, dtype=np.int64),
        times=np.array(times, dtype=float),
        probabilities=np.array(probabilities, dtype=float),
        needs=tuple(Need(question.facts, question.kind) for question in life.questions),
        corrects=np.full(len(life.facts), -1, dtype=np.int64),
    )


def confidences(trace: Trace, model: str, seed: int) -> Floats:
    """Return each fact's confidence under a model, shape (facts,), in [0, 1].

    `rho=R` draws from a Gaussian copula: `Phi(R v + sqrt(1 - R^2) e)`, with v the normal score of how
    many needs rest on the fact, equal numbers in an order by lot, and e from the seed, laid on 0.7 to 1.

    Raises
    ------
    DeermemEvalError
        There is no such model, R is outside 0..1, or the trace has no stored confidences.
    """
    if model == CONSTANT:
        return np.full(len(trace.fact_ids), CONSTANT_CONFIDENCE)
    if model == STORED:
        if np.isnan(trace.confidence).any():
            raise DeermemEvalError(
                f"life {trace.life} has facts without a confidence, so it has none stored; choose "
                f"{CONSTANT} or {RHO}0.5"
            )
        return trace.confidence
    rho = degree(model)
    from scipy.special import ndtr, ndtri  # 0.1 s to import

    noise = ndtri((chance(seed, CONFIDENCE_STREAM, len(trace.fact_ids)) * (2**53 - 1) + 1) / 2**53)
    lots = chance(seed, TIE_STREAM, len(trace.fact_ids))  # below 1: they part only equal numbers
    known = rho * normal_scores(times_needed(trace) + lots) + math.sqrt(1 - rho * rho) * noise
    return np.asarray(LOWEST_CONFIDENCE + (1 - LOWEST_CONFIDENCE) * ndtr(known))


def named(model: str) -> str:
    """Return a model of confidence under its one name: `rho=0.30` is `rho=0.3`."""
    return model if model in (CONSTANT, STORED) else f"{RHO}{plain(degree(model))}"


def degree(model: str) -> float:
    """Return the R of a confidence model `rho=R`.

    Raises
    ------
    DeermemEvalError
        It is no such model, or R is outside 0..1.
    """
    try:
        if not model.startswith(RHO):
            raise ValueError
        rho = float(model.removeprefix(RHO))
    except ValueError:
        raise DeermemEvalError(
            f"confidence model {model!r} is none; choose {CONSTANT}, {STORED} or {RHO}R with R in 0..1"
        ) from None
    if not 0 <= rho <= 1:
        raise DeermemEvalError(f"rho is {rho!r}, and must be in 0..1")
    return rho


def normal_scores(values: Floats) -> Floats:
    """Return the standard normal quantiles of values' mid-ranks, scaled to a variance of 1."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    if len(values) == 0:
        return values
    scores = ndtri((rankdata(values) - 0.5) / len(values))
    spread = scores.std()
    return np.asarray((scores - scores.mean()) / spread if spread > 0 else np.zeros(len(values)))


def times_needed(trace: Trace) -> Floats:
    """Return how many needs rest on each fact, shape (facts,)."""
    facts = [fact for need in trace.needs for fact in need.facts]
    return np.bincount(np.array(facts, dtype=np.int64), minlength=len(trace.fact_ids)).astype(float)


def plain(value: float) -> str:
    """Return a number as text that reads back as itself: `0`, `0.3`."""
    return repr(float(value)).removesuffix(".0")


def check_recency(recency: float) -> None:
    """Raise `DeermemEvalError` unless a recency of needs is in 0..1."""
    if not 0 <= recency <= 1:
        raise DeermemEvalError(f"recency is {recency!r}, and must be in 0..1")


def need_places(trace: Trace, recency: float | None) -> Integers:
    """Return where in the events each need stands, shape (needs,).

    Parameters
    ----------
    trace : Trace
    recency : float or None
        From 0 to 1: a need comes when `1 - recency` of what is left of the life has passed since its
        last fact was created. None: where the trace puts it.

    Raises
    ------
    DeermemEvalError
        The recency is outside 0..1.
    """
    if recency is None:
        return trace.places(NEED)
    check_recency(recency)
    if recency == 0:
        return np.full(len(trace.needs), len(trace.kinds), dtype=np.int64)
    at = need_times(trace, recency)
    return np.asarray(np.searchsorted(trace.times, at, side="right"), dtype=np.int64)


def need_times(trace: Trace, recency: float | None) -> Floats:
    """Return when each need comes, in seconds since 1970, shape (needs,); see `need_places`."""
    if recency is None:
        return np.asarray(trace.times[trace.places(NEED)])
    check_recency(recency)
    created, end = trace.created, trace.times[-1]
    last = np.array([created[list(need.facts)].max() for need in trace.needs])
    return np.asarray(last + (1 - recency) * (end - last))
