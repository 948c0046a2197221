"""`simulate` and `fetch locomo` by the command."""

import hashlib
import json
import shutil

import pandas as pd
import pytest

from deermem_eval.traces import Making, locomo, made_life, write_traces

FEW = ("--capacity", "10", "--seeds", "2", "--confidence", "rho=0.5")


@pytest.fixture
def lives(tmp_path):
    """Two short lives as a file in the trace format."""
    making = Making(facts=25, accesses=60, needs=15, days=60)
    path = tmp_path / "lives.jsonl"
    write_traces(path, [made_life(f"life-{seed}", seed, making) for seed in range(2)])
    return path


def test_a_table_a_setting_and_the_comparison_in_words(lives, command):
    code, out, err = command("simulate", lives, *FEW, "--policy", "confidence,hybrid-v1,fifo")
    assert code == 0
    assert "share of needs met at each capacity; confidence rho=0.5, needs as traced" in out
    rows = [line.split()[0] for line in out.splitlines() if line.endswith(tuple("0123456789"))]
    assert {"confidence", "hybrid-v1", "fifo", "bound"} <= set(rows)
    assert "hybrid-v1 meets" in out
    assert "2 lives are 2 observations: no p-value can fall below 0.5" in out
    assert err.startswith("2 lives, ")
    assert "; simulating 12 stores\nsimulated in " in err


def test_json_csv_and_trace_are_for_machines(lives, command, tmp_path):
    files = ("--output-file", tmp_path / "outcomes.csv", "--trace-file", tmp_path / "again.jsonl")
    code, out, _ = command("simulate", lives, *FEW, "--recency", "traced,0,1", "--json", *files)
    found = json.loads(out)
    assert (code, found["lives"]) == (0, 2)
    assert {row["recency"] for row in found["settings"]} == {"traced", "0", "1"}
    bound = [row for row in found["settings"] if row["policy"] == "bound"]
    assert all(row["regret"] == 0 and row["churn"] is None for row in bound)
    outcomes = pd.read_csv(tmp_path / "outcomes.csv", keep_default_na=False)
    assert set(outcomes["seed"]) == {-1, 0, 1}
    assert (tmp_path / "again.jsonl").read_bytes() == lives.read_bytes()


def test_two_processes_find_what_one_finds(lives, command):
    one = command("simulate", lives, *FEW, "--json")
    assert command("simulate", lives, *FEW, "--json", "--workers", "2")[1] == one[1]


def test_a_policy_of_ones_own_lives_too(lives, command, tmp_path, monkeypatch):
    (tmp_path / "own_policy.py").write_text(
        "def keep(facts, *, max_facts, usage, now):\n"
        "    return [fact['id'] for fact in facts][-max_facts:]\n"
    )
    monkeypatch.chdir(tmp_path)
    asked = (*FEW, "--policy", "fifo,own_policy:keep", "--json")
    settings = json.loads(command("simulate", lives, *asked)[1])["settings"]
    shares = {row["policy"]: row["share"] for row in settings}
    assert shares["fifo"] == shares["own_policy:keep"]


def test_policies_that_are_named_are_compared_in_words(lives, command):
    out = command("simulate", lives, *FEW, "--policy", "recency,fifo")[1]
    assert "fifo meets" in out
    assert "recency" in out.partition("fifo meets")[2]


def test_a_capacity_beyond_all_facts_keeps_all(lives, command):
    asked = (
        "--capacity",
        "99999999999999999999",
        "--policy",
        "hybrid-v1",
        "--seeds",
        "1",
        "--json",
    )
    settings = json.loads(command("simulate", lives, *asked)[1])["settings"]
    assert {row["share"] for row in settings} == {1.0}


def test_a_store_and_a_longmemeval_file_are_traces(root, command):
    data = root / "data" / "sample"
    code, _, err = command("simulate", data / "dataset.json", *FEW, "--policy", "confidence,fifo")
    assert code == 0
    assert "questions that lack a fact" in err
    refusal = command("simulate", data / "store", *FEW)
    assert refusal[0] == 2
    assert "holds no life with a need" in refusal[2]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            (
                '{"time": "2026-01-02", "event": "create", "fact": "a"}\n'
                '{"time": "2026-01-01", "event": "access", "fact": "a"}\n'
            ),
            "line 2: time 2026-01-01 is before that of the event above",
        ),
        (
            '{"time": "2026-01-02", "event": "need", "facts": ["a"]}\n',
            "line 1: fact 'a' was not created before",
        ),
        ('{"time": "2026-01-02", "event": "cre', "the file may be cut in the middle of a line"),
        ("", "holds no event"),
    ],
)
def test_a_broken_trace_is_refused_in_one_line(tmp_path, command, content, said):
    path = tmp_path / "broken.jsonl"
    path.write_text(content)
    code, out, err = command("simulate", path, "--output-file", tmp_path / "out.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert str(path) in err
    assert said in err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--capacity", "-1"), "capacity is -1, and must be a whole number from 0"),
        (("--confidence", "rho=1.5"), "rho is 1.5, and must be in 0..1"),
        (("--confidence", "rho=nan"), "rho is nan, and must be in 0..1"),
        (("--confidence", "sure"), "confidence model 'sure' is none"),
        (("--confidence", "stored", "--capacity", "5"), "has facts without a confidence"),
        (("--recency", "2", "--capacity", "5"), "recency is 2.0, and must be in 0..1"),
        (("--recency", "soon"), "'soon' is no list of numbers in 0..1, or traced"),
        (("--seeds", "1000000000000"), "seeds is 1000000000000, and must be in 1..10000"),
        (("--output-file", "."), ". is a folder; name a file"),
        (("--seeds", "0"), "seeds is 0, and must be in 1..10000"),
        (("--top-k", "-1"), "top_k is -1"),
        (("--remention-probability", "1.1"), "remention_probability is 1.1"),
        (("--policy", "lru", "--capacity", "5"), "policy 'lru' is not one of"),
        (("--policy", "oracle", "--capacity", "5"), "policy oracle must be told"),
        (("nowhere.jsonl",), "trace nowhere.jsonl is no file"),
        (("nowhere.txt",), "trace nowhere.txt is neither one of made, locomo, nor a folder"),
    ],
)
def test_bad_input_is_refused_in_one_line(command, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("simulate", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_locomo_comes_pinned_or_not_at_all(command, tmp_path, monkeypatch):
    cache = ("--cache-dir", tmp_path / "cache")
    refusal = command("simulate", "locomo", *cache)
    assert refusal[0] == 2
    assert "run `deermem-eval fetch locomo` first" in refusal[2]
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    (upstream / locomo.FILE_NAME).write_text("[]")
    refusal = command("fetch", "locomo", "--upstream", upstream, *cache)
    assert refusal[0] == 2
    assert f"{locomo.SHA256} is pinned; it was not kept" in refusal[2]
    assert not list((tmp_path / "cache").rglob("*.json"))
    assert "leave it out" in command("fetch", "locomo", "--dataset", "x", *cache)[2]


def test_locomo_is_ten_lives(reference, command, tmp_path):
    cache = ("--cache-dir", tmp_path / "cache")
    assert command("fetch", "locomo", "--upstream", reference / "locomo", *cache)[0] == 0
    fetched = tmp_path / "cache" / "locomo" / locomo.FILE_NAME
    assert hashlib.sha256(fetched.read_bytes()).hexdigest() == locomo.SHA256
    few = (
        "--capacity",
        "100",
        "--seeds",
        "1",
        "--confidence",
        "rho=0",
        "--policy",
        "confidence,hybrid-v1",
    )
    code, out, _err = command("simulate", "locomo", *few, *cache, "--json")
    found = json.loads(out)
    assert (code, found["lives"], found["facts"]) == (0, 10, 2541)
    assert found["needs"] + found["unanswerable"] == 1540
    shares = {row["policy"]: row["share"] for row in found["settings"]}
    assert abs(shares["confidence"] - shares["hybrid-v1"]) < 0.03
    assert shares["bound"] > 0.86
    fetched.write_text(fetched.read_text("utf-8") + "\n")
    assert "is not the pinned LoCoMo file" in command("simulate", "locomo", *few, *cache)[2]
    shutil.rmtree(tmp_path / "cache")
