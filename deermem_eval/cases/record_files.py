"""Record files: where a protocol's records come from, a data set or a table of facts."""

from collections.abc import Callable
from pathlib import Path

from deermem_eval.cases.longmemeval import read_rows, record_of
from deermem_eval.cases.records import Record, read_records, with_details
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol import Protocol
from deermem_eval.protocol.details import Details


def dataset_file(protocol: Protocol, dataset: Path | None = None) -> Path | None:
    """Return the data set named, else the one in the protocol's folder; None if there is none."""
    if dataset is not None:
        return dataset
    path = protocol.folder / protocol.config.dataset.filename
    return path if path.is_file() else None


def records_file(protocol: Protocol, dataset: Path | None = None) -> Path:
    """Return the file that records come from: the `dataset_file()`, else `records.csv`.

    Raises
    ------
    DeermemEvalError
        There is neither.
    """
    path = dataset_file(protocol, dataset) or protocol.folder / "records.csv"
    if dataset is None and not path.is_file():
        raise DeermemEvalError(
            f"protocol {protocol.folder} has no records.csv, so its pools need the data set "
            f"{protocol.config.dataset.filename}; name it with --dataset, or put it into that folder"
        )
    return path


def load_records(protocol: Protocol, dataset: Path | None = None) -> tuple[Record, ...]:
    """Return the records of a protocol, from its `records_file()`.

    Raises
    ------
    DeermemEvalError
        There is none; or it is not the pinned one, or malformed.
    """
    return record_source(protocol, dataset)(protocol.details)


def record_source(
    protocol: Protocol, dataset: Path | None = None
) -> Callable[[Details], tuple[Record, ...]]:
    """Read a protocol's `records_file()` once, and return what renders its records.

    Returns
    -------
    callable
        From details to records.

    Raises
    ------
    DeermemEvalError
        There is no such file; or it is not the pinned one, or malformed.
    """
    path = dataset_file(protocol, dataset)
    if path is None:
        records = read_records(records_file(protocol))
        return lambda details: tuple(with_details(record, details) for record in records)
    rows = read_rows(path, protocol.config.dataset.sha256)
    return lambda details: tuple(record_of(row, details) for row in rows)
