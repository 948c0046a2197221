"""Trace files: one event a line in JSONL, or one a row in Parquet; read life by life.

The schema of an event is `event.schema.json`, beside this file. Each event has `time` (ISO 8601), `event` and, where a file holds several lives, `life`; the events of
a life stand together. Beside these:

- `create`: `fact` (an id), and optionally `category` (`correction` counts), `confidence` in [0, 1], and
  `corrects` (the id of an earlier fact);
- `access`: `fact`, a search hit;
- `confirm`: `fact`, and optionally `probability` in [0, 1] with which it happens;
- `need`: `facts` (ids that a question rests on), and optionally its `kind`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import write_file
from deermem_eval.traces.trace import EVENTS, NEED, Trace, TraceBuilder, text_of

LINE_BYTES_LIMIT = 1_000_000
PARQUET = ".parquet"


def read_traces(path: Path) -> Iterator[Trace]:
    """Yield the lives of a trace file, one at a time.

    Raises
    ------
    DeermemEvalError
        The file cannot be read, or an event cannot be: its line (in Parquet its row) and the reason
        are named.
    """
    builder: TraceBuilder | None = None
    done: set[str] = set()
    for number, event in _rows(path):
        what = "row" if path.suffix == PARQUET else "line"
        try:
            life = text_of(event.get("life", path.stem), "life")
            if builder is None or builder.life != life:
                if life in done:
                    raise ValueError(f"life {life!r} begins again; keep its events together")
                if builder is not None:
                    yield builder.trace()
                done.add(life)
                builder = TraceBuilder(life)
            builder.add(event)
        except ValueError as error:
            raise DeermemEvalError(f"trace {path}, {what} {number}: {error}") from error
    if builder is None:
        raise DeermemEvalError(f"trace {path} holds no event; name another file")
    yield builder.trace()


def write_traces(path: Path, traces: Iterable[Trace]) -> None:
    """Write lives as JSONL."""
    lines = [
        json.dumps(event, ensure_ascii=False) + "\n"
        for trace in traces
        for event in trace_events(trace)
    ]
    write_file(path, "".join(lines).encode())


def trace_events(trace: Trace) -> Iterator[dict[str, Any]]:
    """Yield a trace's events in the format of the files."""
    ids = trace.fact_ids
    columns = zip(trace.kinds, trace.subjects, trace.times, trace.probabilities, strict=True)
    for kind, subject, seconds, probability in columns:
        time = datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
        event: dict[str, Any] = {"life": trace.life, "time": time, "event": EVENTS[kind]}
        if kind == NEED:
            need = trace.needs[subject]
            event |= {"facts": [ids[i] for i in need.facts], "kind": need.kind}
        else:
            event["fact"] = ids[subject]
        if EVENTS[kind] == "create":
            event["category"] = trace.categories[subject]
            if trace.confidence[subject] == trace.confidence[subject]:
                event["confidence"] = float(trace.confidence[subject])
            if trace.corrects[subject] >= 0:
                event["corrects"] = ids[trace.corrects[subject]]
        if probability != 1:
            event["probability"] = float(probability)
        yield event


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not path.is_file():
        raise DeermemEvalError(f"trace {path} is no file; check the path")
    yield from _parquet_rows(path) if path.suffix == PARQUET else _json_rows(path)


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(LINE_BYTES_LIMIT):
                number += 1
                if not line.endswith(b"\n") and len(line) >= LINE_BYTES_LIMIT:
                    raise ValueError(f"it has more than {LINE_BYTES_LIMIT} bytes")
                if not line.strip():
                    continue
                row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
                if not isinstance(row, dict):
                    raise ValueError(f"it is a {type(row).__name__}, no object")  # noqa: TRY004
                yield number, row
    except (ValueError, RecursionError) as error:
        is_cut = isinstance(error, json.JSONDecodeError) and not line.endswith(b"\n")
        cut = "; the file may be cut in the middle of a line" if is_cut else ""
        raise DeermemEvalError(f"trace {path}, line {number}: {error}{cut}") from error
    except OSError as error:
        raise DeermemEvalError(f"trace {path} cannot be read: {error.strerror}") from error


def _parquet_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        pyarrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise DeermemEvalError(
            f"trace {path} is Parquet, which needs pyarrow: pip install 'deermem-eval[parquet]'"
        ) from error
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=10_000):
                for row in batch.to_pylist():
                    number += 1
                    yield number, {name: value for name, value in row.items() if value is not None}
    except (pyarrow.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise DeermemEvalError(f"trace {path} cannot be read as Parquet: {reason}") from error
