"""The runner: asks a provider for every answer that a run lacks, and stores each as soon as it is there."""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from deermem_eval.answers.messages import AnswerTask
from deermem_eval.answers.providers import AttemptFailedError, Provider, Request
from deermem_eval.answers.replies import Reply, ReplyClass, reply_class
from deermem_eval.answers.run_store import append_attempt, stored_answer, write_answer
from deermem_eval.errors import DeermemEvalError

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Prices:
    """What tokens cost, in a currency a million; None: unknown, and so is the cost."""

    prompt: float | None = None
    completion: float | None = None

    def cost(self, usage: Mapping[str, int]) -> float | None:
        """Return what a call cost; None where a price or a count is unknown."""
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if None in (prompt, completion, self.prompt, self.completion):
            return None
        return (
            (prompt or 0) * (self.prompt or 0) + (completion or 0) * (self.completion or 0)
        ) / 1e6


UNKNOWN_PRICES = Prices()
INTERRUPTED = "interrupted"
REFUSED_KEY = (401, 403)


@dataclass
class RunReport:
    """What a run did.

    Attributes
    ----------
    reused : int
        Rows that were there.
    called : list of str
        Ids of the rows that were asked for and stored.
    failed : dict of str to str
        Why each of the other rows is not there.
    again : dict of str to str
        Why a row that was there was asked for again.
    classes : Counter
        What became of the rows of this start, by (policy, class).
    models : set of str or None
        Who has answered, as the replies say it.
    cost : float or None
        Of this start's calls; None: unknown.
    stopped : str
        Why the run stopped before it was done; empty if it did not.
    is_refused : bool
        Whether it stopped because the server does not take the key.
    """

    reused: int = 0
    called: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    again: dict[str, str] = field(default_factory=dict)
    classes: Counter[tuple[str, str]] = field(default_factory=Counter)
    models: set[str | None] = field(default_factory=set)
    tokens: Counter[str] = field(default_factory=Counter)
    cost: float | None = 0.0
    stopped: str = ""
    is_refused: bool = False


@dataclass(frozen=True)
class RunSettings:
    """How a run asks.

    Attributes
    ----------
    workers, max_attempts : int
    prices : Prices
    max_cost : float or None
        No call begins once the cost has reached it.
    """

    workers: int
    max_attempts: int
    prices: Prices = UNKNOWN_PRICES
    max_cost: float | None = None


async def run_answers(
    folder: Path,
    tasks: Sequence[AnswerTask],
    provider: Provider,
    settings: RunSettings,
    *,
    clock: Callable[[], datetime],
    stop: asyncio.Event | None = None,
    progress: Callable[[RunReport], None] = lambda report: None,
) -> RunReport:
    """Answer what a run directory lacks.

    Parameters
    ----------
    folder : Path
        A run directory that the caller holds alone.
    tasks : sequence of AnswerTask
    provider : Provider
    settings : RunSettings
    clock : callable
        Returns the time now, for `created_at`.
    stop : asyncio.Event, optional
        Once it is set, no call begins, and those in flight are finished and stored.
    progress : callable
        Is told the report after every row.

    Returns
    -------
    RunReport
    """
    stop = stop or asyncio.Event()
    report = RunReport()
    waiting: list[AnswerTask] = []
    for task in tasks:
        stored = stored_answer(folder, task)
        if stored.row is not None:
            report.reused += 1
            continue
        if stored.problem:
            report.again[task.row_id] = stored.problem
        waiting.append(task)
    progress(report)
    queue = iter(waiting)

    async def work() -> None:
        for task in queue:
            if stop.is_set():
                report.stopped = report.stopped or INTERRUPTED
                return
            if _is_spent(report, settings):
                spent = (
                    "is unknown" if report.cost is None else f"has reached {settings.max_cost:g}"
                )
                report.stopped = f"the cost {spent}"
                return
            try:
                await _answer(folder, task, provider, settings, clock, report, stop)
            except (DeermemEvalError, OSError) as error:  # the disk: no answer could be stored
                _fail(report, task, str(error))
                report.stopped = report.stopped or str(error)
                stop.set()  # the calls of the others are finished
            progress(report)

    await asyncio.gather(*(work() for _ in range(min(settings.workers, max(1, len(waiting))))))
    if stop.is_set():
        report.stopped = report.stopped or INTERRUPTED
    return report


async def _answer(
    folder: Path,
    task: AnswerTask,
    provider: Provider,
    settings: RunSettings,
    clock: Callable[[], datetime],
    report: RunReport,
    stop: asyncio.Event,
) -> None:
    """Ask until there is a reply, or no attempt is left; store the reply, and note every attempt."""
    from tenacity import AsyncRetrying, RetryError, retry_if_exception

    attempts = 0
    reply: Reply | None = None
    began = time.monotonic()
    try:
        async for attempt in AsyncRetrying(
            stop=lambda state: stop.is_set() or state.attempt_number >= settings.max_attempts,
            retry=retry_if_exception(_is_transient),
            wait=lambda state: _wait_seconds(state, clock()),
            sleep=lambda seconds: _sleep(seconds, stop),
        ):
            with attempt:
                attempts += 1
                began = time.monotonic()
                reply = await _attempt(folder, task, provider, attempts)
    except RetryError as error:
        last = error.last_attempt.exception()
        _fail(report, task, f"{last} (after {attempts} attempts)")
        return
    except AttemptFailedError as error:
        _fail(report, task, str(error))
        if error.status in REFUSED_KEY:  # every other call would be refused as well
            report.stopped = report.stopped or str(error)
            report.is_refused = True
            stop.set()
        return
    if reply is not None:
        report.tokens.update(reply.usage)
        cost = settings.prices.cost(reply.usage)
        report.cost = None if report.cost is None or cost is None else report.cost + cost
    if reply is None or reply.is_malformed:
        _fail(report, task, "the reply holds no choice", "malformed")
        return
    seconds = time.monotonic() - began
    created_at = clock().isoformat().replace("+00:00", "Z")
    await asyncio.to_thread(
        write_answer,
        folder,
        task,
        reply,
        attempts=reply.attempts or attempts,
        created_at=created_at,
        seconds=seconds,
    )
    report.called.append(task.row_id)
    report.models.add(reply.response_model)
    report.classes[task.decision.policy, reply_class(reply)] += 1


def _fail(report: RunReport, task: AnswerTask, reason: str, kind: ReplyClass = "failed") -> None:
    report.failed[task.row_id] = reason
    report.classes[task.decision.policy, kind] += 1


async def _attempt(folder: Path, task: AnswerTask, provider: Provider, number: int) -> Reply:
    began = time.monotonic()
    entry: dict[str, Any] = {"row_id": task.row_id, "attempt": number}
    try:
        answer: Any = await provider(Request(task.row_id, task.fingerprint, task.payload))
    except AttemptFailedError as error:
        entry |= {"outcome": "failed", "status": error.status, "reason": str(error)}
        raise
    except Exception as error:  # a provider's fault is its row's, and of no other
        reason = f"the provider raised {type(error).__name__}: {error}"
        entry |= {"outcome": "failed", "status": None, "reason": reason}
        raise AttemptFailedError(reason) from error
    else:
        reply = Reply(answer) if isinstance(answer, str) else answer
        if not isinstance(reply, Reply) or not isinstance(reply.prediction, str):
            reason = f"the provider gave a {type(answer).__name__}, neither a text nor a Reply"
            entry |= {"outcome": "failed", "status": None, "reason": reason}
            raise AttemptFailedError(reason)
        entry |= {"outcome": reply_class(reply), "finish_reason": reply.finish_reason}
        entry["tokens"] = reply.usage
        return reply
    finally:
        entry["seconds"] = round(time.monotonic() - began, 3)
        if "outcome" in entry:
            with contextlib.suppress(OSError):  # the answer, which is paid for, matters more
                await asyncio.to_thread(append_attempt, folder, entry)


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    """Wait before the next attempt; give up waiting once the run is to stop."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
    if stop.is_set():
        raise AttemptFailedError("the run was stopped before it was asked again")


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, AttemptFailedError) and error.is_transient


def _wait_seconds(state: Any, now: datetime) -> float:
    """Wait as long as the server asks, within bounds; else twice as long as the last time."""
    error = state.outcome.exception()
    asked = None
    if isinstance(error, AttemptFailedError):
        asked = retry_after_seconds(error.retry_after, now)
    if asked is None:
        asked = FIRST_WAIT_SECONDS * 2 ** (state.attempt_number - 1)
    return float(min(asked, LONGEST_WAIT_SECONDS))


def retry_after_seconds(value: str | None, now: datetime) -> float | None:
    """Read `Retry-After`, seconds or a date; None where it is neither. Never negative."""
    if not value:
        return None
    try:
        seconds = float(value)
        if not math.isfinite(seconds):
            return None
    except ValueError:
        try:
            until = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        seconds = (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds()
    return max(0.0, seconds)


def _is_spent(report: RunReport, settings: RunSettings) -> bool:
    return settings.max_cost is not None and (
        report.cost is None or report.cost >= settings.max_cost
    )
