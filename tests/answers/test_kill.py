"""A run that is killed at each step of writing loses no row that was paid for."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from tests.chat_server import Answer, ChatServer, serving_chat

STEPS = {
    "before a row": ("deermem_eval.answers.runner", "write_answer", "before"),
    "after a row": ("deermem_eval.answers.runner", "write_answer", "after"),
    "before the temporary file": ("deermem_eval.files", "new_file", "before"),
    "before the rename": ("deermem_eval.files", "_sync_file", "after"),
    "after the rename": ("deermem_eval.files", "_settle", "before"),
    "before the journal": ("deermem_eval.answers.runner", "append_attempt", "before"),
    "after the journal": ("deermem_eval.answers.runner", "append_attempt", "after"),
}

CHILD = """
    import importlib, itertools, os, signal, sys
    from deermem_eval.cli import main
    module, name, when, number = sys.argv[1:5]
    target = importlib.import_module(module)
    real, calls = getattr(target, name), itertools.count(1)

    def wrapped(*arguments, **options):
        mine = next(calls)  # the calls come from several threads
        if mine == int(number) and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **options)
        if mine == int(number) and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(target, name, wrapped)
    main(sys.argv[5:])
"""


@pytest.fixture
def server():
    with serving_chat(ChatServer()) as made:
        yield made


def environment(server):
    return {
        **os.environ,
        "DEERMEM_EVAL_ANSWER_API_KEY": "k",
        "DEERMEM_EVAL_ANSWER_BASE_URL": server.url,
    }


def arguments(folder):
    return ["run-qa", "--protocol", "sample", "--output-dir", str(folder), "--json"]


def go_on(folder, server):
    done = subprocess.run(
        [sys.executable, "-m", "deermem_eval", *arguments(folder)],
        env=environment(server),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_run_goes_on_and_repeats_no_stored_row(tmp_path, server, step):
    module, name, when = STEPS[step]
    folder = tmp_path / "run"
    number = "20"
    child = [sys.executable, "-c", textwrap.dedent(CHILD), module, name, when, number]
    done = subprocess.run(
        [*child, *arguments(folder)], env=environment(server), check=False, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    stored = sorted(path.stem for path in (folder / "responses").glob("*.json"))
    assert stored
    for row in stored:
        assert json.loads((folder / "responses" / f"{row}.json").read_text())["row_id"] == row
    asked = len(server.requests)
    report = go_on(folder, server)
    assert report["reused"] == len(stored)
    assert report["called"] == 90 - len(stored)
    assert len(server.requests) == asked + 90 - len(stored)
    assert asked - len(stored) <= 4  # in flight: one a worker, and the one that was being written


def test_ctrl_c_finishes_what_is_in_flight_and_says_how_to_go_on(tmp_path, server):
    server.script = lambda payload, number: Answer(hang=0.3)
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "deermem_eval", *arguments(folder)]
    with subprocess.Popen(
        command,
        env=environment(server),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while len(server.requests) < 6:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command goes on where it was" in err
    stored = len(list((folder / "responses").glob("*.json")))
    assert stored == len(server.requests) == json.loads(out)["called"]
    server.script = lambda payload, number: Answer()
    assert go_on(folder, server)["reused"] == stored
