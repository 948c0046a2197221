"""Answers from a server on this machine, through the real client and runner."""

import asyncio
import contextlib
import itertools
import json
import re
import socket
import threading
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from deermem_eval.answers import (
    AttemptFailedError,
    Prices,
    ProviderContext,
    RunRequest,
    answer_run,
    load_provider,
    run_tasks,
)
from deermem_eval.answers.chat import checked_base_url, proxy_of
from deermem_eval.answers.run_store import append_attempt, row_path
from deermem_eval.answers.runner import retry_after_seconds
from deermem_eval.cases import load_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol import load_protocol
from tests.chat_server import Answer, ChatServer, completion, serving_chat, zipped

KEY = "sk-RecognisableKey4789"
NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def server():
    with serving_chat(ChatServer()) as made:
        yield made


@pytest.fixture(scope="module")
def sample():
    return load_protocol("sample")


@pytest.fixture(scope="module")
def cases(sample):
    return load_cases(sample)[:4]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """No second of waiting between attempts: the waits themselves are tested apart."""
    monkeypatch.setattr("deermem_eval.answers.runner.FIRST_WAIT_SECONDS", 0.01)
    monkeypatch.setattr("deermem_eval.answers.runner.LONGEST_WAIT_SECONDS", 0.05)


def answered(folder, protocol, cases, server, **changes):
    environment = {
        protocol.config.qa.api_key_env: KEY,
        protocol.config.qa.base_url_env: server.url,
        "HF_TOKEN": "hf_Recognisable",
    }
    overrides = {"qa.timeout_seconds": 1.0, **changes.pop("overrides", {})}
    request = RunRequest("openai", overrides, **changes)
    return asyncio.run(
        answer_run(folder, protocol, cases, request, environment=environment, clock=lambda: NOW)
    )


def rows_of(folder):
    return {path.stem: json.loads(path.read_text()) for path in (folder / "responses").iterdir()}


def attempts_of(folder):
    return [json.loads(line) for line in (folder / "attempts.jsonl").read_text().splitlines()]


def first_request_gets(*answers):
    """The first request seen gets these answers in turn, and every other one a good one."""
    seen = []

    def script(payload, number):
        if not seen:
            seen.append(payload)
        if payload == seen[0]:
            return answers[min(number, len(answers)) - 1]
        return Answer()

    return script


def test_every_row_is_asked_for_once_with_exactly_the_pinned_payload(
    tmp_path, sample, cases, server
):
    report = answered(tmp_path / "run", sample, cases, server)
    assert (len(report.called), report.failed, report.cost) == (8, {}, None)
    tasks = run_tasks(sample, cases)
    sent = Counter(json.dumps(payload, sort_keys=True) for payload, *_ in server.requests)
    assert sent == Counter(json.dumps(task.payload, sort_keys=True) for task in tasks)
    assert {path for *_, path in server.requests} == {"/v1/chat/completions"}
    row = rows_of(tmp_path / "run")[tasks[0].row_id]
    assert row["prediction"] == "YES"
    assert row["response_model"] == "a-model-0731"
    assert row["usage"] == {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    assert (row["class"], row["attempts"]) == ("answered", 1)
    assert row["request_fingerprint"] == tasks[0].fingerprint


GOOD = Answer()
CLASSES = {
    "429 in seconds": ([Answer({}, 429, {"Retry-After": "0"}), GOOD], "answered", 2),
    "429 with a date": (
        [Answer({}, 429, {"Retry-After": format_datetime(NOW - timedelta(1))}), GOOD],
        "answered",
        2,
    ),
    "429 negative": ([Answer({}, 429, {"Retry-After": "-5"}), GOOD], "answered", 2),
    "429 with junk": ([Answer({}, 429, {"Retry-After": "soon"}), GOOD], "answered", 2),
    "429 for an hour": ([Answer({}, 429, {"Retry-After": "3600"}), GOOD], "answered", 2),
    "500 then 200": ([Answer({}, 500), GOOD], "answered", 2),
    "hang": ([Answer(hang=1.5), GOOD], "answered", 2),
    "drip": ([Answer(drip=True), GOOD], "answered", 2),
    "cut": ([Answer(cut=True), GOOD], "answered", 2),
    "gzip": ([zipped(completion("NO"))], "answered", 1),
    "blank lines": ([Answer(raw=b"\n\n  " + json.dumps(completion()).encode())], "answered", 1),
    "no usage": ([Answer(completion(usage=False))], "answered", 1),
    "sentinel": ([Answer(completion(" Insufficient."))], "abstained", 1),
    "no content": ([Answer(completion(None, reasoning_content="hm"))], "empty", 1),
    "spent on reasoning": (
        [Answer(completion(None, finish="length", reasoning_content="hm"))],
        "reasoning-exhausted",
        1,
    ),
    "in parts": ([Answer(completion([{"type": "text", "text": "YES"}]))], "answered", 1),
    "cut by the budget": ([Answer(completion("It is", finish="length"))], "truncated", 1),
    "filtered": ([Answer(completion("", finish="content_filter"))], "filtered", 1),
}


@pytest.mark.parametrize("name", CLASSES)
def test_each_reply_is_classed_and_the_run_goes_on(tmp_path, sample, cases, server, name):
    answers, expected, attempts = CLASSES[name]
    server.script = first_request_gets(*answers)
    report = answered(tmp_path / "run", sample, cases, server, overrides={"qa.workers": 1})
    assert not report.failed
    first = run_tasks(sample, cases)[0].row_id
    row = rows_of(tmp_path / "run")[first]
    assert (row["class"], row["attempts"]) == (expected, attempts)
    assert len(rows_of(tmp_path / "run")) == 8
    assert len(attempts_of(tmp_path / "run")) == 7 + attempts


FAILURES = {
    "empty body": (Answer(raw=b""), "holds no choice", 1),
    "no choices": (Answer({"choices": []}), "holds no choice", 1),
    "null choices": (Answer({"choices": None}), "holds no choice", 1),
    "an error with 200": (Answer({"error": {"message": "no"}}), "holds no choice", 1),
    "wrong JSON": (Answer(raw=b'{"choices": ['), "holds no choice", 1),
    "a list": (Answer(raw=b"[]"), "holds no choice", 1),
    "not UTF-8": (Answer(raw=b'{"choices": "\xff\xfe"}'), "holds no choice", 1),
    "50 MB": (
        Answer(raw=b" " * 50_000_000 + json.dumps(completion()).encode()),
        "holds no choice",
        1,
    ),
    "400": (Answer({"error": {"message": "no such model"}}, 400), "answers 400: no such model", 1),
    "503 for ever": (Answer({}, 503), "answers 503.*after 3 attempts", 3),
    "cut for ever": (Answer(cut=True), "connection failed.*after 3 attempts", 3),
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_is_said_and_the_other_rows_are_there(tmp_path, sample, cases, server, name):
    answer, said, attempts = FAILURES[name]
    server.script = first_request_gets(answer)
    report = answered(tmp_path / "run", sample, cases, server, overrides={"qa.workers": 1})
    first = run_tasks(sample, cases)[0].row_id
    twins = {
        task.row_id for task in run_tasks(sample, cases) if task.payload == server.requests[0][0]
    }
    assert set(report.failed) == twins
    assert re.search(said, report.failed[first])
    assert sum(entry["row_id"] == first for entry in attempts_of(tmp_path / "run")) == attempts
    assert len(rows_of(tmp_path / "run")) == 8 - len(twins)
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_a_second_start_asks_for_what_is_missing_and_says_what_differs(
    tmp_path, sample, cases, server
):
    folder = tmp_path / "run"
    answered(folder, sample, cases, server)
    assert answered(folder, sample, cases, server).reused == 8
    assert len(server.requests) == 8
    tasks = run_tasks(sample, cases)
    row_path(folder, tasks[0].row_id).unlink()
    row_path(folder, tasks[1].row_id).write_text("{half")
    row_path(folder, tasks[2].row_id).write_bytes(row_path(folder, tasks[3].row_id).read_bytes())
    report = answered(folder, sample, cases, server)
    assert (report.reused, len(report.called)) == (5, 3)
    assert set(report.again) == {tasks[1].row_id, tasks[2].row_id}
    assert "differ from the protocol's" in report.again[tasks[2].row_id]


@pytest.mark.parametrize(
    "field",
    [
        *("schema_version", "row_id", "case_id", "source", "scenario", "policy", "capacity"),
        *("kept_fact_ids", "request_fingerprint"),
    ],
)
def test_a_row_whose_identity_was_changed_is_asked_for_again(
    tmp_path, sample, cases, server, field
):
    folder = tmp_path / "run"
    answered(folder, sample, cases, server)
    path = row_path(folder, run_tasks(sample, cases)[0].row_id)
    row = json.loads(path.read_text())
    value = row[field]
    row[field] = value + 1 if isinstance(value, int) else value[1:] + value[:1]
    path.write_text(json.dumps(row))
    report = answered(folder, sample, cases, server)
    assert (report.reused, len(report.called)) == (7, 1)
    assert field in report.again[path.stem]


def test_other_settings_are_refused_with_what_changed(tmp_path, sample, cases, server):
    folder = tmp_path / "run"
    answered(folder, sample, cases, server)
    with pytest.raises(DeermemEvalError, match="was made with another config; name a new folder"):
        answered(folder, sample, cases, server, overrides={"qa.model": "other"})
    (folder / "config.yaml").write_text("changed")
    with pytest.raises(DeermemEvalError, match=r"config.yaml was changed; restore it"):
        answered(folder, sample, cases, server)
    assert len(server.requests) == 8


def test_a_folder_of_other_files_is_refused(tmp_path, sample, cases, server):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DeermemEvalError, match=r"holds notes.txt and no qa_run.json: it is no run"):
        answered(tmp_path, sample, cases, server)
    assert server.requests == []


def test_two_runs_in_one_folder_are_kept_apart(tmp_path, sample, cases, server):
    from deermem_eval.answers.run_store import sole_writer

    with sole_writer(tmp_path / "run"), pytest.raises(DeermemEvalError, match="another run is at"):
        answered(tmp_path / "run", sample, cases, server)
    assert server.requests == []


def test_no_call_begins_once_the_cost_is_reached(tmp_path, sample, cases, server):
    report = answered(
        tmp_path / "run",
        sample,
        cases,
        server,
        overrides={"qa.workers": 1},
        prices=Prices(1_000.0, 1_000.0),
        max_cost=0.3,
    )
    assert len(report.called) == 3  # 0.11 each
    assert report.cost == pytest.approx(0.33)
    assert report.stopped == "the cost has reached 0.3"


def test_a_stop_finishes_what_is_in_flight(tmp_path, sample, cases, server):
    server.script = lambda payload, number: Answer(hang=0.2)

    async def stopped():
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.1, stop.set)
        qa = sample.config.qa
        return await answer_run(
            tmp_path / "run",
            sample,
            cases,
            RunRequest("openai", {"qa.workers": 2}),
            environment={qa.api_key_env: KEY, qa.base_url_env: server.url},
            clock=lambda: NOW,
            stop=stop,
        )

    report = asyncio.run(stopped())
    assert report.stopped == "interrupted"
    assert len(report.called) == len(rows_of(tmp_path / "run")) == 2


def test_the_key_goes_to_the_endpoint_and_the_hubs_token_nowhere(tmp_path, sample, cases, server):
    answered(tmp_path / "run", sample, cases, server)
    for _, headers, _ in server.requests:
        assert headers["authorization"] == f"Bearer {KEY}"
        assert "hf_Recognisable" not in str(headers)


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_the_address_may_end_as_users_write_it(tmp_path, sample, cases, server, suffix):
    server.url += suffix
    answered(tmp_path / "run", sample, cases[:1], server)
    assert {path for *_, path in server.requests} == {"/v1/chat/completions"}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("api.example.com/v1", "is no http"),
        ("ftp://api.example.com", "is no http"),
        ("http://", "is no http"),
        ("http://[::bad", "is no http"),
        ("http://api.example.com/v1", "is plain http to another machine; use https"),
        ("https://user:secret@api.example.com", "carries more than an address"),
        ("https://api.example.com/v1?key=secret", "carries more than an address"),
    ],
)
def test_an_unsafe_address_is_refused_without_repeating_it(url, said):
    with pytest.raises(DeermemEvalError, match=said) as caught:
        checked_base_url(url, "BASE_URL")
    assert "secret" not in str(caught.value)


def test_missing_variables_are_named(sample):
    qa = sample.config.qa
    for environment in ({}, {qa.api_key_env: KEY}, {qa.base_url_env: "https://x"}):
        with pytest.raises(DeermemEvalError, match="needs the environment variable"):
            load_provider("openai", ProviderContext(qa, "", environment))
    with pytest.raises(DeermemEvalError, match="HF_TOKEN; set it"):
        load_provider("huggingface", ProviderContext(qa, "", {}))
    with pytest.raises(DeermemEvalError, match="provider 'gpt' is not one of huggingface, local"):
        load_provider("gpt", ProviderContext(qa, "", {}))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-5", 0.0),
        (format_datetime(NOW + timedelta(seconds=30)), 30.0),
        (format_datetime(NOW - timedelta(seconds=30)), 0.0),
        ("Tue, 01 Dec 2026 00:00:10 GMT", 10.0),
        ("Tue, 99 Dec 2026", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, seconds):
    assert retry_after_seconds(value, NOW) == seconds


def test_a_torn_line_of_the_journal_is_closed(tmp_path):
    append_attempt(tmp_path, {"row_id": "a"})
    with (tmp_path / "attempts.jsonl").open("a") as file:
        file.write('{"row_id": "b", "att')
    append_attempt(tmp_path, {"row_id": "c"})
    lines = (tmp_path / "attempts.jsonl").read_text().splitlines()
    assert [lines[0], lines[2]] == ['{"row_id": "a"}', '{"row_id": "c"}']


def test_a_provider_of_ones_own_is_one_function(tmp_path, sample, cases, monkeypatch):
    """It may return a plain text, and fail as ours do."""

    def make(context):
        async def answer(request):
            if "confidence" in request.row_id:
                raise AttemptFailedError("not today")
            return context.argument

        return answer

    class Point:
        name, value = "mine", "mine:make"

        def load(self):
            return make

    monkeypatch.setattr("deermem_eval.answers.providers.entry_points", lambda group: [Point()])
    request = RunRequest("mine:forty-two", {})
    report = asyncio.run(
        answer_run(tmp_path / "run", sample, cases, request, environment={}, clock=lambda: NOW)
    )
    assert set(report.failed.values()) == {"not today"}
    assert {row["prediction"] for row in rows_of(tmp_path / "run").values()} == {"forty-two"}


def test_a_fault_of_the_provider_is_its_rows_and_of_no_other(tmp_path, sample, cases, monkeypatch):
    def make(context):
        async def answer(request):
            if "confidence" in request.row_id:
                raise KeyError("a fault")
            return "YES"

        return answer

    class Point:
        name, value = "mine", "mine:make"

        def load(self):
            return make

    monkeypatch.setattr("deermem_eval.answers.providers.entry_points", lambda group: [Point()])
    run = answer_run(
        tmp_path / "run", sample, cases, RunRequest("mine", {}), environment={}, clock=lambda: NOW
    )
    report = asyncio.run(run)
    assert set(report.failed.values()) == {"the provider raised KeyError: 'a fault'"}
    assert (len(report.called), report.stopped) == (4, "")


def test_a_disk_that_fills_up_stops_the_run_and_keeps_what_was_in_flight(
    tmp_path, sample, cases, server, monkeypatch
):
    """The third row cannot be stored; those in flight at that moment are stored all the same."""
    from deermem_eval.answers import runner

    server.script = lambda payload, number: Answer(hang=0.1)
    real, calls = runner.write_answer, itertools.count(1)

    def write_answer(folder, task, *arguments, **options):
        if next(calls) == 3:
            raise DeermemEvalError("the disk is full; free the space")
        real(folder, task, *arguments, **options)

    monkeypatch.setattr(runner, "write_answer", write_answer)
    report = answered(tmp_path / "run", sample, cases, server)
    assert report.stopped == "the disk is full; free the space"
    assert list(report.failed.values()) == ["the disk is full; free the space"]
    assert len(rows_of(tmp_path / "run")) == len(report.called) == len(server.requests) - 1
    assert len(server.requests) < 8


def test_a_folder_in_the_place_of_the_journal_is_refused(tmp_path, sample, cases, server):
    (tmp_path / "run" / "attempts.jsonl").mkdir(parents=True)
    with pytest.raises(DeermemEvalError, match=r"attempts.jsonl is no regular file"):
        answered(tmp_path / "run", sample, cases, server)
    assert server.requests == []


def test_a_wrong_key_stops_the_run_with_one_call(tmp_path, sample, cases, server):
    server.script = lambda payload, number: Answer({"error": {"message": f"bad {KEY}"}}, 401)
    report = answered(tmp_path / "run", sample, cases, server, overrides={"qa.workers": 1})
    assert report.stopped == "the server answers 401: bad [key]"
    assert len(server.requests) == 1


def test_another_provider_does_not_go_on_with_a_run(tmp_path, sample, cases, server):
    answered(tmp_path / "run", sample, cases, server)
    request = RunRequest("reader", {"qa.timeout_seconds": 1.0})
    run = answer_run(tmp_path / "run", sample, cases, request, environment={}, clock=lambda: NOW)
    with pytest.raises(DeermemEvalError, match="is answered by another provider"):
        asyncio.run(run)


ODD = [
    Answer(raw=b"[" * 100_000),
    Answer(raw=b'{"choices": [{"message": {"content": "a \\ud83d"}, "finish_reason": "stop"}]}'),
    Answer({"error": {"message": "x"}}, 429, {"Retry-After": "Fri, 31 Dec 9999 23:59:59 +9999"}),
    zipped({"choices": [], "padding": " " * 60_000_000}),
]


@pytest.mark.parametrize("answer", ODD, ids=["deep", "surrogate", "far future", "packed"])
def test_odd_replies_cost_no_other_row(tmp_path, sample, cases, server, answer):
    server.script = first_request_gets(answer)
    answered(tmp_path / "run", sample, cases, server, overrides={"qa.workers": 1})
    assert len(rows_of(tmp_path / "run")) >= 6


@pytest.mark.parametrize("key", ["sk-\nx", "schlüssel", "two words"])
def test_what_can_be_no_key_is_refused_without_repeating_it(sample, key):
    qa = sample.config.qa
    environment = {qa.api_key_env: key, qa.base_url_env: "https://x"}
    with pytest.raises(DeermemEvalError, match="holds what can be no key") as caught:
        load_provider("openai", ProviderContext(qa, "", environment))
    assert key not in str(caught.value)


def test_a_key_that_an_answer_repeats_is_taken_out_of_it(tmp_path, sample, cases, server):
    server.script = lambda payload, number: Answer(completion(f"Your key is {KEY}.", finish=KEY))
    answered(tmp_path / "run", sample, cases, server)
    rows = rows_of(tmp_path / "run").values()
    assert {row["prediction"] for row in rows} == {"Your key is [key]."}
    for path in (tmp_path / "run").rglob("*.json*"):
        assert KEY not in path.read_text()


def test_a_word_for_a_server_without_keys_may_stand_in_an_answer(tmp_path, sample, cases, server):
    environment = {sample.config.qa.api_key_env: "x", sample.config.qa.base_url_env: server.url}
    server.script = lambda payload, number: Answer(completion("six boxes"))
    request = RunRequest("openai", {})
    run = answer_run(
        tmp_path / "run", sample, cases, request, environment=environment, clock=lambda: NOW
    )
    asyncio.run(run)
    assert {row["prediction"] for row in rows_of(tmp_path / "run").values()} == {"six boxes"}


def test_failed_rows_are_counted_by_policy(tmp_path, sample, cases, server):
    server.script = lambda payload, number: Answer({}, 400)
    report = answered(tmp_path / "run", sample, cases, server)
    assert report.classes == {("confidence", "failed"): 4, ("hybrid-v1", "failed"): 4}


def test_a_stop_does_not_wait_for_the_server_to_be_free_again(
    tmp_path, sample, cases, server, monkeypatch
):
    monkeypatch.setattr("deermem_eval.answers.runner.LONGEST_WAIT_SECONDS", 60.0)
    server.script = lambda payload, number: Answer({}, 429, {"Retry-After": "50"})
    qa = sample.config.qa

    async def stopped():
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.5, stop.set)
        environment = {qa.api_key_env: KEY, qa.base_url_env: server.url}
        run = answer_run(
            *(tmp_path / "run", sample, cases, RunRequest("openai", {"qa.workers": 2})),
            environment=environment,
            clock=lambda: NOW,
            stop=stop,
        )
        return await asyncio.wait_for(run, 20)

    report = asyncio.run(stopped())
    assert report.stopped == "interrupted"
    assert len(server.requests) == 2
    assert set(report.failed.values()) == {"the run was stopped before it was asked again"}


def test_a_proxy_is_used_as_the_environment_says_and_never_to_this_machine(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert proxy_of("https", "api.example.com") is None
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.com:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.com:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example.com")
    assert proxy_of("https", "api.example.com") == "http://proxy.example.com:3128"
    assert proxy_of("https", "inside.example.com") is None
    assert proxy_of("http", "127.0.0.1") is None


def test_a_proxy_sees_the_hosts_name_and_no_key(tmp_path, sample, cases, monkeypatch):
    with closing(socket.create_server(("127.0.0.1", 0))) as proxy:
        seen = []

        def refuse():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = proxy.accept()
                    seen.append(connection.recv(4096))
                    connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                    connection.close()

        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        qa = sample.config.qa
        environment = {qa.api_key_env: KEY, qa.base_url_env: "https://api.example.test/v1"}
        run = answer_run(
            *(tmp_path / "run", sample, cases[:1], RunRequest("openai", {})),
            environment=environment,
            clock=lambda: NOW,
        )
        report = asyncio.run(run)
    assert all("502" in reason for reason in report.failed.values())
    assert seen
    for request in seen:
        assert request.startswith(b"CONNECT api.example.test:443 ")
        assert KEY.encode() not in request


def test_the_hubs_providers_get_its_token_and_the_payload(
    tmp_path, sample, cases, server, monkeypatch
):
    """The router's address is the client's own, and stood in for here."""
    from huggingface_hub.inference._providers._common import AutoRouterConversationalTask

    monkeypatch.setattr(
        AutoRouterConversationalTask, "_prepare_base_url", lambda self, api_key: server.url
    )
    run = answer_run(
        *(tmp_path / "run", sample, cases, RunRequest("huggingface", {})),
        environment={"HF_TOKEN": "hf_Recognisable"},
        clock=lambda: NOW,
    )
    report = asyncio.run(run)
    assert (len(report.called), report.failed) == (8, {})
    for payload, headers, path in server.requests:
        assert headers["authorization"] == "Bearer hf_Recognisable"
        assert path == "/v1/chat/completions"
        assert payload in [task.payload for task in run_tasks(sample, cases)]


def test_a_provider_of_the_hub_that_does_not_have_the_model_fails_in_words(
    tmp_path, sample, cases, monkeypatch
):
    from huggingface_hub.inference._providers._common import AutoRouterConversationalTask

    def refuse(self, api_key):
        raise ValueError("Model answer-model is not supported")

    monkeypatch.setattr(AutoRouterConversationalTask, "_prepare_base_url", refuse)
    run = answer_run(
        *(tmp_path / "run", sample, cases, RunRequest("huggingface", {})),
        environment={"HF_TOKEN": "hf_Recognisable"},
        clock=lambda: NOW,
    )
    assert set(asyncio.run(run).failed.values()) == {"Model answer-model is not supported"}


def test_the_hubs_token_is_told_from_other_keys(sample):
    with pytest.raises(DeermemEvalError, match="those begin with hf_"):
        load_provider("huggingface", ProviderContext(sample.config.qa, "", {"HF_TOKEN": "sk-x"}))


def test_a_config_of_somebody_else_is_not_written_over(tmp_path, sample, cases, server):
    (tmp_path / "config.yaml").write_text("mine: true\n")
    with pytest.raises(DeermemEvalError, match=r"holds config.yaml and no qa_run.json"):
        answered(tmp_path, sample, cases, server)
    assert (tmp_path / "config.yaml").read_text() == "mine: true\n"


def test_the_hubs_token_goes_to_no_address_in_the_place_of_a_model(sample):
    qa = sample.config.qa.model_copy(update={"model": "http://127.0.0.1:9/"})
    with pytest.raises(DeermemEvalError, match="needs a model's name"):
        load_provider("huggingface", ProviderContext(qa, "", {"HF_TOKEN": "hf_x"}))
