"""Downloads: bytes of an address or of the Hugging Face Hub, or a refusal that says what to do.

Nothing here judges content; whoever asks checks the SHA-256 before anything is used or kept.
"""

import errno
import http.client
import shutil
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import refuse_unwritable
from deermem_eval.protocol.config import Dataset
from deermem_eval.reading import read_bytes

TIMEOUT_SECONDS = 30
STORAGE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
LOOPBACK = ("127.0.0.1", "::1", "localhost")


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
            f"{url} cannot be read: {_in_one_line(reason)}; check the network, or {remedy}"
        ) from error
    if len(content) > limit:
        raise DeermemEvalError(f"{url} sends more than {limit} bytes; {remedy}")
    if expected and expected.isdigit() and len(content) < int(expected):
        raise DeermemEvalError(f"{url} broke off after {len(content)} bytes; run it again")
    return bytes(content)


def download_dataset(dataset: Dataset, folder: Path) -> bytes:
    """Return the data set's bytes from the Hugging Face Hub, or from the user's own Hub cache.

    What the Hub's client keeps of earlier downloads is used without a request. A connection that
    breaks off is taken up again. Endpoint, offline mode, cache and token are the
    client's own settings (`HF_ENDPOINT`, `HF_HUB_OFFLINE`, `HF_HOME`, `HF_TOKEN`); the token goes
    to the endpoint only, and over plain http only to this machine. A progress bar is drawn on a
    terminal.

    Parameters
    ----------
    dataset : Dataset
        Repository, full revision and file.
    folder : Path
        A folder in which a temporary one may be made; it is gone afterwards.

    Raises
    ------
    DeermemEvalError
        The file cannot be had: the message says why and what to do.
    """
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache

    repository, filename, revision = dataset.repository, dataset.filename, dataset.revision
    cached = try_to_load_from_cache(repository, filename, revision=revision, repo_type="dataset")
    if isinstance(cached, str):
        return read_bytes(Path(cached), "cached data set")
    refuse_unwritable(folder)
    staging = Path(tempfile.mkdtemp(prefix=".hub-", suffix=".partial", dir=folder))
    try:
        path = hf_hub_download(
            repository,
            filename,
            revision=revision,
            repo_type="dataset",
            local_dir=staging,
            token=None if _may_carry_a_token(constants.ENDPOINT) else False,
        )
        return read_bytes(Path(path), "data set")
    except DeermemEvalError:
        raise
    except Exception as error:  # the client's errors have no common base
        what = f"{repository}/{filename} at {revision[:8]}"
        raise DeermemEvalError(
            f"{what} from {constants.ENDPOINT}: {_hub_refusal(error, constants.ENDPOINT)}"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _hub_refusal(error: Exception, endpoint: str) -> str:
    """Say what a failure of the Hub's client means, and what to do."""
    from huggingface_hub import errors

    mirror = "set HF_ENDPOINT to a mirror, or name a local copy with --dataset"
    # The client hides what the server said behind "cannot find locally".
    cause = error.__cause__ if isinstance(error, errors.LocalEntryNotFoundError) else None
    cause = cause if isinstance(cause, Exception) else error
    status = getattr(getattr(cause, "response", None), "status_code", None)
    match cause:
        case errors.OfflineModeIsEnabled():
            return "the Hub's client is offline; unset HF_HUB_OFFLINE, or name a local copy with --dataset"
        case errors.GatedRepoError():
            return (
                f"the repository is gated; accept its terms on {endpoint} and set HF_TOKEN, or name "
                "a local copy with --dataset"
            )
        case errors.RevisionNotFoundError():
            return f"the repository has no such revision; {mirror}"
        case errors.RemoteEntryNotFoundError():
            return f"the repository has no such file; {mirror}"
        case errors.RepositoryNotFoundError():
            return f"there is no such repository, or HF_TOKEN may not see it; {mirror}"
        case errors.HfHubHTTPError() if status in (401, 403):
            return f"the server answers {status}; check HF_TOKEN, or {mirror}"
        case errors.HfHubHTTPError() if status:
            return f"the server answers {status}; try again later, or {mirror}"
        case errors.FileMetadataError():
            return f"the server is no Hub (its answer lacks the commit or ETag); {mirror}"
        case OSError() if "Consistency check failed" in str(cause):
            return f"the download is truncated; run it again, or {mirror}"
        case OSError() if (cause.errno and cause.filename is not None) or cause.errno in (
            27,
            28,
            122,
        ):
            return f"it cannot be stored: {cause.strerror}; free the space, or name another --cache-dir"
    reason = _in_one_line(cause) or type(cause).__name__
    return f"it cannot be reached ({reason}); check the network, {mirror}"


def _may_carry_a_token(endpoint: str) -> bool:
    parts = urllib.parse.urlsplit(endpoint)
    return parts.scheme == "https" or parts.hostname in LOOPBACK


def _in_one_line(reason: object) -> str:
    return " ".join(str(reason).split())
