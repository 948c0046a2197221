"""The batch: notebooks executed side by side, each in a process of its own.

A process that is ended from outside is a failure of its notebook and of no other; an interruption ends
them all, and no kernel is left behind.
"""

import logging
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import refuse_unwritable
from deermem_eval.report.execution import NotebookOutcome, execute
from deermem_eval.report.notebooks import NotebookTask


def run_notebooks(
    tasks: Sequence[NotebookTask], executed_dir: Path, *, workers: int = 2
) -> tuple[NotebookOutcome, ...]:
    """Execute notebooks, `workers` at a time, with a progress bar each on a terminal.

    Parameters
    ----------
    tasks : sequence of NotebookTask
        One that is to run after another begins when that one is done, and fails if it failed.
    executed_dir : Path
        Where the executed notebooks go: `{name}.ipynb`, or `{name}.failed.ipynb` with all that
        was executed before the failure. An earlier success is never replaced by a failure.
    workers : int
        Processes, at least 1.

    Returns
    -------
    tuple of NotebookOutcome
        In the order of the tasks.

    Raises
    ------
    DeermemEvalError
        The folder cannot be written, or an executed notebook would replace its own source.
    """
    for task in tasks:
        if (executed_dir / task.path.name).resolve() == task.path.resolve():
            raise DeermemEvalError(
                f"the executed {task.path.name} would replace its source in {executed_dir}; name "
                "another output directory"
            )
    if tasks:
        refuse_unwritable(executed_dir)
    context: Any = get_context("spawn")
    terminal = context.RLock()
    outcomes: dict[int, NotebookOutcome] = {}
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    waiting = list(enumerate(tasks))
    unfinished = {task.name for task in tasks}
    try:
        while waiting or running:
            startable = [one for one in waiting if one[1].after not in unfinished]
            for place, task in startable[: workers - len(running)]:
                waiting.remove((place, task))
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=_work, args=(sender, terminal, task, executed_dir, place), daemon=True
                )
                with _interrupts_ignored():  # by the new process, which inherits it
                    process.start()
                sender.close()
                running[receiver] = (place, process)
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                place, process = running.pop(ready)
                outcomes[place] = _received(ready, tasks[place], executed_dir)
                process.join()
                name = tasks[place].name
                unfinished.remove(name)
                if not outcomes[place].failure:
                    continue
                for later, task in [one for one in waiting if one[1].after == name]:
                    waiting.remove((later, task))
                    reason = f"{name} failed, whose answers it shows"
                    outcomes[later] = NotebookOutcome(task.name, executed_dir, reason)
    finally:
        with _interrupts_ignored():
            for _, process in running.values():
                process.terminate()
                process.join()
        if sys.stderr.isatty():
            print(
                end="\r", file=sys.stderr, flush=True
            )  # the bars leave the cursor at a line's end
    return tuple(outcomes[place] for place in range(len(tasks)))


def _work(
    sender: Connection, terminal: Any, task: NotebookTask, executed_dir: Path, position: int
) -> None:
    """Execute a notebook and send what became of it; runs in a process of its own."""
    from tqdm import tqdm

    tqdm.set_lock(terminal)  # the bars of several processes take turns
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    try:
        outcome = execute(task, executed_dir, position)
    except Exception as error:  # noqa: BLE001 (whatever it is, the others go on)
        refused = isinstance(error, DeermemEvalError)
        reason = str(error) if refused else f"{type(error).__name__}: {error}"
        outcome = NotebookOutcome(task.name, executed_dir, reason, refused)
    sender.send(outcome)


def _received(receiver: Connection, task: NotebookTask, executed_dir: Path) -> NotebookOutcome:
    try:
        outcome = receiver.recv()
    except EOFError:
        return NotebookOutcome(
            task.name, executed_dir, "its process was ended from outside; run it again"
        )
    assert isinstance(outcome, NotebookOutcome)
    return outcome


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C for a moment; only the main thread can, and only it is interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
