"""Notebook parameters, checked before a kernel starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deermem_eval.cases import load_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.places import working_path
from deermem_eval.protocol import Protocol, load_protocol
from deermem_eval.reading import parse_yaml
from deermem_eval.selection import check_capacities, policy_settings, protocol_selector

RUN_MARKERS = ("run.json", "qa_run.json")
TYPES: Mapping[str, type] = {"str": str, "int": int, "float": float, "bool": bool, "list": list}


def notebook_parameters(path: Path) -> dict[str, str]:
    """Return the parameters that a notebook declares: name and type, as its first cell has them."""
    from papermill import inspect_notebook

    declared = inspect_notebook(str(path))
    return {name: str(entry["inferred_type_name"]) for name, entry in declared.items()}


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
    if expected is float and type(value) is int:
        value = float(value)
    if expected is not None and type(value) is not expected:
        raise DeermemEvalError(
            f"parameter {name} is {value!r}, and the notebook declares it as {type_name}"
        )
    return value


def refuse_bad_study(parameters: Mapping[str, Any]) -> None:
    """Check the values that notebooks share: protocol, data set, capacity, weights, selector, case, output.

    Raises
    ------
    DeermemEvalError
        As the functions raise that the notebooks call.
    """
    protocol = load_protocol(parameters.get("protocol", "pr4789"))
    cases = load_cases(protocol, optional_path(parameters.get("dataset", "")))
    if "capacity" in parameters:
        check_capacities([parameters["capacity"]], protocol.config.pool.size)
    policy_settings(protocol.config, weights=parameters.get("weights", ()))
    protocol_selector(protocol.config, parameters.get("selector", ""))
    case_id = parameters.get("case_id")
    if case_id is not None and case_id not in {case.case_id for case in cases}:
        raise DeermemEvalError(
            f"case_id {case_id!r} is not one of protocol {protocol.name}'s cases"
        )
    if "output_dir" in parameters:
        results_folder(parameters["output_dir"], protocol)


def results_folder(output_dir: str | Path, protocol: Protocol) -> Path:
    """Return the folder for a study's tables and figures; nothing is made yet.

    Parameters
    ----------
    output_dir : str or Path
        Empty: `results/<protocol>`. Relative: see `deermem_eval.places.working_path`.
    protocol : Protocol

    Raises
    ------
    DeermemEvalError
        The folder is a file, or holds a run: runs are never mixed with results.
    """
    folder = working_path(output_dir or Path("results") / protocol.name)
    if folder.exists() and not folder.is_dir():
        raise DeermemEvalError(f"output directory {folder} is a file; name a folder")
    for marker in RUN_MARKERS:
        if (folder / marker).exists():
            raise DeermemEvalError(
                f"output directory {folder} already holds a run ({marker}); name another folder"
            )
    return folder


def optional_path(text: str) -> Path | None:
    """Return the path that a text parameter names, or None where it is empty."""
    return working_path(text) if text else None
