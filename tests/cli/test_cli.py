import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from deermem_eval import __version__


def test_run_policy_prints_json_for_machines(command, tmp_path):
    code, out, err = command("run-policy", "--output-dir", tmp_path / "run", "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["rows"] == 270
    assert len(answer["retention"]) == 30
    assert {
        "capacity": 7,
        "policy": "hybrid-v1",
        "scenario": "correction_reserve",
        "cases": 5,
        "retained": 5,
    } in answer["retention"]
    assert err == f"270 decisions written to {tmp_path / 'run'}\n"
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "policy.raw.jsonl",
        "run.json",
        "summary.json",
    ]


def test_run_policy_prints_the_table_and_writes_nothing_unasked(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = command("run-policy")
    assert code == 0
    assert out.endswith("overall  20/45 27/45 35/45 35/45 45/45 45/45\n")
    assert not list(tmp_path.iterdir())


def test_run_policy_takes_capacities_policies_and_weights(command):
    code, out, _ = command(
        "run-policy", "--capacity", "3,4", "--capacity", "3", "--policy", "hybrid-v1",
        "--weights", "1,0,0", "--json",
    )  # fmt: skip
    assert code == 0
    answer = json.loads(out)
    assert answer["rows"] == 90
    assert {(row["capacity"], row["policy"]) for row in answer["retention"]} == {
        (3, "hybrid-v1"),
        (4, "hybrid-v1"),
    }


def test_validate_contracts_says_what_is_there_and_what_is_not(command):
    code, out, _ = command("validate-contracts")
    assert code == 0
    assert "40 official and 5 synthetic cases, policy version hybrid-v1: valid" in out
    assert "facts only: the answer prompt and the texts of the synthetic cases are not there" in out
    code, out, _ = command("validate-contracts", "--json")
    assert json.loads(out)["artifacts"]["dataset_sha256"].startswith("821a2034")


def test_validate_recomputes_the_selection_only_from_texts(command, small):
    code, out, _ = command("validate")
    assert code == 0
    assert "82 records, 40 distractors in the bank, 45 cases with pools of 10: valid" in out
    assert "selection rule not recomputed" in out
    code, out, _ = command("validate", "--protocol", small.folder, "--dataset", small.dataset)
    assert code == 0
    assert "selection rule recomputed: the same official cases, id by id" in out
    code, out, _ = command(
        "validate", "--protocol", small.folder, "--dataset", small.dataset, "--json"
    )
    assert json.loads(out)["selection_recomputed"] is True


def test_published_protocol_and_evidence_subset(command, reference, subset):
    protocol, dataset = subset
    code, out, _ = command(
        "run-policy", "--protocol", protocol.folder, "--dataset", dataset, "--json"
    )
    assert code == 0
    facts_only = command("run-policy", "--json")[1]
    assert json.loads(out) == json.loads(facts_only)
    code, _, err = command("validate", "--protocol", reference / "protocol", "--dataset", dataset)
    assert code == 2
    assert "but the protocol pins 821a2034" in err


def refused(command, *arguments):
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("deermem-eval: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--capacity", "0"], "capacity 0 is outside 1..10"),
        (["--capacity", "11"], "capacity 11 is outside 1..10"),
        (["--capacity", "seven"], "'seven' is not a list of whole numbers"),
        (["--capacity", ""], "'' is not a list of whole numbers"),
        (["--weights", "0.6,0.2,0.1"], "the weights (0.6, 0.2, 0.1) sum to 0.9"),
        (["--weights", "nan,1,0"], "the confidence weight is nan"),
        (["--weights", "0.5,0.5"], "weights has 2 values"),
        (["--weights", "a,b,c"], "'a,b,c' is not a list of numbers"),
        (["--policy", "lru"], "policy 'lru' is not one of confidence, hybrid-v1"),
        (["--protocol", "pr1"], "neither a shipped protocol (pr4789, sample)"),
        (["--protocol", "/nowhere"], "neither a shipped protocol"),
        (["--dataset", "/nowhere.json"], "data set /nowhere.json does not exist; check the path"),
        (["--dataset", "/"], "data set / is not a regular file"),
        (["--selector", "json:dumps"], "does not say which policy it implements"),
        (["--selector", "nothing"], "is not of the form module:function"),
        (["--unknown"], "unrecognized arguments: --unknown; see `deermem-eval --help`"),
        (["extra"], "unrecognized arguments: extra"),
    ],
)
def test_bad_input_is_refused_in_one_line_and_nothing_is_written(
    command, tmp_path, arguments, said
):
    output = tmp_path / "run"
    assert said in refused(command, "run-policy", "--output-dir", output, *arguments)
    assert not list(tmp_path.iterdir())


def test_a_verb_is_needed_and_must_exist(command):
    assert "required: VERB" in refused(command)
    assert "invalid choice: 'sweeep'" in refused(command, "sweeep")


def test_an_output_directory_that_holds_a_run_is_refused_before_the_work(command, tmp_path):
    command("run-policy", "--output-dir", tmp_path / "run")
    before = {p: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    said = refused(command, "run-policy", "--output-dir", tmp_path / "run")
    assert "already holds a run or other files, and nothing is ever overwritten" in said
    assert {p: p.read_bytes() for p in (tmp_path / "run").iterdir()} == before
    said = refused(command, "notebooks", "--output-dir", tmp_path / "run")
    assert "already holds a run (run.json)" in said
    assert {p: p.read_bytes() for p in (tmp_path / "run").iterdir()} == before


def test_a_data_set_with_one_byte_changed_is_refused(command, small, tmp_path):
    content = bytearray(small.dataset.read_bytes())
    content[100] ^= 1
    small.dataset.write_bytes(content)
    for verb in ("validate", "run-policy"):
        said = refused(command, verb, "--protocol", small.folder, "--dataset", small.dataset)
        assert "has SHA-256" in said
        assert "deermem-eval fetch pr4789" in said


def test_bad_notebook_parameters_are_refused_and_nothing_is_written(command, tmp_path):
    for arguments, said in {
        ("--capacity", "0"): "capacity 0 is outside",
        ("--capacity", "6", "-p", "capacity=7"): "parameter 'capacity' is given twice",
        ("-p", "capacity=1:30"): "capacity is '1:30', and the notebook declares it as int",
        ("/etc/passwd",): "notebook /etc/passwd cannot be read",
        ("--capacity", "11"): "capacity 11 is outside",
        ("--weights", "0.6,0.2,0.1"): "sum to 0.9",
        ("-p", "weights=0.6,0.2,0.2"): "written like [0.5, 0.3, 0.2]",
        ("-p", "capasity=7"): "parameter 'capasity' is declared by none of",
        ("-p", "capasity"): "is not of the form NAME=VALUE",
        ("--dataset", tmp_path / "none.json"): "does not exist",
        ("09_none",): "notebook '09_none' is neither",
        ("--workers", "0"): "'0' is not a whole number from 1",
        ("--workers", "-3"): "'-3' is not a whole number from 1",
        ("--output-dir", "~nobody-here/x"): "~nobody-here/x: ",
        ("--output-dir", "x" * 300): "File name too long",
    }.items():
        assert said in refused(command, "notebooks", "--output-dir", tmp_path / "out", *arguments)
    assert not list(tmp_path.iterdir())


def test_notebooks_and_report_end_to_end(command, tmp_path):
    output = tmp_path / "out"
    folder = ("--output-dir", output)
    assert "holds no executed notebook" in refused(command, "report", *folder)
    code, out, err = command("notebooks", *folder, "--capacity", "6", "-p", "seeds=1")
    assert code == 0
    assert out.count("\n") == 8
    every = "01_cases, 02_retention, 03_weights, 04_answers, 05_grades, 06_drift, 07_memory"
    assert f"executing {every}, 08_traces; tables and figures go to {output}" in err
    code, out, _ = command("report", *folder)
    assert code == 0
    assert out.endswith(f"page: {output / 'page' / 'index.html'}\n")
    assert "20/45 27/45 35/45" in out
    assert "0.00014495849609375" in out
    for p in ("0.0041", "0.0129", "0.0018"):
        assert p in out
    assert (output / "page" / "figures" / "qa_accuracy.svg").is_file()
    code, out, _ = command("report", *folder, "--json", "--run", "run1")
    assert json.loads(out)["page"] == str(output / "page" / "index.html")
    assert "Correct answers of all, run1" in json.loads(out)["tables"]
    assert "run 'run9' is not among" in refused(command, "report", *folder, "--run", "run9")

    index = output / "page" / "index.html"
    index.write_text("my home page")
    assert "was not written by deermem-eval" in refused(command, "report", *folder)
    index.unlink()
    executed = output / "executed" / "01_cases.ipynb"
    sound = executed.read_bytes()
    for content in (b"{", b"{}", b"\xff", b"[]"):
        executed.write_bytes(content)
        assert "01_cases.ipynb is" in refused(command, "report", *folder)
    executed.write_bytes(sound)
    table = output / "retention_by_suite.csv"
    sound = table.read_text()
    row = sound.split("\n")[1]
    for content in (
        "",
        "a,b\n",
        sound.replace("retained", "kept"),
        "\x00",
        sound.replace("45", "many"),
        sound.replace(",45,", ",,"),
        f"{sound}{row}\n",
    ):
        table.write_text(content)
        said = refused(command, "report", *folder)
        assert "retention_by_suite.csv is not the table that the notebooks write" in said
    table.unlink()
    assert "retention_by_suite.csv is not there" in refused(command, "report", *folder)
    assert not index.exists()


def test_other_parameters_leave_the_committed_results_alone(command, root):
    def state():
        return {path: path.stat().st_mtime_ns for path in (root / "results/pr4789").iterdir()}

    before = state()
    code, out, err = command("notebooks", "02_retention", "--capacity", "6")
    assert code == 0
    assert f"go to {root / 'results/runs/pr4789-changed'}" in err
    assert out == f"02_retention: {root}/results/runs/pr4789-changed/executed/02_retention.ipynb\n"
    assert state() == before


def test_the_published_files_alone_give_notebooks_and_page(command, subset, tmp_path):
    protocol, dataset = subset
    output = tmp_path / "out"
    code, _, err = command(
        "notebooks", "--protocol", protocol.folder, "--dataset", dataset, "--output-dir", output
    )
    assert code == 0
    assert (
        "executing 01_cases, 02_retention, 03_weights, 04_answers, 05_grades, 06_drift, 07_memory"
        in err
    )
    code, out, _ = command("report", "--protocol", protocol.folder, "--output-dir", output)
    assert code == 0
    assert "20/45 27/45 35/45" in out
    assert "Correct answers" in out


def test_a_foreign_protocol_of_the_same_name_is_kept_apart(command, root, tmp_path, monkeypatch):
    from deermem_eval.protocol import load_protocol
    from deermem_eval.report import study_folders

    shutil.copytree(root / "data" / "pr4789", tmp_path / "pr4789")
    foreign = study_folders(load_protocol(tmp_path / "pr4789"))
    assert foreign.results == root / "results/runs/pr4789"
    monkeypatch.chdir(root / "results")  # where a folder has the shipped protocol's name
    assert command("validate-contracts")[0] == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('lastConfirmedAt')", "fails with KeyError: 'lastConfirmedAt'"),
        ("raise SystemExit(0)", "fails with SystemExit: 0"),
        ("result.kept[:] = facts; return result", "keeps 10 facts and evicts"),
        ("result.kept[0] = {'id': 'alien'}; return result", "keeps 5 facts and evicts 5; it must"),
        ("result.kept[:] = [f['id'] for f in result.kept]; return result", "fails with TypeError"),
        ("result.scores.clear(); return result", "must give every fact of the pool a finite score"),
    ],
)
def test_a_selector_that_is_wrong_on_real_pools_is_refused(
    command, tmp_path, monkeypatch, body, said
):
    name = f"wrong_{abs(hash(body))}"
    (tmp_path / f"{name}.py").write_text(
        "from deermem_eval.policies import select_facts_for_capacity as ours\n"
        "EVICTION_POLICY_HYBRID_V1 = 'hybrid-v1'\n"
        "def select(facts, **arguments):\n"
        "    result = ours(facts, **arguments)\n"
        "    if len(facts) < 3: return result\n"
        f"    {body}\n"
    )
    monkeypatch.chdir(tmp_path)
    line = refused(command, "run-policy", "--selector", f"{name}:select")
    assert said in line
    assert f"selector {name}:select, case 01493427, confidence at 5: " in line


def test_a_failing_notebook_exits_1_and_a_refusing_one_2(command, tmp_path):
    for source, expected in (
        ("assert 1 == 2", 1),
        ("from deermem_eval.errors import DeermemEvalError\nraise DeermemEvalError('no')", 2),
    ):
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        made.metadata["kernelspec"] = {"name": "python3", "display_name": "p", "language": "python"}
        nbformat.write(made, tmp_path / "mine.ipynb")
        code, out, err = command(
            "notebooks", tmp_path / "mine.ipynb", "--output-dir", tmp_path / "out",
        )  # fmt: skip
        assert code == expected
        assert out == ""
        assert "mine: cell 1: " in err
        assert "mine.failed.ipynb" in err


def test_the_selector_may_come_from_the_environment_and_from_the_folder(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from deermem_eval.policies import select_facts_for_capacity as ours\n"
        "EVICTION_POLICY_HYBRID_V1 = 'hybrid-v1'\n"
        "def select(facts, **arguments):\n"
        "    return ours(facts, **{**arguments, 'policy': 'confidence'})\n"
    )
    environment = {**os.environ, "DEERMEM_EVAL_SELECTOR": "mine:select"}
    command = Path(sys.executable).with_name("deermem-eval")
    done = subprocess.run(
        [command, "run-policy", "--json"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["retention"]
    at_7 = [r["retained"] for r in rows if (r["capacity"], r["policy"]) == (7, "hybrid-v1")]
    assert sum(at_7) == 27


def test_help_and_version_import_nothing_heavy():
    program = (
        "import sys\n"
        "from deermem_eval.cli import main\n"
        "try:\n    main([sys.argv[1]])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'pandas', 'matplotlib', 'statsmodels', 'papermill', 'pydantic', 'yaml',"
        " 'nbformat', 'huggingface_hub', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    for option, said in (("--version", f"deermem-eval {__version__}"), ("--help", "run-policy")):
        done = subprocess.run(
            [sys.executable, "-c", program, option], capture_output=True, text=True, check=True
        )
        assert said in done.stdout
        assert done.stdout.endswith("[]\n")


def test_a_reader_that_has_enough_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m deermem_eval run-policy --json | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "{\n"
    assert done.stderr == ""
