"""One notebook, executed by Papermill and published atomically, with the same bytes every time."""

import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import write_file
from deermem_eval.report.notebooks import NotebookTask
from deermem_eval.report.parameters import format_proof

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
TERMINAL_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FAILING_LINE = re.compile(r"^-+> \d+ (.*)$", re.MULTILINE)
VOLATILE_CELL_METADATA = ("execution", "papermill", "ExecuteTime", "collapsed", "scrolled")


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


def execute(task: NotebookTask, executed_dir: Path, position: int) -> NotebookOutcome:
    """Execute one notebook with Papermill and publish it.

    Parameters
    ----------
    task : NotebookTask
    executed_dir : Path
        Gets `{name}.ipynb`, or `{name}.failed.ipynb` with all that was executed before a failure.
    position : int
        Line of the progress bar, from 0.
    """
    import nbformat
    from papermill.exceptions import PapermillExecutionError
    from papermill.execute import execute_notebook
    from traitlets.config import Config

    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the kernel warns on its stderr
    os.environ.pop("PYTHONOPTIMIZE", None)  # the notebooks' asserts are their proof
    failure, refused = "", False
    with tempfile.TemporaryDirectory(prefix="deermem-eval-") as folder:
        executed = Path(folder) / "notebook.ipynb"
        try:
            done = execute_notebook(
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
            failure = _unexecuted(done)
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


def _unexecuted(notebook: Any) -> str:
    """Name the cell at which a notebook stopped without an error, as `sys.exit()` makes it do."""
    for number, cell in enumerate(c for c in notebook.cells if c.cell_type == "code"):
        stopped = any(output.get("ename") == "SystemExit" for output in cell.outputs)
        if stopped or (cell.source.strip() and cell.execution_count is None):
            return f"code cell {number + 1} ended the notebook, and the rest was not executed"
    return ""


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
