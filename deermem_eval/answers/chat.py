"""Chat: models behind an OpenAI-compatible endpoint, or Hugging Face's providers; one attempt a call.

The key goes to the endpoint alone, and stands in no message and in no row, not even where the server
repeats it. A reply is bounded in time and in size, whatever the server sends.
"""

import asyncio
import json
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from functools import cache
from typing import Any

from deermem_eval.answers.providers import (
    AttemptFailedError,
    ProviderContext,
    Request,
    refuse_argument,
)
from deermem_eval.answers.replies import Reply, counted_tokens
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol.hub import LOOPBACK, may_carry_a_token

REPLY_BYTES_LIMIT = 10_000_000
PACKED_BYTES_LIMIT = 50_000  # unpacks to a thousand times as much at most
MESSAGE_CHARS = 200
SECRET_CHARS = (
    8  # a shorter key is a word for a server that asks for none, and may stand in an answer
)
TRANSIENT_STATUS = frozenset((408, 409, 429))
CHAT_PATH = "/chat/completions"
_was_sent = ContextVar("_was_sent", default=False)


class ChatProvider:
    """A provider over `huggingface_hub.AsyncInferenceClient`; close it when the run is over.

    Calls at the same time use a client each: the pool of a shared one looks at every connection
    for every call, which costs more than the call.
    """

    def __init__(self, timeout_seconds: float, key: str, **client: Any) -> None:
        from huggingface_hub import AsyncInferenceClient, set_async_client_factory

        set_async_client_factory(_bounded_client)
        self._make_client = AsyncInferenceClient
        self._timeout_seconds = timeout_seconds
        self._key = key
        self._options = {"api_key": key, "timeout": timeout_seconds, **client}
        self._clients: list[Any] = []
        self._idle: list[Any] = []

    async def __call__(self, request: Request) -> Reply:
        """Send the payload once.

        Raises
        ------
        AttemptFailedError
            No reply came: the message says why, without the key.
        """
        import httpx2
        from huggingface_hub import errors

        _was_sent.set(False)
        client = self._idle.pop() if self._idle else self._new_client()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                output = await client.chat_completion(**request.payload)
        except (TimeoutError, errors.InferenceTimeoutError) as error:
            reason = f"timed out after {self._timeout_seconds:g} s"
            raise AttemptFailedError(reason, is_transient=True) from error
        except errors.HfHubHTTPError as error:
            raise self._refused(error.response) from error
        except errors.OfflineModeIsEnabled as error:
            raise AttemptFailedError("the client is offline; unset HF_HUB_OFFLINE") from error
        except httpx2.TransportError as error:
            reason = f"the connection failed: {self._one_line(str(error) or type(error).__name__)}"
            raise AttemptFailedError(reason, is_transient=True) from error
        except ValueError as error:
            if not _was_sent.get():  # the client refuses the request, and no reply is malformed
                raise AttemptFailedError(self._one_line(str(error))) from error
            return Reply("", finish_reason="", is_malformed=True)
        except (
            *(TypeError, KeyError, AttributeError, RecursionError, MemoryError),
            httpx2.HTTPError,
        ):
            return Reply("", finish_reason="", is_malformed=True)
        finally:
            self._idle.append(client)
        return _reply(output, self._without_key)

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients:
            await client.close()

    def _new_client(self) -> Any:
        self._clients.append(self._make_client(**self._options))
        return self._clients[-1]

    def _refused(self, response: Any) -> AttemptFailedError:
        status = response.status_code
        return AttemptFailedError(
            f"the server answers {status}: {self._one_line(_message(response))}",
            status=status,
            is_transient=status in TRANSIENT_STATUS or status >= 500,
            retry_after=response.headers.get("Retry-After"),
        )

    def _one_line(self, text: str) -> str:
        return " ".join(self._without_key(text).split())[:MESSAGE_CHARS]

    def _without_key(self, text: str) -> str:
        """Take out the key, and halves of surrogate pairs, which no file can hold."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        return text.replace(self._key, "[key]") if len(self._key) >= SECRET_CHARS else text


def openai(context: ProviderContext) -> ChatProvider:
    """Make a provider of the endpoint and key that the config's two variables name."""
    refuse_argument("openai", context)
    qa = context.qa
    values = {name: context.environment.get(name, "") for name in (qa.api_key_env, qa.base_url_env)}
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise DeermemEvalError(
            f"provider openai needs the environment variable {' and '.join(missing)}: set the key "
            f"in {qa.api_key_env} and the address of the endpoint in {qa.base_url_env}"
        )
    base_url = checked_base_url(values[qa.base_url_env], qa.base_url_env)
    key = checked_key(values[qa.api_key_env], qa.api_key_env)
    return ChatProvider(qa.timeout_seconds, key, base_url=base_url)


def huggingface(context: ProviderContext) -> ChatProvider:
    """Make a provider of Hugging Face's inference providers, with the key in HF_TOKEN."""
    from huggingface_hub import constants

    key = context.environment.get("HF_TOKEN", "")
    if not key:
        raise DeermemEvalError(
            "provider huggingface needs the environment variable HF_TOKEN; set it"
        )
    if "://" in context.qa.model:  # the client would send the token there
        raise DeermemEvalError("provider huggingface needs a model's name, and this is an address")
    if not may_carry_a_token(constants.ENDPOINT):
        raise DeermemEvalError("HF_ENDPOINT is plain http to another machine; use https")
    key = checked_key(key, "HF_TOKEN")
    if not key.startswith("hf_"):
        raise DeermemEvalError("HF_TOKEN is no token of Hugging Face: those begin with hf_")
    return ChatProvider(context.qa.timeout_seconds, key, provider=context.argument or "auto")


def checked_key(key: str, name: str) -> str:
    """Return a key without blanks around it; refuse what no header can hold, without repeating it."""
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise DeermemEvalError(f"environment variable {name} holds what can be no key; check it")
    return key


def checked_base_url(url: str, name: str) -> str:
    """Return an endpoint's address, with or without `/v1` and a slash behind it.

    Raises
    ------
    DeermemEvalError
        It is none, carries a key or a query, or is plain http to another machine.
    """
    try:
        parts = urllib.parse.urlsplit(url.strip())
        host = parts.hostname
    except ValueError:
        parts, host = urllib.parse.urlsplit(""), None
    problem = ""
    if parts.scheme not in ("http", "https") or not host:
        problem = "is no http(s) address; write https://host/v1"
    elif parts.username or parts.password or parts.query or parts.fragment:
        problem = "carries more than an address; give the key in its own variable"
    elif parts.scheme == "http" and host not in LOOPBACK:
        problem = "is plain http to another machine; use https"
    if problem:  # the value itself may hold a key
        raise DeermemEvalError(f"environment variable {name} {problem}")
    return url.strip().rstrip("/").removesuffix(CHAT_PATH)


def _reply(output: Any, clean: Callable[[str], str]) -> Reply:
    """Take from a reply what a row needs; whatever is missing or of another type counts as absent."""
    choices = getattr(output, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    if message is None:
        return Reply("", finish_reason="", is_malformed=True)
    model = getattr(output, "model", None)
    finish = getattr(choice, "finish_reason", None)
    return Reply(
        prediction=clean(_text(getattr(message, "content", None))).strip(),
        finish_reason=clean(finish) if isinstance(finish, str) else "",
        response_model=clean(model) if isinstance(model, str) else None,
        usage=counted_tokens(getattr(output, "usage", None)),
    )


def _text(content: Any) -> str:
    """Return a message's text, which some servers give in parts."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _message(response: Any) -> str:
    try:
        document = json.loads(response.text)
        error = document.get("error", document)
        return str(error.get("message", error) if isinstance(error, dict) else error)
    except (ValueError, AttributeError, RuntimeError):
        return str(response.reason_phrase)


def proxy_of(scheme: str, host: str) -> str | None:
    """Return the proxy that the system's settings name for a host; never one for this machine."""
    if host in LOOPBACK or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(scheme) or proxies.get("all")


@cache
def _tls_context() -> Any:
    import httpx2

    return httpx2.create_ssl_context()


def _bounded_client() -> Any:
    """Make the client's HTTP session, which gives up on a reply that grows beyond all measure."""
    import httpx2

    class Bounded(httpx2.AsyncBaseTransport):
        def __init__(self) -> None:
            self._inner: dict[str | None, Any] = {}

        async def handle_async_request(self, request: Any) -> Any:
            _was_sent.set(True)
            proxy = proxy_of(request.url.scheme, request.url.host)
            if proxy not in self._inner:
                self._inner[proxy] = httpx2.AsyncHTTPTransport(verify=_tls_context(), proxy=proxy)
            response = await self._inner[proxy].handle_async_request(request)
            is_packed = "content-encoding" in response.headers
            limit = PACKED_BYTES_LIMIT if is_packed else REPLY_BYTES_LIMIT
            response.stream = BoundedStream(response.stream, limit)
            return response

        async def aclose(self) -> None:
            for inner in self._inner.values():
                await inner.aclose()

    class BoundedStream(httpx2.AsyncByteStream):
        def __init__(self, inner: Any, limit: int) -> None:
            self._inner, self._limit = inner, limit

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._inner:
                size += len(chunk)
                if size > self._limit:
                    raise httpx2.DecodingError(f"the reply is larger than {self._limit} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    return httpx2.AsyncClient(transport=Bounded(), timeout=None)
