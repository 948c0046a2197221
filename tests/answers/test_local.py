"""A real language model behind a real server: asked, killed, gone on with, graded, verified."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from deermem_eval.answers import ProviderContext, load_provider, local
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.places import default_cache
from deermem_eval.protocol import SMOLLM2, load_protocol
from tests.cut_sample import write_cut_sample

KEY = "key-of-the-small-model"
VARIABLES = ("DEERMEM_EVAL_ANSWER_BASE_URL", "DEERMEM_EVAL_ANSWER_API_KEY")


@pytest.fixture(scope="module")
def weights():
    cache = default_cache()
    if not SMOLLM2.path(cache).exists():
        pytest.skip("the small model is not at hand (deermem-eval fetch smollm2)")
    return SMOLLM2.path(cache)


@pytest.fixture(scope="module")
def server(weights):
    return local.serve_weights(weights, KEY)


@pytest.fixture(scope="module")
def cut(root, tmp_path_factory):
    return write_cut_sample(root, tmp_path_factory.mktemp("protocol") / "cut")


@pytest.fixture(scope="module")
def run_qa(server, cut):
    """Return the command line of `run-qa`, and its environment."""

    def command(folder, *arguments, key=KEY):
        line = [sys.executable, "-m", "deermem_eval", "run-qa", "--protocol", str(cut)]
        line += ["--output-dir", str(folder), "--max-tokens", "16", "--capacity", "3"]
        line += [*arguments, "--json"]
        values = dict(zip(VARIABLES, (server.listening_address, key), strict=True))
        return line, {**os.environ, **values}

    return command


def done(command_and_environment):
    line, environment = command_and_environment
    return subprocess.run(line, env=environment, check=False, capture_output=True, text=True)


@pytest.fixture(scope="module")
def killed_and_gone_on_with(run_qa, tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers") / "run"
    line, environment = run_qa(folder)
    with subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL) as process:
        while len(list(folder.glob("responses/*.json"))) < 4:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    stored = len(list(folder.glob("responses/*.json")))
    rest = done(run_qa(folder))
    assert rest.returncode == 0, rest.stderr
    return folder, stored, json.loads(rest.stdout)


def predictions(folder):
    rows = [json.loads(path.read_text("utf-8")) for path in folder.glob("responses/*.json")]
    return {row["row_id"]: row["prediction"] for row in rows}


def test_a_killed_run_asks_only_for_the_rest(killed_and_gone_on_with):
    folder, stored, report = killed_and_gone_on_with
    assert (report["reused"], report["called"]) == (stored, 12 - stored)
    assert 4 <= stored < 12
    assert len(predictions(folder)) == 12


def test_the_answers_are_graded_and_verified_and_named_for_what_they_are(
    killed_and_gone_on_with, command, cut
):
    folder, _, _ = killed_and_gone_on_with
    code, out, _ = command("grade-qa", "--protocol", cut, "--output-dir", folder)
    assert code == 0
    assert f"answered by {SMOLLM2.label}" in out
    digest = out.split()[-1]
    assert command("verify", folder, "--protocol", cut, "--expect-digest", digest)[0] == 0
    row = json.loads(next(folder.glob("responses/*.json")).read_text("utf-8"))
    assert row["response_model"] == SMOLLM2.label
    assert set(row["usage"]) >= {"prompt_tokens", "completion_tokens"}


def test_the_provider_with_a_server_of_its_own_gives_the_same_answers(
    killed_and_gone_on_with, run_qa, tmp_path
):
    folder, _, _ = killed_and_gone_on_with
    mine = done(run_qa(tmp_path / "run", "--provider", "local", "--policies", "hybrid-v1"))
    assert mine.returncode == 0, mine.stderr
    assert mine.stderr == ""
    answered = predictions(tmp_path / "run")
    assert len(answered) == 6
    assert answered.items() <= predictions(folder).items()


def test_a_wrong_key_is_refused_in_one_line(run_qa, tmp_path):
    refused = done(run_qa(tmp_path / "run", key="another-key"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1
    assert "the server answers 401: Invalid API Key" in refused.stderr
    assert "another-key" not in refused.stderr


@pytest.fixture
def context(root, tmp_path):
    return ProviderContext(load_protocol("sample").config.qa, "", {}, tmp_path)


def test_weights_that_are_not_there_or_not_the_pinned_ones_are_refused(context, tmp_path):
    with pytest.raises(DeermemEvalError, match="run `deermem-eval fetch smollm2` first"):
        load_provider("local", context)
    path = SMOLLM2.path(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"GGUF and nothing more")
    assert sha256_hex(path.read_bytes()) != SMOLLM2.sha256
    with pytest.raises(DeermemEvalError, match="is not the pinned file"):
        load_provider("local", context)


def test_a_missing_runtime_is_refused(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DeermemEvalError, match=r"pip install 'deermem-eval\[local\]'"):
        local.refuse_missing_runtime()


def test_a_processor_without_avx2_is_refused_before_the_runtime_is_loaded(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: True)
    found = {"SIMD Extensions": {"baseline": ["X86_V2"], "not found": ["X86_V3"]}}
    monkeypatch.setattr("numpy.show_config", lambda mode: found)
    with pytest.raises(DeermemEvalError, match="AVX2"):
        local.refuse_missing_runtime()
