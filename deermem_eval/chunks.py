"""One function over many chunks: in this process, in several, or on a Dask cluster.

Promises: results come in the order of the chunks and do not depend on the way; a worker that dies
costs no chunk; an error of the function is raised as it is; workers started here end with the call,
also when it is interrupted or this process is killed.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from deermem_eval.errors import DeermemEvalError

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

LOCAL = "local"
"""The scheduler that is a Dask cluster of this machine, started for one call."""
ATTEMPTS = 3
"""Worker processes that one chunk may end before it is given up."""
CONNECT_SECONDS = 10.0


def map_chunks(
    function: Callable[[Chunk], Result],
    chunks: Sequence[Chunk],
    *,
    workers: int = 1,
    scheduler: str = "",
) -> list[Result]:
    """Return what a function makes of each chunk, in the order of the chunks.

    Parameters
    ----------
    function : callable
        Of one chunk. Beyond this process it is pickled, as are chunks and results: a function of a
        module, or a `functools.partial` of one. A chunk is worth a second or so of work.
    chunks : sequence
    workers : int
        Processes, from 1, never more than chunks; one and no scheduler: this process.
    scheduler : str
        Address of a Dask scheduler (`tcp://host:8786`), whose workers have this package installed;
        `local`: a Dask cluster of `workers` processes for this call. Empty: no Dask.

    Raises
    ------
    DeermemEvalError
        There is no worker, or both a scheduler's and ours are asked for; Dask is not installed; the
        scheduler cannot be reached, has no workers or is lost; a chunk ends every process it is
        given to.

    Notes
    -----
    A worker started here imports the script that runs, which therefore calls this only below
    `if __name__ == "__main__":`. A notebook may call it anywhere.
    """
    if workers < 1:
        raise DeermemEvalError(f"workers is {workers}, and must be at least 1")
    if workers > 1 and scheduler not in ("", LOCAL):
        raise DeermemEvalError(
            f"workers is {workers}, and the scheduler {scheduler} has its own; give one of the two"
        )
    processes = min(workers, len(chunks))
    if scheduler and chunks:
        return _on_dask(function, chunks, processes, scheduler)
    if processes > 1:
        return _in_processes(function, chunks, processes)
    return [function(chunk) for chunk in chunks]


def _in_processes(
    function: Callable[[Chunk], Result], chunks: Sequence[Chunk], workers: int
) -> list[Result]:
    results: dict[int, Result] = {}
    while left := [place for place in range(len(chunks)) if place not in results]:
        results |= _from_one_pool(function, chunks, left, workers)
        suspect = next((place for place in left if place not in results), None)
        if suspect is None:
            break
        # Alone in its pool: a process that ends now has ended of this chunk, and of no other.
        for _ in range(ATTEMPTS):
            results |= _from_one_pool(function, chunks, [suspect], 1)
            if suspect in results:
                break
        else:
            raise _given_up(suspect, len(chunks), f"alone in a process, {ATTEMPTS} times")
    return [results[place] for place in range(len(chunks))]


def _from_one_pool(
    function: Callable[[Chunk], Result], chunks: Sequence[Chunk], places: list[int], workers: int
) -> dict[int, Result]:
    """Return the results by place, all of them or those that were there when a worker died."""
    context = get_context("spawn")
    read_end, held_end = context.Pipe(duplex=False)
    results: dict[int, Result] = {}
    pool = ProcessPoolExecutor(
        min(workers, len(places)),
        mp_context=context,
        initializer=_end_when_closed,
        initargs=(read_end,),
    )
    try:
        with _workers_deaf_to_interrupts():
            futures = {place: pool.submit(function, chunks[place]) for place in places}
        for place, future in futures.items():
            with suppress(BrokenProcessPool):
                results[place] = future.result()
    except BrokenProcessPool:  # of submit()
        pass
    except BaseException:
        held_end.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        held_end.close()
        read_end.close()
    return results


def _end_when_closed(read_end: Connection) -> None:
    """End this worker as soon as the process that started it closes its end of a pipe, or is gone."""

    def watch() -> None:
        with suppress(OSError, EOFError):
            read_end.recv_bytes()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _workers_deaf_to_interrupts() -> Iterator[None]:
    """Start processes that leave Ctrl-C, which the terminal sends to all, to the one that waits."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _on_dask(
    function: Callable[[Chunk], Result], chunks: Sequence[Chunk], workers: int, scheduler: str
) -> list[Result]:
    try:
        dask: Any = import_module("dask")
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise DeermemEvalError(
            f"a scheduler needs Dask, which cannot be imported ({error}); "
            "pip install 'deermem-eval[distributed]'"
        ) from error
    results: list[Result] = []
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}),
        distributed.utils.silence_logging_cmgr(logging.CRITICAL),
        _client(distributed, workers, scheduler) as client,
    ):
        try:
            for future in client.map(function, chunks, pure=False):
                results.append(future.result())
        except distributed.KilledWorker as error:
            times = f"in {error.allowed_failures + 1} workers of scheduler {scheduler}"
            raise _given_up(len(results), len(chunks), times) from error
        except CancelledError as error:
            raise DeermemEvalError(
                f"scheduler {scheduler} was lost at chunk {len(results) + 1} of {len(chunks)}; "
                "start again when it is back"
            ) from error
    return results


@contextmanager
def _client(distributed: Any, workers: int, scheduler: str) -> Iterator[Any]:
    """Give a client of a local cluster, or of a scheduler that has workers."""
    if scheduler == LOCAL:
        with _workers_deaf_to_interrupts():
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",  # without one it would take 8787 of every interface
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
            )
        with cluster, distributed.Client(cluster, set_as_default=False) as client:
            yield client
        return
    try:
        with ThreadPoolExecutor(1) as thread:  # a notebook's own thread runs a loop already
            thread.submit(asyncio.run, _greet(distributed, scheduler)).result()
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:  # anything may answer at an address
        timed_out = isinstance(error, TimeoutError)
        problem = f"no answer in {CONNECT_SECONDS:g} s" if timed_out else error
        raise DeermemEvalError(
            f"scheduler {scheduler} cannot be reached ({problem}); give {LOCAL}, or the address "
            "of a running `dask scheduler`, such as tcp://127.0.0.1:8786"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise DeermemEvalError(
                f"scheduler {scheduler} has no workers; start some with `dask worker {scheduler}`"
            ) from error
        yield client


async def _greet(distributed: Any, scheduler: str) -> None:
    """Shake hands with a scheduler; `Client` alone would wait for a silent one for ever."""
    as_client = distributed.Security().get_connection_args("client")
    async with asyncio.timeout(CONNECT_SECONDS):
        comm = await distributed.comm.connect(scheduler, timeout=CONNECT_SECONDS, **as_client)
        await comm.close()


def _given_up(place: int, chunks: int, times: str) -> DeermemEvalError:
    return DeermemEvalError(
        f"chunk {place + 1} of {chunks} ended its worker {times}; look at the memory it needs, "
        "guard the script's own calls with `if __name__ == '__main__':`, or use one worker here"
    )
