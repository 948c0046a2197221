"""What the tests share: the historical protocol, a small protocol with texts, the reference data."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import settings

from deermem_eval.cases import load_cases
from deermem_eval.cli import main
from deermem_eval.protocol import load_protocol
from tests.small_protocol import write_small_protocol

# The same examples every time, and no failure because a machine is slow.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

WHOLE_FILE = "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c"
ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items):
    """Mark what needs the reference data, so that `-m reference` runs just that."""
    for item in items:
        if "reference" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.reference)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def reference() -> Path:
    folder = os.environ.get("DEERMEM_EVAL_REFERENCE")
    if not folder:
        pytest.skip("the reference data is not at hand (DEERMEM_EVAL_REFERENCE is not set)")
    return Path(folder)


@pytest.fixture(scope="session")
def historical():
    return load_protocol("pr4789")


@pytest.fixture(scope="session")
def historical_cases(historical):
    return load_cases(historical)


@pytest.fixture
def small(tmp_path):
    """A complete protocol with texts and a data set, in a folder that the test may change."""
    return write_small_protocol(tmp_path / "small")


@pytest.fixture(scope="session")
def subset(reference, tmp_path_factory):
    """The published protocol with the evidence subset's hash for the file's, and the subset."""
    dataset = reference / "longmemeval" / "evidence_subset.json"
    pin = hashlib.sha256(dataset.read_bytes()).hexdigest()
    folder = tmp_path_factory.mktemp("protocol") / "subset"
    for path in (reference / "protocol").rglob("*.*"):
        target = folder / path.relative_to(reference / "protocol")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text("utf-8").replace(WHOLE_FILE, pin))
    return load_protocol(folder), dataset


@pytest.fixture
def command(capsys):
    """Run the command; return exit code, stdout and stderr."""

    def command(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command
