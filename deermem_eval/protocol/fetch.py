"""Fetch: the texts behind a protocol of facts, each file checked before it is kept.

Promises: a file under its final name is always the pinned one, whole; what is there already is neither
asked for nor written again; an interrupted fetch keeps the files that it had finished.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import refuse_unwritable, sha256_hex, write_file
from deermem_eval.places import resolved
from deermem_eval.protocol.config import Dataset
from deermem_eval.protocol.download import NotThereError, download
from deermem_eval.protocol.hub import cached_dataset, download_dataset
from deermem_eval.protocol.protocol import Protocol, load_protocol
from deermem_eval.protocol.sources import PUBLISHED, Source, read_sources
from deermem_eval.reading import read_bytes

UPSTREAM_URL = "https://raw.githubusercontent.com/bytedance/deer-flow"
UPSTREAM_VARIABLE = "DEERMEM_EVAL_UPSTREAM_URL"
UPSTREAM_REVISIONS = ("v2.1.0", "main")
UPSTREAM_FOLDER = "backend/scripts/benchmark/deermem_eviction"
UPSTREAM_BYTES_LIMIT = 5_000_000


@dataclass(frozen=True)
class FetchedFile:
    """A file that is there now, and where it came from (in words)."""

    path: Path
    origin: str


def fetch_protocol(
    protocol: Protocol,
    cache_dir: Path,
    *,
    dataset: Path | None = None,
    upstream: Path | None = None,
    upstream_url: str = UPSTREAM_URL,
    say: Callable[[str], None] = lambda message: None,
) -> Iterator[FetchedFile]:
    """Bring the upstream files and the data set of a protocol into `cache_dir/<name>`.

    The folder is then a complete protocol: `load_protocol()` takes it.

    Parameters
    ----------
    protocol : Protocol
        One with a `sources.csv`.
    cache_dir : Path
    dataset : Path, optional
        A local copy of the data set, instead of the Hugging Face Hub.
    upstream : Path, optional
        A local copy of deer-flow's `deermem_eviction/`, instead of its repository.
    upstream_url : str
        What stands before `/{revision}/backend/...` in the addresses of that repository's files.
    say : callable
        Is told what is about to happen, where it can take long.

    Yields
    ------
    FetchedFile
        As soon as each is there.

    Raises
    ------
    DeermemEvalError
        A file cannot be had or stored, or is not the pinned one; those before it are kept.
    """
    sources = read_sources(protocol)
    if not sources:
        raise DeermemEvalError(
            f"protocol {protocol.name} is complete as it is; there is nothing to fetch"
        )
    folder = fetched_folder(protocol, cache_dir)
    if resolved(folder) == resolved(protocol.folder):
        raise DeermemEvalError(
            f"{folder} is the folder of the facts themselves; name another --cache-dir"
        )
    with sole_fetcher(cache_dir):
        for source in sources:
            path = folder / source.path
            if is_there(path, source.sha256):
                yield FetchedFile(path, "there already")
                continue
            content, origin = _upstream_file(source, upstream, upstream_url)
            write_file(path, content)
            yield FetchedFile(path, origin)
        pinned = protocol.config.dataset
        path = folder / pinned.filename
        if is_there(path, pinned.sha256):
            yield FetchedFile(path, "there already")
        else:
            content, origin = _dataset_file(pinned, cache_dir, dataset, say)
            write_file(path, content)
            yield FetchedFile(path, origin)
        load_protocol(folder)  # refuses what else lies in the way there


def fetched_folder(protocol: Protocol, cache_dir: Path) -> Path:
    """Return the folder that the texts of a protocol are fetched into."""
    return cache_dir / protocol.name


def with_fetched_texts(protocol: Protocol, cache_dir: Path) -> Protocol:
    """Return the complete protocol that was fetched, or the one given where nothing was.

    The data set is hashed when it is read, like any other.

    Raises
    ------
    DeermemEvalError
        A fetched file is not the pinned one any more.
    """
    folder = fetched_folder(protocol, cache_dir)
    sources = read_sources(protocol)
    wanted = [source for source in sources if source.artifact != PUBLISHED]
    if not wanted or not all((folder / source.path).is_file() for source in wanted):
        return protocol
    for source in wanted:
        if not is_there(folder / source.path, source.sha256):
            raise DeermemEvalError(
                f"{folder / source.path} is not the pinned file; run `deermem-eval fetch "
                f"{protocol.name}` again"
            )
    return load_protocol(folder)


@contextmanager
def sole_fetcher(cache_dir: Path) -> Iterator[None]:
    """Keep a second fetch out, and clear away what a killed one has left."""
    from filelock import FileLock, Timeout

    refuse_unwritable(cache_dir)
    lock = FileLock(cache_dir / ".fetch.lock", timeout=0)
    try:
        with lock:
            for left in cache_dir.glob(".*.partial"):
                shutil.rmtree(left, ignore_errors=True)
            yield
    except Timeout as error:
        raise DeermemEvalError(
            f"another fetch is at work in {cache_dir}; wait for it, or name another --cache-dir"
        ) from error


def _dataset_file(
    pinned: Dataset, cache_dir: Path, dataset: Path | None, say: Callable[[str], None]
) -> tuple[bytes, str]:
    if dataset is not None:
        content, origin = read_bytes(dataset, "data set"), f"copied from {dataset}"
        refuse_other_hash(content, pinned.sha256, origin, "name the pinned file with --dataset")
        return content, origin
    cached = cached_dataset(pinned)
    if cached is not None and sha256_hex(cached) == pinned.sha256:
        return cached, "from the cache of the Hugging Face Hub's client"
    say(f"asking the Hugging Face Hub for {pinned.filename}; without a network this takes a while")
    content, origin = download_dataset(pinned, cache_dir), "from the Hugging Face Hub"
    refuse_other_hash(content, pinned.sha256, origin, "name the pinned file with --dataset")
    return content, origin


def is_there(path: Path, sha256: str) -> bool:
    """Whether a file is there, and is the pinned one."""
    return path.is_file() and sha256_hex(read_bytes(path, "fetched file")) == sha256


def _upstream_file(source: Source, upstream: Path | None, upstream_url: str) -> tuple[bytes, str]:
    remedy = (
        f"set {UPSTREAM_VARIABLE} to a mirror, or name a local copy with --upstream (and --dataset)"
    )
    if upstream is not None:
        path = upstream / source.path
        content = read_bytes(path, "upstream file", limit=UPSTREAM_BYTES_LIMIT)
        origin = f"copied from {path}"
        refuse_other_hash(content, source.sha256, origin, "name a copy of v2.1.0 with --upstream")
        return content, origin
    problem: DeermemEvalError | None = None
    for revision in UPSTREAM_REVISIONS:
        url = f"{upstream_url.rstrip('/')}/{revision}/{UPSTREAM_FOLDER}/{source.path}"
        try:
            content = download(url, limit=UPSTREAM_BYTES_LIMIT, remedy=remedy)
            refuse_other_hash(content, source.sha256, f"from {url}", remedy)
        except (NotThereError, WrongHashError) as error:  # the other revision may have it
            problem = problem or error
        else:
            return content, f"from {url}"
    raise DeermemEvalError(f"{problem} (nor is it at {UPSTREAM_REVISIONS[-1]})") from problem


class WrongHashError(DeermemEvalError):
    """What was brought is not what is pinned."""


def refuse_other_hash(content: bytes, sha256: str, origin: str, remedy: str) -> None:
    """Raise `WrongHashError` where what was brought is not what is pinned."""
    actual = sha256_hex(content)
    if actual != sha256:
        raise WrongHashError(
            f"{origin} comes a file with SHA-256 {actual}, and {sha256} is pinned; it was not "
            f"kept; {remedy}"
        )
