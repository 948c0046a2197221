"""`verify` and `05_grades` on a folder, from the command line."""

import json
import shutil
from itertools import chain

import pytest

from deermem_eval.protocol import load_protocol
from tests.graded_run import change_row, read_rows, write_graded_run


@pytest.fixture
def run(tmp_path):
    return write_graded_run(load_protocol("sample"), tmp_path / "mine")


def test_a_run_that_holds_exits_0(command, run):
    code, out, err = command("verify", run, "--protocol", "sample")
    assert (code, err) == (0, "")
    assert out.endswith("\neverything holds\n")
    assert "request_fingerprint     90        90" in out
    assert "SHA-256 of qa.rows.jsonl: " in out


def test_a_run_that_does_not_hold_exits_1_and_shows_the_first_rows(command, run):
    rows = read_rows(run)
    for place in range(5):
        change_row(run, place, kept_fact_ids=rows[place]["kept_fact_ids"][::-1])
    code, out, err = command("verify", run, "--protocol", "sample")
    assert (code, err) == (1, "")
    assert out.endswith("\ndoes not hold: kept_fact_ids\n")
    assert out.count("kept_fact_ids, ") == 3
    assert f"kept_fact_ids, {rows[0]['row_id']}: expected " in out
    assert "kept_fact_ids: 2 more like it" in out


def test_json_for_machines(command, run):
    change_row(run, 0, capacity=6)
    code, out, _ = command("verify", run, "--protocol", "sample", "--json")
    answer = json.loads(out)
    assert (code, answer["holds"]) == (1, False)
    checks = {check["name"]: check for check in answer["checks"]}
    assert {"protocol_hashes", "kept_fact_ids", "request_fingerprint", "grade"} <= set(checks)
    assert {"grade_rule", "summary", "statistics"} <= set(checks)
    assert (checks["row_identity"]["equal"], checks["row_identity"]["compared"]) == (89, 90)
    assert checks["row_identity"]["differences"][0]["expected"] == 7


def test_the_digest_is_compared_where_one_is_expected(command, run):
    digest = command("verify", run, "--protocol", "sample")[1].split("\n")[-3].split()[-1]
    arguments = ("verify", run, "--protocol", "sample", "--expect-digest")
    assert command(*arguments, digest.upper())[0] == 0
    code, out, _ = command(*arguments, "0" * 64)
    assert code == 1
    assert f"rows_digest, qa.rows.jsonl: expected {'0' * 64}, found {digest}" in out
    assert command(*arguments, "123")[0] == 2


@pytest.fixture
def fetched(reference, subset, tmp_path):
    """Facts that pin the evidence subset, and a cache with all files that they name."""
    protocol, dataset = subset
    facts = shutil.copytree(load_protocol("pr4789").folder, tmp_path / "facts")
    config = facts / "configs" / "facts-v1.yaml"
    pins = (load_protocol("pr4789").config.dataset.sha256, protocol.config.dataset.sha256)
    config.write_text(config.read_text("utf-8").replace(*pins), "utf-8")
    target = shutil.copytree(protocol.folder, tmp_path / "cache" / "facts")
    shutil.copy(dataset, target / "longmemeval_oracle.json")
    run = target / "results" / "pr4789-reproduction-v1"
    shutil.copytree(reference / "published" / "run3", run)
    sources = facts / "sources.csv"
    old = load_protocol(reference / "protocol").identity.config_sha256
    text = sources.read_text("utf-8").replace(old, protocol.identity.config_sha256)
    sources.write_text(text, "utf-8")
    return facts, target, run


def test_what_was_fetched_is_used_unasked(command, fetched):
    facts, target, run = fetched
    arguments = ("verify", run, "--protocol", facts, "--json", "--cache-dir", target.parent)
    code, out, _ = command(*arguments)
    checks = {
        check["name"]: (check["equal"], check["compared"]) for check in json.loads(out)["checks"]
    }
    assert checks["request_fingerprint"] == checks["grade"] == (90, 90)
    assert code == 1  # config and data set have the subset's hashes
    assert checks["protocol_hashes"] == (3, 5)


@pytest.mark.parametrize("name", ["configs/pr4789-reproduction-v1.yaml", "prompts/answer-v1.txt"])
def test_a_fetched_file_that_was_changed_since_is_refused(command, fetched, name):
    facts, target, run = fetched
    path = target / name
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    code, out, err = command("verify", run, "--protocol", facts, "--cache-dir", target.parent)
    assert (code, out) == (2, "")
    assert f"{path} is not the pinned file" in err
    assert "run `deermem-eval fetch facts` again" in err


def test_the_final_published_run_and_the_evidence_subset(command, reference):
    code, out, err = command(
        *("verify", reference / "published" / "run3", "--upstream", reference / "protocol"),
        *("--dataset", reference / "longmemeval" / "evidence_subset.json", "--json"),
    )
    answer = json.loads(out)
    full = [check["name"] for check in answer["checks"] if check["equal"] == check["compared"]]
    assert (code, err) == (1, "")
    assert {check["name"] for check in answer["checks"]} - set(full) == {"protocol_hashes"}
    assert answer["rows_sha256"].startswith("d14dcd1e")


def test_facts_alone_verify_what_they_can_and_say_so(command, reference, tmp_path):
    code, out, err = command(
        "verify", reference / "published" / "run3", "--cache-dir", tmp_path / "nothing"
    )
    assert (code, err) == (0, "")
    assert "\nholds, but not checked in full: request_fingerprint, grade, grade_rule" in out
    assert out.count(": needs the texts: name them with --upstream") == 3
    assert out.count(": made from grades that the rows record") == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nowhere"], "/nowhere is no folder; name the one that holds qa_run.json"),
        (["."], "qa_run.json does not exist"),
        ([".", "--protocol", "b"], "neither a shipped protocol"),
        ([".", "--upstream", "/nowhere"], "neither a shipped protocol"),
        ([".", "--expect-digest", "x"], "'x' is not a SHA-256 of 64 hexadecimal digits"),
    ],
)
def test_bad_input_is_refused_in_one_line(command, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("verify", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_data_set_that_is_nowhere_is_refused(command, run):
    code, _, err = command("verify", run, "--protocol", "sample", "--dataset", "/nowhere")
    assert (code, err.count("\n")) == (2, 1)
    assert "data set /nowhere does not exist" in err


def test_a_loop_of_links_is_refused(command, run, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for arguments in (["--protocol", tmp_path / "loop"], ["--upstream", tmp_path / "loop"]):
        code, _, err = command("verify", run, *arguments)
        assert (code, err.count("\n")) == (2, 1)
        assert "check the path" in err


def test_the_notebook_shows_the_run_of_a_folder(command, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = command(
        *("notebooks", "05_grades", "--protocol", "sample", "--output-dir", "out"),
        *("-p", "run=./mine"),
    )
    assert code == 0, err
    notebook = json.loads((tmp_path / "out/executed/05_grades.ipynb").read_text("utf-8"))
    shown = json.dumps(list(chain.from_iterable(c.get("outputs", []) for c in notebook["cells"])))
    assert "90 graded rows in 1 runs, 90 of them in mine" in shown
    assert "What is said of the published runs was not checked here" in shown
    assert (tmp_path / "out" / "answer_stages.svg").is_file()


def test_the_notebook_shows_a_run_without_any_discordant_case(command, tmp_path):
    run = write_graded_run(
        load_protocol("sample"), tmp_path / "right", lambda task: task.decision.case.texts.answer
    )
    code, _, err = command(
        *("notebooks", "05_grades", "--protocol", "sample", "--output-dir", tmp_path / "out"),
        *("-p", f"run={run}"),
    )
    assert code == 0, err
    stages = (tmp_path / "out" / "qa_stages_by_scenario.csv").read_text()
    assert "right_without_support" in stages


def test_a_bad_folder_is_refused_before_a_kernel_starts(command, run, tmp_path):
    (run / "qa.rows.jsonl").write_text("{}\n")
    code, _, err = command(
        *("notebooks", "05_grades", "--protocol", "sample", "--output-dir", tmp_path / "out"),
        *("-p", f"run={run}"),
    )
    assert code == 2
    assert "notebook 05_grades: published rows line 1 of" in err
    assert not (tmp_path / "out").exists()
