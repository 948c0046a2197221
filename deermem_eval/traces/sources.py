"""Traces by name: made ones, LoCoMo, a LongMemEval file, a DeerMem store, or a file in the trace format."""

from dataclasses import dataclass
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces.files import PARQUET, read_traces
from deermem_eval.traces.generator import MADE_NAME, made_lives
from deermem_eval.traces.locomo import LOCOMO_NAME, locomo_path, read_locomo
from deermem_eval.traces.longmemeval_lives import read_longmemeval_lives
from deermem_eval.traces.signals import SignalModel, trace_of_life
from deermem_eval.traces.store_traces import read_store_traces
from deermem_eval.traces.trace import Trace

NAMES = (MADE_NAME, LOCOMO_NAME)


@dataclass(frozen=True)
class LoadedTraces:
    """Lives with needs, and what was left out.

    Attributes
    ----------
    traces : tuple of Trace
    unanswerable : int
        Questions a part of whose evidence is in no fact.
    needless : int
        Lives in which nothing is needed.
    """

    traces: tuple[Trace, ...]
    unanswerable: int
    needless: int

    def in_words(self) -> str:
        """Say how much there is, and what was left out."""
        facts = sum(len(trace.fact_ids) for trace in self.traces)
        needs = sum(len(trace.needs) for trace in self.traces)
        left = [
            f"{count} {what}"
            for count, what in (
                (self.unanswerable, "questions that lack a fact"),
                (self.needless, "lives without a need"),
            )
            if count
        ]
        out = f"; left out: {', '.join(left)}" if left else ""
        return f"{len(self.traces)} lives, {facts} facts, {needs} needs{out}"


def load_traces(name: str, cache_dir: Path, *, model: SignalModel | None = None) -> LoadedTraces:
    """Return traces by name.

    Parameters
    ----------
    name : str
        `made`; `locomo`, which `fetch` has brought; or a path: a folder is a DeerMem store, `.json`
        a LongMemEval file, `.jsonl` and `.parquet` files in the trace format.
    cache_dir : Path
        Where fetched files lie.
    model : SignalModel, optional
        Makes traces of what people said; made and stored lives have signals of their own.

    Raises
    ------
    DeermemEvalError
        There is no such trace, it cannot be read, or it holds no life with a need.
    """
    unanswerable = 0
    if name == MADE_NAME:
        traces = made_lives()
    elif name == LOCOMO_NAME:
        lives = read_locomo(locomo_path(cache_dir))
        unanswerable = sum(life.unanswerable for life in lives)
        traces = tuple(trace_of_life(life, model) for life in lives)
    else:
        traces, unanswerable = _of_path(Path(name), model)
    asked = tuple(trace for trace in traces if trace.needs)
    if not asked:
        raise DeermemEvalError(
            f"trace {name} holds no life with a need, so nothing can be met or missed; name another"
        )
    return LoadedTraces(asked, unanswerable, len(traces) - len(asked))


def _of_path(path: Path, model: SignalModel | None) -> tuple[tuple[Trace, ...], int]:
    if path.is_dir():
        return tuple(read_store_traces(path)), 0
    if path.suffix in (".jsonl", PARQUET):
        return tuple(read_traces(path)), 0
    if path.suffix == ".json":
        traces, unanswerable = [], 0
        for life in read_longmemeval_lives(path):
            unanswerable += life.unanswerable
            if life.facts:
                traces.append(trace_of_life(life, model))
        return tuple(traces), unanswerable
    raise DeermemEvalError(
        f"trace {path} is neither one of {', '.join(NAMES)}, nor a folder, nor a .json, .jsonl or "
        "Parquet file; check the path"
    )
