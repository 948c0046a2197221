import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.report import plan_notebooks, run_notebooks, shipped_notebooks
from deermem_eval.report.execution import normalised

NAMES = (
    "01_cases",
    "02_retention",
    "03_weights",
    "04_answers",
    "05_grades",
    "06_drift",
    "07_memory",
    "08_traces",
)


def code_cells(path):
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_shipped_notebooks_are_these():
    assert tuple(shipped_notebooks()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_prose_and_calls(name):
    path = shipped_notebooks()[name]
    nbformat.validate(nbformat.read(path, as_version=4))
    cells = code_cells(path)
    assert 2 <= len(cells) <= 12
    assert cells[0].metadata.tags == ["parameters"]
    assert not any("parameters" in cell.metadata.get("tags", []) for cell in cells[1:])
    assert "assert " in cells[-1].source
    for cell in cells:
        assert not cell.outputs
        assert cell.execution_count is None
        assert not any(line.startswith(("def ", "class ")) for line in cell.source.split("\n"))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_with_other_parameters(name, tmp_path):
    """Other capacity, weights, case or run; results go to the folder that is named, and only there."""
    output = tmp_path / "results"
    parameters = {
        "01_cases": {
            "capacity": 3,
            "case_id": "correction_language",
            "weights": [0.5, 0.3, 0.2],
            "policies": ["fifo", "hybrid-v1"],
        },
        "02_retention": {
            "capacity": 9,
            "weights": [0.2, 0.4, 0.4],
            "policies": ["hybrid-v1", "recency"],
        },
        "03_weights": {"capacity": 5, "weights": [0.5, 0.3, 0.2], "step": 0.1},
        "04_answers": {"capacity": 5, "model": "mine", "policies": ["oracle", "recency", "random"]},
        "05_grades": {"run": "run1"},
        "06_drift": {"a": "single-newline", "b": "run2"},
        "07_memory": {"now": "2027-01-01T00:00:00Z"},
        "08_traces": {
            "seeds": 1,
            "capacities": [60, 90],
            "at_capacity": 90,
            "policies": ["recency", "fifo"],
            "confidence": ["constant", "rho=0.5"],
            "assumed": "rho=0.5",
            "recency": "0.5",
        },
    }[name]
    tasks = plan_notebooks([name], {**parameters, "output_dir": str(output)})
    (outcome,) = run_notebooks(tasks, tmp_path / "executed")
    assert outcome.failure == ""
    executed = nbformat.read(outcome.path, as_version=4)
    verdict = executed.cells[-1].outputs[-1].data["text/markdown"]
    assert ("not checked here" in verdict) == (
        name in ("02_retention", "03_weights", "04_answers", "06_drift", "07_memory", "08_traces")
    )
    expected = {
        "01_cases": "pool_anatomy.svg",
        "02_retention": "retention_by_capacity.svg",
        "03_weights": "weight_triangle.svg",
        "04_answers": "answers_by_stage.svg",
        "05_grades": "qa_accuracy.svg",
        "06_drift": "protocol_drift.svg",
        "07_memory": "store_audit.svg",
        "08_traces": "trace_decision_map.svg",
    }[name]
    assert expected in {path.name for path in output.iterdir()}
    assert {path.name for path in tmp_path.iterdir()} == {"executed", "results"}


@pytest.mark.parametrize("name", ["01_cases", "02_retention", "03_weights"])
def test_a_notebook_runs_on_another_protocol_with_texts(name, small, tmp_path):
    parameters = {"protocol": str(small.folder), "dataset": str(small.dataset), "case_id": "fix_3"}
    if name != "01_cases":
        del parameters["case_id"]
    tasks = plan_notebooks([name], {**parameters, "output_dir": str(tmp_path / "out")})
    (outcome,) = run_notebooks(tasks, tmp_path / "executed")
    assert outcome.failure == ""
    assert "mugs now" not in outcome.path.read_text("utf-8")
    assert not any("mugs" in p.read_text("utf-8") for p in (tmp_path / "out").glob("*.csv"))


@pytest.mark.parametrize("protocol", ["pr4789", "sample"])
def test_results_and_executed_notebooks_are_the_same_bytes_every_time(root, tmp_path, protocol):
    """From another folder and in another order; and the committed results are these."""
    other = {"pr4789": "04_answers", "sample": "08_traces"}[protocol]
    names = [name for name in NAMES if name != other]
    trees = []
    for folder, ordered in (("a", names), ("b", names[::-1])):
        parameters = {"protocol": protocol, "output_dir": str(tmp_path / "results")}
        here = tmp_path / f"here_{folder}"
        here.mkdir()
        with contextlib.chdir(here):
            outcomes = run_notebooks(plan_notebooks(ordered, parameters), tmp_path / folder)
        assert {outcome.failure for outcome in outcomes} == {""}
        assert not list(here.iterdir())
        trees.append(
            {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
            | {p.name: p.read_bytes() for p in (tmp_path / "results").iterdir() if p.is_file()}
        )
    assert trees[0] == trees[1]
    committed = root / "results" / protocol
    assert {path.name for path in committed.iterdir()} == {
        path.name for path in (tmp_path / "results").iterdir() if path.is_file()
    }
    for path in committed.iterdir():
        if path.suffix != ".png":  # pixels are the machine's; .ci/run compares them too
            assert path.read_bytes() == trees[0][path.name], path.name


def notebook(folder, *sources, parameters="number: int = 1"):
    cells = [nbformat.v4.new_code_cell(parameters)]
    cells[0].metadata["tags"] = ["parameters"]
    cells += [nbformat.v4.new_code_cell(source) for source in sources]
    path = folder / "mine.ipynb"
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "p", "language": "python"}
    nbformat.write(made, path)
    return str(path)


def test_a_failure_keeps_what_was_executed_and_names_cell_and_line(tmp_path):
    name = notebook(tmp_path, "print('so far')", "x = number\nassert x == 1", "print('never')")
    executed = tmp_path / "executed"
    (good,) = run_notebooks(plan_notebooks([name], {}), executed)
    assert good.failure == ""
    before = good.path.read_bytes()
    (failed,) = run_notebooks(plan_notebooks([name], {"number": 2}), executed)
    assert failed.failure == "cell 4: AssertionError: assert x == 1"
    assert not failed.refused
    assert failed.path.name == "mine.failed.ipynb"
    assert "so far" in failed.path.read_text("utf-8")
    assert good.path.read_bytes() == before
    run_notebooks(plan_notebooks([name], {}), executed)
    assert [path.name for path in executed.iterdir()] == ["mine.ipynb"]


def test_a_refusal_inside_a_notebook_is_told_from_a_fault(tmp_path):
    name = notebook(
        tmp_path, "from deermem_eval.protocol import load_protocol\nload_protocol('pr1')"
    )
    (outcome,) = run_notebooks(plan_notebooks([name], {}), tmp_path / "executed")
    assert outcome.refused
    assert "protocol 'pr1' is neither a shipped protocol" in outcome.failure
    assert "\n" not in outcome.failure


def test_a_dead_kernel_is_a_failure_and_the_others_go_on(tmp_path):
    good = Path(notebook(tmp_path, "print(number)")).rename(tmp_path / "good.ipynb")
    dead = notebook(tmp_path, "import os\nos._exit(1)")
    first, second = run_notebooks(plan_notebooks([dead, str(good)], {}), tmp_path / "executed")
    assert "Kernel died" in first.failure or "DeadKernelError" in first.failure
    assert second.failure == ""


def test_a_killed_worker_is_a_failure(tmp_path):
    name = notebook(
        tmp_path, "import os, psutil, signal\nos.kill(psutil.Process().ppid(), signal.SIGKILL)"
    )
    (outcome,) = run_notebooks(plan_notebooks([name], {}), tmp_path / "executed")
    assert outcome.failure == "its process was ended from outside; run it again"


def test_a_notebook_that_ends_itself_is_a_failure(tmp_path):
    name = notebook(tmp_path, "import sys\nsys.exit(0)", "print('never')")
    (outcome,) = run_notebooks(plan_notebooks([name], {}), tmp_path / "executed")
    assert "ended the notebook, and the rest was not executed" in outcome.failure


def test_asserts_count_whatever_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    name = notebook(tmp_path, "assert number == 2")
    (outcome,) = run_notebooks(plan_notebooks([name], {}), tmp_path / "executed")
    assert "AssertionError" in outcome.failure


def test_a_source_is_never_replaced(tmp_path):
    name = notebook(tmp_path, "print(number)")
    before = Path(name).read_bytes()
    with pytest.raises(DeermemEvalError, match="would replace its source"):
        run_notebooks(plan_notebooks([name], {}), tmp_path)
    assert Path(name).read_bytes() == before


def test_a_users_own_notebook_comes_before_ours(tmp_path, monkeypatch):
    mine = Path(notebook(tmp_path, "print(number)")).rename(tmp_path / "01_cases.ipynb")
    monkeypatch.chdir(tmp_path)
    (task,) = plan_notebooks(["01_cases.ipynb"], {})
    assert task.path == mine


def test_an_interrupt_ends_everything_at_once(root, tmp_path):
    """Two of them, as an impatient user gives them; no kernel and no traceback is left."""
    name = notebook(tmp_path, "import time\ntime.sleep(600)")
    process = subprocess.Popen(
        [sys.executable, "-m", "deermem_eval", "notebooks", name, "--output-dir", tmp_path / "o"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    time.sleep(4)
    for _ in range(2):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.3)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert said.rstrip().endswith("deermem-eval: interrupted")


def test_no_notebook_is_no_work(tmp_path):
    assert run_notebooks((), tmp_path) == ()


def test_braces_and_blanks_in_a_path_are_only_characters(tmp_path, monkeypatch):
    folder = tmp_path / "re {view} 100% 你好"
    (folder / "tmp").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    name = notebook(folder, "print(number)")
    (outcome,) = run_notebooks(plan_notebooks([name], {"number": 3}), folder / "executed")
    assert outcome.failure == ""
    assert "3\\n" in outcome.path.read_text("utf-8")


def test_grades_wait_for_the_answers_of_the_same_batch(small, tmp_path):
    parameters = {"protocol": str(small.folder), "dataset": str(small.dataset)}
    parameters["output_dir"] = str(tmp_path / "out")
    tasks = plan_notebooks([], parameters)
    assert [task.name for task in tasks] == list(NAMES[:-1])
    assert [task.after for task in tasks] == ["", "", "", "", "04_answers", "", ""]
    asked_elsewhere = plan_notebooks([], {**parameters, "run_dir": str(tmp_path / "mine")})
    assert [task.name for task in asked_elsewhere] == [
        name for name in NAMES if name not in ("05_grades", "08_traces")
    ]


def test_grades_fail_with_the_answers_that_they_wait_for(small, tmp_path):
    parameters = {"protocol": str(small.folder), "dataset": str(small.dataset)}
    parameters |= {"output_dir": str(tmp_path / "out"), "provider": "nobody"}
    tasks = plan_notebooks(["05_grades", "04_answers"], parameters)
    grades, answers = run_notebooks(tasks, tmp_path / "executed")
    assert "provider 'nobody' is not one of" in answers.failure
    assert grades.failure == "04_answers failed, whose answers it shows"


@pytest.mark.parametrize(
    ("names", "parameters", "said"),
    [
        (["09_none"], {}, "notebook '09_none' is neither one of 01_cases, 02_retention"),
        ([], {"capasity": 7}, "parameter 'capasity' is declared by none of .*they know"),
        (["01_cases", "./notebooks/../notebooks/01_cases.ipynb"], {}, "called 01_cases"),
        (["05_grades"], {"capacity": 7}, "parameter 'capacity' is declared by none of 05_grades"),
        ([], {"capacity": 0}, r"capacity 0 is outside 1\.\.10"),
        ([], {"capacity": "11"}, r"capacity 11 is outside 1\.\.10"),
        ([], {"capacity": "seven"}, "capacity is 'seven', and the notebook declares it as int"),
        ([], {"capacity": True}, "capacity is True, and the notebook declares it as int"),
        ([], {"capacity": "[7"}, "value of parameter capacity, line [12]: "),
        ([], {"weights": [0.6, 0.2, 0.1]}, "sum to 0.9, and must sum to 1"),
        ([], {"weights": "[0.6, 0.4]"}, "weights has 2 values"),
        ([], {"weights": "0.65"}, "weights is 0.65, and the notebook declares it as list"),
        ([], {"protocol": "pr1"}, "protocol 'pr1' is neither"),
        ([], {"dataset": "/nowhere/x.json"}, "data set /nowhere/x.json does not exist"),
        ([], {"case_id": "nobody"}, "case_id 'nobody' is not one of the protocol's 45 cases"),
        ([], {"selector": "nowhere:f"}, "selector module nowhere cannot be imported"),
        ([], {"run": "run9"}, "run 'run9' is not among the graded rows"),
    ],
)
def test_a_bad_parameter_is_refused_before_a_kernel_starts(names, parameters, said):
    with pytest.raises(DeermemEvalError, match=said):
        plan_notebooks(names, parameters)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"nbformat": 4, "cells": []}', "\x00"])
def test_a_file_that_is_no_notebook_is_refused(tmp_path, content):
    path = tmp_path / "mine.ipynb"
    path.write_text(content)
    with pytest.raises(DeermemEvalError, match=r"mine\.ipynb cannot be read: ") as error:
        plan_notebooks([str(path)], {})
    assert "\n" not in str(error.value)


def test_outcomes_of_an_unknown_policy_are_refused_before_a_kernel_starts(root, tmp_path):
    shutil.copytree(root / "data" / "pr4789", tmp_path / "mine")
    path = tmp_path / "mine" / "outcomes.csv"
    path.write_text(path.read_text().replace(",confidence,", ",confidense,"))
    with pytest.raises(DeermemEvalError, match="policy 'confidense' is not one of confidence, "):
        plan_notebooks(["05_grades"], {"protocol": str(tmp_path / "mine")})


def test_a_protocol_without_outcomes_is_refused_before_a_kernel_starts(small):
    parameters = {"protocol": str(small.folder), "dataset": str(small.dataset)}
    with pytest.raises(
        DeermemEvalError, match="small comes without graded runs; name a graded run"
    ):
        plan_notebooks(["05_grades"], parameters)


def test_what_is_offered_reaches_only_those_that_declare_it():
    tasks = plan_notebooks(["02_retention", "05_grades"], {}, where_declared={"selector": ""})
    assert [task.parameters for task in tasks] == [{"selector": ""}, {}]


def test_a_case_id_of_digits_stays_text():
    (task,) = plan_notebooks(["01_cases"], {"case_id": "01493427", "capacity": "5"})
    assert task.parameters == {"case_id": "01493427", "capacity": 5}


def test_results_never_go_into_a_run(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(DeermemEvalError, match=r"already holds a run \(run\.json\)"):
        plan_notebooks([], {"output_dir": str(tmp_path)})
    with pytest.raises(DeermemEvalError, match="is a file; name a folder"):
        plan_notebooks([], {"output_dir": str(tmp_path / "run.json")})


def test_one_changed_byte_of_the_data_set_is_refused(small):
    content = bytearray(small.dataset.read_bytes())
    content[-2] ^= 1
    small.dataset.write_bytes(content)
    parameters = {"protocol": str(small.folder), "dataset": str(small.dataset)}
    with pytest.raises(DeermemEvalError, match="has SHA-256 .*, but the protocol pins"):
        plan_notebooks(["02_retention"], parameters)


def test_normalising_strips_what_changes_between_runs():
    def executed(time, address, cell_id):
        cell = nbformat.v4.new_code_cell("x", id=cell_id)
        cell.metadata = {"execution": {"t": time}, "papermill": {"t": time}, "tags": ["kept"]}
        cell.outputs = [
            nbformat.v4.new_output("stream", name="stdout", text=f"<X at {address}>\n"),
            nbformat.v4.new_output("stream", name="stdout", text="more\n"),
            nbformat.v4.new_output("execute_result", {"text/plain": f"<X at {address}>"}),
        ]
        made = nbformat.v4.new_notebook(cells=[cell])
        made.metadata = {"papermill": {"t": time}, "language_info": {"version": time}}
        return made

    first = normalised(executed("1", "0x7f0011223344", "aaaa"))
    second = normalised(executed("2", "0x7f99aabbccdd", "bbbb"))
    assert json.dumps(first) == json.dumps(second)
    cell = first.cells[0]
    assert cell.metadata == {"tags": ["kept"]}
    assert cell.outputs[0].text == "<X at 0x0>\nmore\n"


def test_a_notebook_runs_from_the_root_and_from_its_own_folder(root, tmp_path):
    """As JupyterLab starts kernels: in the notebook's folder. Papermill: where the caller stands."""
    relative = Path("results/runs/test-from-two-folders")
    shutil.rmtree(root / relative, ignore_errors=True)
    for folder in (root, root / "notebooks"):
        subprocess.run(
            [
                sys.executable, "-m", "papermill", "--no-progress-bar",
                str(root / "notebooks" / "02_retention.ipynb"), str(tmp_path / "out.ipynb"),
                "-p", "output_dir", str(relative),
            ],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
        assert (root / relative / "retention_by_suite.csv").is_file()
        shutil.rmtree(root / relative)
