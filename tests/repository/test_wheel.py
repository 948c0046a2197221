"""An installed copy, without the repository beside it."""

import os
import subprocess
import sys
import zipfile

import pytest


@pytest.fixture(scope="module")
def installed(root, tmp_path_factory):
    """The folder that an installation of the wheel fills."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["validate", "--protocol", "sample"],
            "selection rule recomputed: the same official cases",
        ),
        (["run-policy", "--capacity", "7"], "27/45"),
        (["fetch", "sample"], "protocol sample is complete as it is"),
    ],
)
def test_an_installed_copy_has_its_protocols(installed, tmp_path, arguments, said):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "deermem_eval", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert said in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_texts_of_an_installed_copy_lie_in_the_users_cache(installed, tmp_path):
    code = "from deermem_eval.places import default_cache; print(default_cache())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PYTHONPATH": str(installed), "HOME": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == str(tmp_path / ".cache" / "deermem-eval")
