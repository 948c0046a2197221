"""Providers: who answers a request. One small interface, and a name for each.

A provider is an async function from a `Request` to a `Reply` (or to a text). It makes one attempt; the
runner repeats what is worth repeating. It sees the request and the id of its row, and no reference. A package adds one by an entry point of the group
`deermem_eval.providers` that names a function from a `ProviderContext` to such a function.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from deermem_eval.answers.replies import Reply
from deermem_eval.errors import DeermemEvalError
from deermem_eval.places import default_cache
from deermem_eval.protocol.config import Qa

ENTRY_POINTS = "deermem_eval.providers"


@dataclass(frozen=True)
class Request:
    """What is to be answered.

    Attributes
    ----------
    row_id : str
    fingerprint : str
        SHA-256 of the payload.
    payload : dict
        `model`, `temperature`, `max_tokens`, `stream`, `messages`.
    """

    row_id: str
    fingerprint: str
    payload: Mapping[str, Any]


Provider = Callable[[Request], Awaitable[Reply | str]]


@dataclass(frozen=True)
class ProviderContext:
    """What a provider is made from.

    Attributes
    ----------
    qa : Qa
        Model, time-out, and the names of the environment variables with key and base URL.
    argument : str
        What stands behind the colon of `--provider NAME:ARGUMENT`.
    environment : mapping of str to str
        The environment variables; keys are read from here and kept nowhere else.
    cache_dir : Path
        Where fetched files lie.
    """

    qa: Qa
    argument: str
    environment: Mapping[str, str]
    cache_dir: Path = field(default_factory=default_cache)


class AttemptFailedError(Exception):
    """One attempt that gave no reply.

    Attributes
    ----------
    status : int or None
        HTTP status, if there was one.
    is_transient : bool
        Whether another attempt may succeed.
    retry_after : str or None
        `Retry-After` as the server sends it; the runner reads it.
    """

    def __init__(
        self,
        reason: str,
        *,
        status: int | None = None,
        is_transient: bool = False,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.is_transient = is_transient
        self.retry_after = retry_after


def refuse_argument(name: str, context: ProviderContext) -> None:
    """Refuse what stands behind the colon, for a provider that takes nothing there."""
    if context.argument:
        raise DeermemEvalError(f"provider {name} takes no argument; leave out {context.argument!r}")


def provider_names() -> tuple[str, ...]:
    """Return the names of all providers, ours and those of installed packages."""
    return tuple(sorted({point.name for point in entry_points(group=ENTRY_POINTS)}))


def load_provider(name: str, context: ProviderContext) -> Provider:
    """Make the provider of that name.

    Raises
    ------
    DeermemEvalError
        There is none, it cannot be imported, or it refuses the context (no key, no base URL).
    """
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in points:
        raise DeermemEvalError(
            f"provider {name!r} is not one of {', '.join(sorted(points))}; choose one, or install "
            "the package that brings it"
        )
    try:
        make = points[name].load()
        provider: Provider = make(context)
    except DeermemEvalError:
        raise
    except Exception as error:
        raise DeermemEvalError(
            f"provider {name} ({points[name].value}) cannot be used: {type(error).__name__}: {error}"
        ) from error
    return provider
