"""Where a study's tables, executed notebooks and page go."""

from dataclasses import dataclass
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import read_runs
from deermem_eval.grades.study import OUTCOMES
from deermem_eval.places import working_path
from deermem_eval.protocol import Protocol

RUN_MARKERS = ("run.json", "qa_run.json")


@dataclass(frozen=True)
class StudyFolders:
    """Folders for tables and figures, for executed notebooks, and for the page."""

    results: Path
    executed: Path
    page: Path


def study_folders(
    protocol: Protocol, output_dir: str | Path = "", *, is_changed: bool = False
) -> StudyFolders:
    """Return the folders of a study; nothing is made yet.

    Parameters
    ----------
    protocol : Protocol
    output_dir : str or Path
        Holds everything, if it is given; relative as in `deermem_eval.places.working_path`.
        Empty: `results/<protocol>` holds the tables of a shipped protocol, which are committed, and
        `results/runs/`, which is not, all the rest.
    is_changed : bool
        Whether parameters other than the protocol's are in use: then `results/<protocol>` stays as
        it is, and `results/runs/<protocol>-changed` takes everything.

    Raises
    ------
    DeermemEvalError
        The folder for the tables is a file, or holds a run: runs are never mixed with results.
    """
    runs = Path("results/runs")
    if not output_dir and protocol.is_shipped and not is_changed:
        folders = StudyFolders(
            working_path(Path("results") / protocol.name),
            working_path(runs / "executed" / protocol.name),
            working_path(runs / "report"),
        )
    else:
        name = f"{protocol.name}-changed" if is_changed else protocol.name
        root = working_path(output_dir or runs / name)
        folders = StudyFolders(root, root / "executed", root / "page")
    _refuse_run(folders.results)
    return folders


def results_folder(output_dir: str | Path, protocol: Protocol) -> Path:
    """Return the folder for a study's tables and figures; see `study_folders`."""
    return study_folders(protocol, output_dir).results


def _refuse_run(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise DeermemEvalError(f"output directory {folder} is a file; name a folder")
    for marker in RUN_MARKERS:
        if (folder / marker).exists():
            raise DeermemEvalError(
                f"output directory {folder} already holds a run ({marker}); name another folder"
            )


def answers_folder(protocol: Protocol, output_dir: str | Path = "") -> Path:
    """Return the run directory of `04_answers`: in `output_dir` if it is given, else in `results/runs`."""
    root = working_path(output_dir or Path("results/runs"))
    return root / "answers" / protocol.name


def default_run(protocol: Protocol, output_dir: str | Path = "") -> str:
    """Return the run that `05_grades` shows unasked: the last published one, else that of `04_answers`."""
    if (protocol.folder / OUTCOMES).is_file():
        return str(read_runs(protocol.folder / "runs.csv")["run"].iloc[-1])
    return str(answers_folder(protocol, output_dir))
