"""The Hugging Face Hub: a pinned data set through the Hub's own client, its failures in one line.

Endpoint, offline mode, cache and token are the client's own settings (`HF_ENDPOINT`, `HF_HUB_OFFLINE`,
`HF_HOME`, `HF_TOKEN`). Nothing here judges content; whoever asks checks the SHA-256.
"""

import errno
import shutil
import tempfile
import urllib.parse
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import refuse_unwritable
from deermem_eval.protocol.config import Dataset
from deermem_eval.protocol.download import in_one_line
from deermem_eval.reading import read_bytes

STORAGE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def cached_dataset(dataset: Dataset) -> bytes | None:
    """Return what the Hub's client has kept of an earlier download; None if nothing."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(
        dataset.repository, dataset.filename, revision=dataset.revision, repo_type="dataset"
    )
    return read_bytes(Path(path), "cached data set") if isinstance(path, str) else None


def download_dataset(dataset: Dataset, folder: Path) -> bytes:
    """Return the data set's bytes from the Hugging Face Hub.

    A connection that
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
    from huggingface_hub import constants, hf_hub_download

    repository, filename, revision = dataset.repository, dataset.filename, dataset.revision
    refuse_unwritable(folder)
    staging = Path(tempfile.mkdtemp(prefix=".hub-", suffix=".partial", dir=folder))
    try:
        path = hf_hub_download(
            repository,
            filename,
            revision=revision,
            repo_type="dataset",
            local_dir=staging,
            cache_dir=staging / "cache",  # else it copies what may be spoiled in the user's own
            token=None if may_carry_a_token(constants.ENDPOINT) else False,
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
        case OSError() if cause.filename is not None or cause.errno in STORAGE_ERRORS:
            return f"it cannot be stored: {cause.strerror}; free the space, or name another --cache-dir"
    reason = in_one_line(cause) or type(cause).__name__
    return f"it cannot be reached ({reason}); check the network, {mirror}"


def may_carry_a_token(endpoint: str) -> bool:
    """Whether a token may be sent to an address: over https, or to this machine."""
    parts = urllib.parse.urlsplit(endpoint)
    return parts.scheme == "https" or parts.hostname in LOOPBACK
