"""Local: a very small language model behind a real server on this machine, for the plumbing.

It never abstains and falls into repeating itself: its answers are no result of anything.

The server listens on loopback, asks for a key that is made for this process alone, and ends with it.
"""

import asyncio
import importlib.util
import os
import secrets
from pathlib import Path
from typing import Any

from deermem_eval.answers.chat import ChatProvider
from deermem_eval.answers.providers import ProviderContext, Request, refuse_argument
from deermem_eval.answers.replies import Reply
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol.small_model import SMOLLM2, load_small_model

MOST_THREADS = 4  # a model this small gains nothing from more
CONTEXT_TOKENS = 8192
SILENT = -1


class LocalModel(ChatProvider):
    """A chat provider that holds its own server; closing it ends both."""

    def __init__(self, server: Any, timeout_seconds: float, key: str) -> None:
        super().__init__(timeout_seconds, key, base_url=server.listening_address)
        self._server = server
        self._turn = asyncio.Lock()  # one at a time, so that nobody's time-out runs in the queue

    async def __call__(self, request: Request) -> Reply:
        """Send the payload once the server is free."""
        async with self._turn:
            return await super().__call__(request)

    async def aclose(self) -> None:
        """Close the connections, and end the server."""
        await super().aclose()
        self._server = None


def local(context: ProviderContext) -> LocalModel:
    """Make a provider of SmolLM2-135M, served in this process.

    Raises
    ------
    DeermemEvalError
        The runtime or the weights are not there, or the processor cannot run them.
    """
    refuse_argument("local", context)
    weights = load_small_model(context.cache_dir)
    key = secrets.token_urlsafe()
    return LocalModel(serve_weights(weights, key), context.qa.timeout_seconds, key)


def serve_weights(weights: Path, key: str) -> Any:
    """Serve a GGUF file on a free port of this machine, in this process.

    The same request gives the same text at temperature 0, whatever the number of threads:
    nothing of an earlier prompt is reused, and attention is computed in the plain way.

    Parameters
    ----------
    weights : Path
    key : str
        What a request must bring.

    Returns
    -------
    xllamacpp.Server
        With a `listening_address`; it ends when the last reference to it goes.

    Raises
    ------
    DeermemEvalError
        The runtime is not installed, or the processor cannot run it.
    """
    refuse_missing_runtime()
    import xllamacpp

    threads = min(MOST_THREADS, os.cpu_count() or 1)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {SMOLLM2.label}
    parameters.api_keys = [key]
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.cors_origins = ""
    parameters.n_parallel = 1
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    parameters.verbosity = SILENT
    return xllamacpp.Server(parameters)


def refuse_missing_runtime() -> None:
    """Refuse where `xllamacpp` is missing, or would end the process with an illegal instruction."""
    import platform

    if importlib.util.find_spec("xllamacpp") is None:
        raise DeermemEvalError(
            "provider local needs the package xllamacpp; pip install 'deermem-eval[local]'"
        )
    if platform.machine().lower() in ("x86_64", "amd64") and not _has_avx2():
        raise DeermemEvalError(
            "provider local needs a processor with AVX2, and this one has none; use another provider"
        )


def _has_avx2() -> bool:
    import numpy as np

    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    found = {*extensions.get("baseline", ()), *extensions.get("found", ())}
    return bool(found & {"AVX2", "X86_V3"})  # numpy 2.4 names the level instead
