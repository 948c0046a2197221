"""The batch: notebooks executed by Papermill, each in a process of its own, published atomically.

Two runs with the same parameters give the same bytes: what changes from run to run is stripped.
"""

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import write_file
from deermem_eval.places import shipped_folder
from deermem_eval.report.parameters import notebook_parameters, refuse_bad_study, typed_value

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
        Names (`02_retention`) or paths of notebooks; empty: all shipped ones.
    parameters : mapping
        Values by name. A notebook gets those that it declares; each must be declared by one.
    where_declared : mapping, optional
        Further values, which no notebook need declare.

    Raises
    ------
    DeermemEvalError
        A notebook or a parameter is unknown, or a value is unacceptable.
    """
    paths = [_notebook_path(name) for name in names] or list(shipped_notebooks().values())
    declared = {path: notebook_parameters(path) for path in paths}
    known = sorted({name for of_one in declared.values() for name in of_one})
    for name in parameters:
        if name not in known:
            raise DeermemEvalError(
                f"parameter {name!r} is declared by none of "
                f"{', '.join(path.stem for path in paths)}; they know {', '.join(known)}"
            )
    values = {**(where_declared or {}), **parameters}
    tasks = tuple(
        NotebookTask(
            path.stem,
            path,
            {
                name: typed_value(name, parameter.type_name, values[name])
                for name, parameter in declared[path].items()
                if name in values
            },
        )
        for path in paths
    )
    for task in tasks:
        defaults = {name: known.default for name, known in declared[task.path].items()}
        if "protocol" in defaults:
            refuse_bad_study(defaults | task.parameters)
    return tasks


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
    with ProcessPoolExecutor(min(workers, len(tasks)), get_context("spawn")) as pool:
        futures = [
            pool.submit(_execute, task, executed_dir, place) for place, task in enumerate(tasks)
        ]
        try:
            return tuple(future.result() for future in futures)
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
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
        for key in VOLATILE_CELL_METADATA:
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell["outputs"] = _joined_streams(cell.outputs)
            for output in cell.outputs:
                _mask_addresses(output)
    return notebook


def _notebook_path(name: str) -> Path:
    shipped = shipped_notebooks()
    path = shipped.get(name.removesuffix(".ipynb")) or Path(name).expanduser().absolute()
    if not path.is_file():
        raise DeermemEvalError(
            f"notebook {name!r} is neither one of {', '.join(shipped)} nor a file"
        )
    return path


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
                executed,
                parameters=task.parameters,
                # a bar a notebook, and none where stderr is no terminal
                progress_bar={"desc": task.name, "position": position, "disable": None},
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
