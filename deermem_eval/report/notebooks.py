"""The batch: notebooks executed by Papermill, each in a process of its own, published atomically.

Two runs with the same parameters give the same bytes: what changes from run to run is stripped.
"""

import json
import logging
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import write_file
from deermem_eval.places import expanded, shipped_folder
from deermem_eval.report.parameters import (
    format_proof,
    has_outcomes,
    notebook_parameters,
    refuse_bad_study,
    typed_value,
)

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
TERMINAL_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FAILING_LINE = re.compile(r"^-+> \d+ (.*)$", re.MULTILINE)
VOLATILE_CELL_METADATA = ("execution", "papermill", "ExecuteTime", "collapsed", "scrolled")


@dataclass(frozen=True)
class NotebookTask:
    """A notebook to execute, with the parameters that it declares and is given."""

    name: str
    path: Path
    parameters: dict[str, Any]


@dataclass(frozen=True)
class NotebookOutcome:
    """What became of a task.

    Attributes
    ----------
    name : str
    path : Path
        The executed notebook; `{name}.failed.ipynb` if a cell failed.
    failure : str
        Empty, or the failing cell and its error.
    refused : bool
        Whether the failure is a refusal (`DeermemEvalError`), and no fault of the notebook.
    """

    name: str
    path: Path
    failure: str = ""
    refused: bool = False


def shipped_notebooks() -> dict[str, Path]:
    """Return the numbered notebooks by name, in order."""
    return {path.stem: path for path in sorted(shipped_folder("notebooks").glob("[0-9]*.ipynb"))}


def plan_notebooks(
    names: Sequence[str],
    parameters: Mapping[str, Any],
    *,
    where_declared: Mapping[str, Any] | None = None,
) -> tuple[NotebookTask, ...]:
    """Decide which notebooks run with which parameters; no kernel starts.

    Parameters
    ----------
    names : sequence of str
        Names (`02_retention`) or paths of notebooks; empty: all shipped ones, except those that
        show graded runs where the protocol has none (no `outcomes.csv`).
    parameters : mapping
        Values by name. A notebook gets those that it declares; each must be declared by one.
    where_declared : mapping, optional
        Further values, which no notebook need declare.

    Raises
    ------
    DeermemEvalError
        A notebook or a parameter is unknown, or a value is unacceptable.
    """
    paths = list(dict.fromkeys(map(_notebook_path, names))) or list(shipped_notebooks().values())
    stems = [path.stem for path in paths]
    for stem in stems:
        if stems.count(stem) > 1:
            raise DeermemEvalError(f"two notebooks are called {stem}; execute them one by one")
    declared = {path: notebook_parameters(path) for path in paths}
    known = sorted({name for of_one in declared.values() for name in of_one})
    for name in parameters:
        if name not in known:
            raise DeermemEvalError(
                f"parameter {name!r} is declared by none of "
                f"{', '.join(stems)}; they know {', '.join(known)}"
            )
    given = {**(where_declared or {}), **parameters}
    tasks = []
    for path, of_one in declared.items():
        values = {
            name: typed_value(name, parameter.type_name, given[name])
            for name, parameter in of_one.items()
            if name in given
        }
        every = {name: parameter.default for name, parameter in of_one.items()} | values
        if not names and "run" in every and not has_outcomes(every["protocol"]):
            continue
        if "protocol" in every:
            _refuse_bad_study(path.stem, every)
        tasks.append(NotebookTask(path.stem, path, values))
    return tuple(tasks)


def run_notebooks(
    tasks: Sequence[NotebookTask], executed_dir: Path, *, workers: int = 2
) -> tuple[NotebookOutcome, ...]:
    """Execute notebooks, `workers` at a time, with a progress bar each on a terminal.

    Parameters
    ----------
    tasks : sequence of NotebookTask
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
        The folder cannot be written.
    """
    if not tasks:
        return ()
    context = get_context("spawn")
    with ProcessPoolExecutor(
        min(workers, len(tasks)),
        context,
        initializer=_share_terminal,
        initargs=(context.RLock(),),
    ) as pool:
        futures = [
            pool.submit(_execute, task, executed_dir, place) for place, task in enumerate(tasks)
        ]
        try:
            return tuple(
                _result(future, task, executed_dir)
                for future, task in zip(futures, tasks, strict=True)
            )
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)  # those that have not begun
            raise


def normalised(notebook: Any) -> Any:
    """Strip from an executed notebook what differs between two runs, in place, and return it.

    Timings, Papermill's records, versions of the language, random cell ids and memory addresses
    go; neighbouring pieces of one output stream are joined.
    """
    notebook.metadata.pop("papermill", None)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
        for key in VOLATILE_CELL_METADATA:
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell["outputs"] = _joined_streams(cell.outputs)
            for output in cell.outputs:
                _mask_addresses(output)
    return notebook


def _refuse_bad_study(name: str, parameters: Mapping[str, Any]) -> None:
    try:
        refuse_bad_study(parameters)
    except DeermemEvalError as error:
        raise DeermemEvalError(f"notebook {name}: {error}") from error


def _notebook_path(name: str) -> Path:
    shipped = shipped_notebooks()
    path = shipped.get(name.removesuffix(".ipynb")) or expanded(Path(name)).absolute()
    if not path.is_file():
        raise DeermemEvalError(
            f"notebook {name!r} is neither one of {', '.join(shipped)} nor a file"
        )
    return path


def _result(
    future: Future[NotebookOutcome], task: NotebookTask, executed_dir: Path
) -> NotebookOutcome:
    try:
        return future.result()
    except BrokenProcessPool:
        return NotebookOutcome(
            task.name, executed_dir, "its process was ended from outside; run it again"
        )


def _share_terminal(lock: Any) -> None:
    """Let the bars of several processes take turns; keep the event loop's log off the terminal."""
    from tqdm import tqdm

    tqdm.set_lock(lock)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)


def _execute(task: NotebookTask, executed_dir: Path, position: int) -> NotebookOutcome:
    """Execute one notebook in this process; runs in a worker."""
    import nbformat
    from papermill.exceptions import PapermillExecutionError
    from papermill.execute import execute_notebook
    from traitlets.config import Config

    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the kernel warns on its stderr
    failure, refused = "", False
    with tempfile.TemporaryDirectory(prefix="deermem-eval-") as folder:
        executed = Path(folder) / "notebook.ipynb"
        try:
            execute_notebook(
                nbformat.read(task.path, as_version=4),
                format_proof(executed),
                parameters=task.parameters,
                # a bar a notebook while it runs, and none where stderr is no terminal
                progress_bar={
                    "desc": task.name,
                    "position": position,
                    "leave": False,
                    "disable": None,
                },
                # the kernel's loopback sockets are encrypted where the kernel knows how
                config=Config({"KernelManager": {"transport_encryption": "auto"}}),
                # what matters of a kernel's log comes back as the outcome
                extra_arguments=["--IPKernelApp.log_level=CRITICAL"],
            )
        except PapermillExecutionError as error:
            failure = f"cell {error.exec_count}: {error.ename}: {error.evalue or _line(error)}"
            refused = error.ename == DeermemEvalError.__name__
        except Exception as error:  # noqa: BLE001 (a dead kernel, say: the others go on)
            failure = f"{type(error).__name__}: {error}"
        target = executed_dir / f"{task.name}.ipynb"
        failed = target.with_suffix(".failed.ipynb")
        if executed.is_file():
            content = _notebook_bytes(nbformat.read(executed, as_version=4))
            write_file(failed if failure else target, content)
    if not failure:
        failed.unlink(missing_ok=True)
    return NotebookOutcome(
        task.name, failed if failure else target, " ".join(failure.split()), refused
    )


def _line(error: Any) -> str:
    """Return the line of the cell at which an error without a message arose."""
    plain = TERMINAL_COLOUR.sub("", "\n".join(error.traceback))
    pointed = FAILING_LINE.findall(plain)
    return str(pointed[0]).strip() if pointed else ""


def _notebook_bytes(notebook: Any) -> bytes:
    return (json.dumps(normalised(notebook), ensure_ascii=False, indent=1) + "\n").encode()


def _joined_streams(outputs: Sequence[Any]) -> list[Any]:
    joined: list[Any] = []
    for output in outputs:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.output_type == output.output_type == "stream"
            and before.name == output.name
        ):
            before["text"] += output.text
        else:
            joined.append(output)
    return joined


def _mask_addresses(output: Any) -> None:
    if output.output_type == "stream":
        output["text"] = ADDRESS.sub("0x0", output.text)
    for mime, value in output.get("data", {}).items():
        if mime.startswith("text/") and isinstance(value, str):
            output["data"][mime] = ADDRESS.sub("0x0", value)
