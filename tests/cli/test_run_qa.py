"""`run-qa` and `grade-qa` from the command line."""

import json

import pytest

from tests.chat_server import Answer, ChatServer, completion, serving_chat


@pytest.fixture
def server(monkeypatch):
    with serving_chat(ChatServer()) as made:
        monkeypatch.setenv("DEERMEM_EVAL_ANSWER_API_KEY", "sk-of-a-test")
        monkeypatch.setenv("DEERMEM_EVAL_ANSWER_BASE_URL", made.url)
        yield made


SAMPLE = ("--protocol", "sample")


def test_from_asking_to_a_verified_run(command, tmp_path):
    folder = tmp_path / "run"
    read = ("run-qa", *SAMPLE, "--provider", "reader", "--output-dir", folder)
    code, out, err = command(*read)
    assert (code, err) == (0, "")
    assert f"{folder}: 0 rows were there, 90 answered, 0 failed; cost unknown" in out
    assert "confidence abstained: 19" in out
    code, out, _ = command("grade-qa", *SAMPLE, "--output-dir", folder)
    assert code == 0
    digest = out.split()[-1]
    assert command("verify", folder, *SAMPLE, "--expect-digest", digest)[0] == 0
    assert "90 rows were there, 0 answered" in command(*read)[1]
    code, _, err = command("grade-qa", *SAMPLE, "--output-dir", folder)
    assert code == 2
    assert "grades are never overwritten" in err


def test_overrides_go_into_the_payload_and_the_runs_own_config(command, server, tmp_path):
    code, out, _ = command(
        *(
            "run-qa",
            *SAMPLE,
            "--output-dir",
            tmp_path / "run",
            "--model",
            "mine",
            "--capacity",
            "5",
        ),
        *(
            "--temperature",
            "0.5",
            "--max-tokens",
            "99",
            "--workers",
            "8",
            "--policies",
            "hybrid-v1",
        ),
        "--json",
    )
    assert (code, json.loads(out)["called"]) == (0, 45)
    payload = server.requests[0][0]
    assert (payload["model"], payload["temperature"], payload["max_tokens"]) == ("mine", 0.5, 99)
    assert "model: mine" in (tmp_path / "run" / "config.yaml").read_text()
    code, out, _ = command("grade-qa", *SAMPLE, "--output-dir", tmp_path / "run")
    assert code == 0
    assert "hybrid-v1" in out
    code, out, _ = command("verify", tmp_path / "run", *SAMPLE)
    assert code == 0


@pytest.mark.parametrize("verb", ["grade-qa", "verify"])
def test_a_run_that_overrides_more_than_it_may_is_refused(command, tmp_path, verb):
    folder = tmp_path / "run"
    read = ("run-qa", *SAMPLE, "--provider", "reader", "--output-dir", folder, "--capacity", "5")
    assert command(*read)[0] == 0
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("bootstrap_seed: 4789", "bootstrap_seed: 1"))
    place = (folder,) if verb == "verify" else ("--output-dir", folder)
    code, out, err = command(verb, *SAMPLE, *place)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "statistics.bootstrap_seed is not the protocol's, and no run may override it" in err


def test_repeats_are_sibling_runs(command, server, tmp_path):
    code, _, _ = command(
        "run-qa", *SAMPLE, "--output-dir", tmp_path / "run", "--repeats", "2", "--workers", "16"
    )
    assert code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-1", "run-2"]
    assert len(server.requests) == 180


def test_the_token_budget_is_named_as_the_cause(command, server, tmp_path):
    server.script = lambda payload, number: Answer(completion("It", finish="length"))
    code, out, _ = command("run-qa", *SAMPLE, "--output-dir", tmp_path / "run", "--workers", "16")
    assert code == 0
    assert "the token budget is the cause of 90: raise --max-tokens" in out


def test_failed_rows_exit_1_and_are_named(command, server, tmp_path):
    server.script = lambda payload, number: Answer({"error": {"message": "no"}}, 400)
    code, out, err = command("run-qa", *SAMPLE, "--output-dir", tmp_path / "run", "--workers", "16")
    assert code == 1
    assert "90 failed" in out
    assert err.count("\n") == 1
    assert " and 89 more rows: the server answers 400: no" in err
    code, _, err = command("grade-qa", *SAMPLE, "--output-dir", tmp_path / "run")
    assert code == 2
    assert "is missing; " in err
    assert "and 85 more" in err


def test_a_key_that_the_server_does_not_take_is_refused_in_one_line(command, server, tmp_path):
    server.script = lambda payload, number: Answer({"error": {"message": "no such key"}}, 401)
    code, out, err = command("run-qa", *SAMPLE, "--output-dir", tmp_path / "run")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "the server answers 401: no such key; check the key" in err
    assert len(server.requests) <= 3  # one a worker


def test_a_cost_that_is_reached_exits_1(command, server, tmp_path):
    code, out, _ = command(
        *("run-qa", *SAMPLE, "--output-dir", tmp_path / "run", "--workers", "1"),
        *("--prices", "1000,1000", "--max-cost", "0.2"),
    )
    assert code == 1
    assert "2 answered" in out
    assert "cost 0.2200" in out
    assert "stopped before it was done: the cost has reached 0.2" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "needs the environment variable DEERMEM_EVAL_ANSWER_API_KEY and"),
        (
            ["--provider", "gpt"],
            "provider 'gpt' is not one of huggingface, local, openai, reader, replay",
        ),
        (["--provider", "reader:x"], "provider reader takes no argument; leave out 'x'"),
        (["--provider", "local:x"], "provider local takes no argument"),
        (["--provider", "replay"], "write replay:FOLDER"),
        (["--provider", "replay:/nowhere"], "holds neither qa.rows.jsonl nor answers"),
        (["--provider", "reader", "--capacity", "11"], "capacity 11 is outside 1..10"),
        (["--provider", "reader", "--temperature", "3"], "qa.temperature: "),
        (["--provider", "reader", "--policies", "lru"], "policy 'lru' is not one of"),
        (["--max-cost", "1"], "--max-cost needs --prices"),
        (["--max-cost", "nan", "--prices", "1,1"], "'nan' is not a sum from 0"),
        (["--max-cost", "-1", "--prices", "1,1"], "'-1' is not a sum from 0"),
        (["--prices", "nan,1"], "'nan,1' is not two prices"),
        (["--temperature", "nan"], "qa.temperature: "),
        (["--prices", "1"], "'1' is not two prices"),
        (["--provider", "reader", "--repeats", "2", "--output-dir", "/"], "no sibling runs"),
        (["--workers", "0"], "'0' is not a whole number from 1"),
        (["--protocol", "pr4789"], "a request needs the answer prompt"),
    ],
)
def test_bad_input_is_refused_in_one_line_and_nothing_is_written(
    command, tmp_path, monkeypatch, arguments, said
):
    for name in ("DEERMEM_EVAL_ANSWER_API_KEY", "DEERMEM_EVAL_ANSWER_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    protocol = () if "--protocol" in arguments else SAMPLE
    cache = ("--cache-dir", tmp_path / "cache")
    code, out, err = command(
        "run-qa", *protocol, *cache, "--output-dir", tmp_path / "run", *arguments
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_grading_what_is_no_run_is_refused(command, tmp_path):
    code, _, err = command("grade-qa", *SAMPLE, "--output-dir", tmp_path)
    assert (code, err.count("\n")) == (2, 1)
    assert "qa_run.json does not exist" in err
