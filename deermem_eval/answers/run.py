"""A run from a protocol: what is asked, of whom, into which folder; one call for a verb or a notebook."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from deermem_eval.answers.messages import AnswerTask, answer_tasks, qa_decisions
from deermem_eval.answers.providers import ProviderContext, load_provider
from deermem_eval.answers.run_store import open_run, run_marker, sole_writer
from deermem_eval.answers.runner import UNKNOWN_PRICES, Prices, RunReport, RunSettings, run_answers
from deermem_eval.cases import Case
from deermem_eval.places import default_cache
from deermem_eval.protocol import Protocol
from deermem_eval.protocol.overrides import RUN_CONFIG, override_config, with_config


@dataclass(frozen=True)
class RunRequest:
    """What a run is to be.

    Attributes
    ----------
    provider : str
        `NAME` or `NAME:ARGUMENT`; see `deermem_eval.answers.provider_names`.
    overrides : mapping
        Config values by dotted key (`qa.model`), kept in the run's own `config.yaml`.
    prices : Prices
    max_cost : float or None
        No call begins once the cost has reached it.
    cache_dir : Path
        Where fetched files lie.
    """

    provider: str
    overrides: Mapping[str, object]
    prices: Prices = UNKNOWN_PRICES
    max_cost: float | None = None
    cache_dir: Path = field(default_factory=default_cache)


def run_tasks(protocol: Protocol, cases: Sequence[Case]) -> tuple[AnswerTask, ...]:
    """Return every request of a run."""
    return answer_tasks(protocol, qa_decisions(protocol, cases))


async def answer_run(
    folder: Path,
    protocol: Protocol,
    cases: Sequence[Case],
    request: RunRequest,
    *,
    environment: Mapping[str, str],
    clock: Callable[[], datetime],
    stop: asyncio.Event | None = None,
    progress: Callable[[RunReport], None] = lambda report: None,
) -> RunReport:
    """Make a run, or go on with one.

    Parameters
    ----------
    folder : Path
        A new folder, or one that holds a run made from the same.
    protocol : Protocol
        With texts.
    cases : sequence of Case
        Of the protocol.
    request : RunRequest
    environment : mapping of str to str
        Where keys and addresses are read.
    clock, stop, progress
        As for `run_answers()`.

    Raises
    ------
    DeermemEvalError
        A value is not acceptable, or the folder cannot be used; nothing was asked.
    """
    config = override_config(protocol, request.overrides)
    if config is not None:
        protocol = with_config(protocol, config, folder / RUN_CONFIG)
    tasks = run_tasks(protocol, cases)
    qa = protocol.config.qa
    name, _, argument = request.provider.partition(":")
    context = ProviderContext(qa, argument, environment, request.cache_dir)
    provider = load_provider(name, context)
    created_at = clock().isoformat().replace("+00:00", "Z")
    marker = run_marker(protocol, provider=request.provider, created_at=created_at)
    settings = RunSettings(qa.workers, qa.max_attempts, request.prices, request.max_cost)
    try:
        with sole_writer(folder):
            open_run(folder, marker, config)
            return await run_answers(
                folder, tasks, provider, settings, clock=clock, stop=stop, progress=progress
            )
    finally:
        close = getattr(provider, "aclose", None)
        if close:
            await close()
