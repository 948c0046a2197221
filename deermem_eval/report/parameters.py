"""Notebook parameters, checked before a kernel starts."""

import warnings
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deermem_eval.answers.run_directory import ROWS
from deermem_eval.cases import case_of, load_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import load_graded_study
from deermem_eval.grades.study import OUTCOMES
from deermem_eval.places import working_path
from deermem_eval.protocol import load_protocol
from deermem_eval.reading import parse_yaml
from deermem_eval.report.folders import default_run, results_folder
from deermem_eval.selection import check_capacities, policy_settings, protocol_selector

TYPES: Mapping[str, type] = {"str": str, "int": int, "float": float, "bool": bool, "list": list}


@dataclass(frozen=True)
class Declared:
    """A parameter as a notebook's first cell declares it: type by name, and default value."""

    type_name: str
    default: Any


def notebook_parameters(path: Path) -> dict[str, Declared]:
    """Return the parameters that a notebook declares, by name.

    Raises
    ------
    DeermemEvalError
        The file is no notebook, names no kernel, or a default is no plain value.
    """
    from papermill import inspect_notebook

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong is said by the refusal
            declared = inspect_notebook(format_proof(path))
        return {
            name: Declared(str(entry["inferred_type_name"]), literal_eval(entry["default"]))
            for name, entry in declared.items()
        }
    except Exception as error:
        raise DeermemEvalError(
            f"notebook {path} cannot be read: {error}; it must be a notebook whose kernel is "
            "python3 and whose parameters have plain values"
        ) from error


def format_proof(path: Path) -> str:
    """Return a path as Papermill takes it, which fills `{name}` in paths with parameters."""
    return str(path).replace("{", "{{").replace("}", "}}")


def typed_value(name: str, type_name: str, value: Any) -> Any:
    """Return a parameter's value in its declared type.

    Parameters
    ----------
    name : str
    type_name : str
        As declared: `int`, `list[float]`, ... A type that we do not know accepts anything.
    value : object
        A value, or text from a command line, which is read as YAML unless a `str` is declared.

    Raises
    ------
    DeermemEvalError
        The value is not of that type.
    """
    plain = type_name.partition("[")[0]
    expected = TYPES.get(plain)
    if isinstance(value, str) and expected not in (str, None):
        value = parse_yaml(value.encode(), Path(name), "value of parameter")
    if expected is float and type(value) is int and abs(value) < 2**53:
        value = float(value)
    if expected is not None and type(value) is not expected:
        raise DeermemEvalError(
            f"parameter {name} is {value!r}, and the notebook declares it as {type_name}"
            f"{', written like [0.5, 0.3, 0.2]' if expected is list else ''}"
        )
    return value


def refuse_bad_study(parameters: Mapping[str, Any]) -> None:
    """Check the values that our notebooks share, by making the calls that they begin with.

    Parameters
    ----------
    parameters : mapping
        All values of a notebook, defaults included: `protocol`, and those that it declares of
        `dataset`, `capacity`, `weights`, `selector`, `case_id`, `run` (None: not there yet),
        `output_dir`.

    Raises
    ------
    DeermemEvalError
        As the calls raise it.
    """
    protocol = load_protocol(parameters["protocol"])
    has_cases = "dataset" in parameters  # 07_memory needs none
    cases = load_cases(protocol, optional_path(parameters["dataset"])) if has_cases else ()
    if "capacity" in parameters:
        check_capacities([parameters["capacity"]], protocol.config.pool.size)
    policy_settings(protocol.config, weights=parameters.get("weights", ()))
    protocol_selector(protocol.config, parameters.get("selector", ""))
    if "case_id" in parameters:
        case_of(cases, parameters["case_id"])
    if parameters.get("run") is not None:
        output_dir = parameters.get("output_dir", "")
        load_graded_study(protocol, cases, parameters["run"] or default_run(protocol, output_dir))
    if "provider" in parameters:
        protocol.require_texts("an answer")
    results_folder(parameters.get("output_dir", ""), protocol)


def can_be_shown(parameters: Mapping[str, Any]) -> bool:
    """Whether a protocol has what a notebook shows: texts to ask about, or a graded run."""
    protocol = load_protocol(parameters["protocol"])
    if "provider" in parameters:
        return not protocol.missing_texts
    if parameters.get("run") == "":
        run = default_run(protocol, parameters.get("output_dir", ""))
        return (protocol.folder / OUTCOMES).is_file() or (Path(run) / ROWS).is_file()
    return True


def shows_own_answers(parameters: Mapping[str, Any]) -> bool:
    """Whether a notebook shows the run of `04_answers`: none is named, and none was published."""
    return (
        parameters.get("run") == ""
        and "protocol" in parameters
        and not (load_protocol(parameters["protocol"]).folder / OUTCOMES).is_file()
    )


def optional_path(text: str) -> Path | None:
    """Return the path that a text parameter names, or None where it is empty."""
    return working_path(text) if text else None
