"""Downloads: the bytes of an address, or a refusal that says what to do.

With the standard library's client, because these are a few small, public files without a key. Nothing
here judges content; whoever asks checks the SHA-256 before anything is used or kept.
"""

import http.client
import urllib.error
import urllib.parse
import urllib.request

from deermem_eval.errors import DeermemEvalError

TIMEOUT_SECONDS = 30


class NotThereError(DeermemEvalError):
    """The server answers, and has no such file."""


def download(url: str, *, limit: int, remedy: str) -> bytes:
    """Return the bytes behind an http(s) address, at most `limit` of them.

    Raises
    ------
    NotThereError
        The server answers 404.
    DeermemEvalError
        The address is none, the server cannot be reached, answers with another error, breaks off,
        or sends too much; the message ends with `remedy`.
    """
    try:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise ValueError("it is no http(s) address")
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
            content = response.read(limit + 1)
            expected = response.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        error.close()
        refusal = NotThereError if error.code == 404 else DeermemEvalError
        raise refusal(f"{url} answers {error.code} {error.reason}; {remedy}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise DeermemEvalError(
            f"{url} cannot be read: {in_one_line(reason)}; check the network, or {remedy}"
        ) from error
    if len(content) > limit:
        raise DeermemEvalError(f"{url} sends more than {limit} bytes; {remedy}")
    if expected and expected.isdigit() and len(content) < int(expected):
        raise DeermemEvalError(f"{url} broke off after {len(content)} bytes; run it again")
    return bytes(content)


def in_one_line(reason: object) -> str:
    """Return a message of somebody else's without its line breaks."""
    return " ".join(str(reason).split())
