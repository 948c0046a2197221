"""Notebooks to execute: which ones, with which parameters; decided before a kernel starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.places import expanded, shipped_folder
from deermem_eval.report.parameters import (
    can_be_shown,
    notebook_parameters,
    refuse_bad_study,
    shows_own_answers,
    typed_value,
)


@dataclass(frozen=True)
class NotebookTask:
    """A notebook to execute.

    Attributes
    ----------
    name : str
    path : Path
    parameters : dict
        Those that it declares and is given.
    after : str
        Name of the task that makes what this one shows; empty if it waits for none.
    """

    name: str
    path: Path
    parameters: dict[str, Any]
    after: str = ""


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
        Names (`02_retention`) or paths of notebooks; empty: all shipped ones, except those for which
        the protocol lacks texts or a graded run, and those on traces with another protocol than
        their own, because they would only say the same again.
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
    given = {"interactive": False, **(where_declared or {}), **parameters}  # nobody moves a slider
    values = {
        path: {
            name: typed_value(name, parameter.type_name, given[name])
            for name, parameter in of_one.items()
            if name in given
        }
        for path, of_one in declared.items()
    }
    every = {
        path: {name: parameter.default for name, parameter in of_one.items()} | values[path]
        for path, of_one in declared.items()
    }
    answering = [
        path.stem for path, of in every.items() if "provider" in of and not of.get("run_dir")
    ]
    tasks = []
    for path, of_one in every.items():
        after = answering[0] if answering and shows_own_answers(of_one) else ""
        if after:
            of_one["run"] = None  # it is not there yet
        if not names and "protocol" in of_one:
            is_own = of_one["protocol"] == declared[path]["protocol"].default
            if not can_be_shown(of_one) or ("trace" in of_one and not is_own):
                continue
        if "protocol" in of_one:
            _refuse_bad_study(path.stem, of_one)
        tasks.append(NotebookTask(path.stem, path, values[path], after))
    return tuple(tasks)


def _refuse_bad_study(name: str, parameters: Mapping[str, Any]) -> None:
    try:
        refuse_bad_study(parameters)
    except DeermemEvalError as error:
        raise DeermemEvalError(f"notebook {name}: {error}") from error
    except (TypeError, AttributeError) as error:
        raise DeermemEvalError(
            f"notebook {name}: a parameter of a shared name has another type than in our notebooks "
            f"({error}); rename it"
        ) from error


def _notebook_path(name: str) -> Path:
    shipped = shipped_notebooks()
    path = expanded(Path(name)).absolute()
    if not path.is_file():  # a user's own notebook comes before ours of the same name
        path = shipped.get(name.removesuffix(".ipynb"), path)
    if not path.is_file():
        raise DeermemEvalError(
            f"notebook {name!r} is neither one of {', '.join(shipped)} nor a file"
        )
    return path
