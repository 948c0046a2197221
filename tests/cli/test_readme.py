"""The README's commands that ask a model, run as they stand, against servers that speak the same."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chat_server import Answer, ChatServer, completion, serving_chat

EXTRAS = {
    "vLLM": {"prompt_logprobs": None, "kv_transfer_params": None, "service_tier": None},
    "llama.cpp": {"timings": {"prompt_n": 37, "predicted_ms": 1209.177}, "id": "chatcmpl-x"},
    "Ollama": {"system_fingerprint": "fp_ollama"},
}


def blocks(root):
    text = (root / "README.md").read_text("utf-8")
    section = text[text.index("## Ask a model") : text.index("## Prove a run")]
    indented = re.findall(r"(?:^    .+\n)+", section, re.MULTILINE)
    return [re.sub("^    ", "", block, flags=re.MULTILINE) for block in indented]


def test_each_way_takes_three_lines(root):
    assert [block.count("\n") for block in blocks(root)] == [3, 3, 3]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("speaks_like", EXTRAS)
def test_the_three_lines_give_a_graded_run(root, tmp_path, place, speaks_like):
    body = completion("Weekly.") | EXTRAS[speaks_like]
    with serving_chat(ChatServer(lambda payload, number: Answer(body))) as server:
        script, count = re.subn(r"https?://[^/ ]+(?=/v1)", server.url, blocks(root)[place])
        assert count == 1
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=tmp_path,
            env={"PATH": path, "HOME": str(tmp_path)},
            check=False,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert "90 answered, 0 failed" in done.stdout
    assert re.search(r"SHA-256 of qa\.rows\.jsonl: [0-9a-f]{64}", done.stdout)
    assert {path for _, _, path in server.requests} == {"/v1/chat/completions"}


def test_the_policy_of_ones_own_runs_as_it_stands(root, tmp_path):
    text = (root / "README.md").read_text("utf-8")
    block = re.search(r"```python\n(# (\w+\.py): (deermem-eval [^\n]+)\n.+?)```", text, re.DOTALL)
    (tmp_path / block[2]).write_text(block[1])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", block[3]],
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "long_facts:keep_long @ 5 7 9" in done.stdout


def test_the_figures_of_the_weights_are_those_of_the_command(root, command):
    text = (root / "README.md").read_text("utf-8")
    _, out, _ = command("sweep", "--regions", "--capacity", "7", "--json")
    found = json.loads(out)
    assert f"exact regions cover {found['share_all_retained']:.1%}".replace("%", " %") in text
    assert f"the first case flips {found['margin']:.3f} away" in text
    _, out, _ = command("sweep", "--step", "0.05", "--capacity", "7", "--json")
    found = json.loads(out)
    assert f"{found['all_retained']} of the {found['points']} triples of the 0.05 grid" in text
