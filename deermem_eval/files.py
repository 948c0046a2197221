"""Files out: durable and atomic, in the published formats.

Promises: a reader finds the old content or the new, never a part of it; when a function returns, the
content survives a power cut; after an error no temporary file is left (after a kill one may be, under
a hidden name that ends in `.partial`).
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NoReturn

from deermem_eval.errors import DeermemEvalError
from deermem_eval.places import resolved


def sha256_hex(content: bytes) -> str:
    """Return the SHA-256 of `content` as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def json_document(value: object) -> bytes:
    """Serialise as the published files are: two spaces, sorted keys, non-ASCII kept, newline."""
    return (
        json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False) + "\n"
    ).encode()


def json_lines(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Serialise one object a line, keys sorted, as the published rows are."""
    return b"".join(
        (json.dumps(row, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n").encode()
        for row in rows
    )


def write_file(path: Path, content: bytes) -> None:
    """Write a file durably and atomically, replacing what was there.

    The folder is made if it is missing. A symbolic link is replaced, not followed.

    Raises
    ------
    DeermemEvalError
        The folder cannot be made or written (read-only, full, a file in the way). `path` is then
        as it was; or, if the message says "not yet durable", new and complete.
    """
    with new_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file part by part, and put it in its place when it is whole; see `write_file`.

    Within the block nothing but the file may raise an `OSError`.
    """
    path = _normal(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    try:
        _make_folder(path.parent)
        try:
            with temporary.open("xb") as file:
                yield file
                _sync_file(file)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        _refuse_write(path, error)
    _settle(path)


def publish_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a new folder of files so that it appears complete or not at all.

    Parameters
    ----------
    folder : Path
        The folder to make; it may exist if it is empty.
    files : mapping of str to bytes
        Name and content of each file.

    Raises
    ------
    DeermemEvalError
        The folder holds something already, or it cannot be written. What was there is untouched;
        or, if the message says "not yet durable", the new folder is there and complete.
    """
    for name in files:
        if Path(name).name != name:
            raise ValueError(f"{name!r} is not a plain file name")
    folder = _normal(folder)
    refuse_occupied(folder)
    staging = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}.partial")
    made: list[Path] = []
    try:
        try:
            _make_folder(folder.parent, made)
            staging.mkdir()
            for name, content in files.items():
                _write_new(staging / name, content)
            _sync_folder(staging)
            staging.rename(resolved(folder))  # an empty folder may be a link
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            with contextlib.suppress(OSError):  # somebody else may have begun to use one
                for parent in reversed(made):
                    parent.rmdir()
            raise
    except OSError as error:
        _refuse_write(folder, error)
    _settle(folder)


def refuse_unwritable(folder: Path) -> None:
    """Make a folder, and raise `DeermemEvalError` if no file can be written into it."""
    folder = _normal(folder)
    probe = folder / f".{secrets.token_hex(6)}.partial"
    try:
        _make_folder(folder)
        try:
            _write_new(probe, b"")
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        _refuse_write(folder, error)


def refuse_occupied(folder: Path) -> None:
    """Raise `DeermemEvalError` if `folder` is a file, the current folder, or holds anything."""
    try:
        if folder.exists() and not folder.is_dir():
            raise DeermemEvalError(f"output {folder} is a file; name a new folder")
        if folder.exists() and folder.samefile(Path.cwd()):
            raise DeermemEvalError(
                f"output directory {folder} is the folder you stand in, and a new one would take "
                "its place; name a new folder"
            )
        if folder.is_dir() and any(folder.iterdir()):
            raise DeermemEvalError(
                f"output directory {folder} already holds a run or other files, and nothing is "
                "ever overwritten; name a new folder, or move this one away"
            )
    except OSError as error:
        _refuse_write(folder, error)


def _write_new(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        _sync_file(file)


def _sync_file(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _normal(path: Path) -> Path:
    """Resolve what leads to a path, and not the path itself, so that its last part names it."""
    if path.name in ("", ".."):
        return resolved(path)
    return resolved(path.parent) / path.name


def _make_folder(folder: Path, made: list[Path] | None = None) -> None:
    """Make a folder and what is missing above it, each entry durable; note in `made` what was."""
    if not folder.is_dir():
        _make_folder(folder.parent, made)
        try:
            folder.mkdir()
        except FileExistsError:
            if not folder.is_dir():  # else another process was quicker
                raise
        else:
            if made is not None:
                made.append(folder)
        _sync_folder(folder.parent)


def _settle(path: Path) -> None:
    """Make the new name of a file or folder durable."""
    try:
        _sync_folder(path.parent)
    except OSError as error:
        raise DeermemEvalError(
            f"{path} is written but not yet durable: {error.strerror}; check the disk"
        ) from error


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse_write(path: Path, error: OSError) -> NoReturn:
    reason = error.strerror or error
    raise DeermemEvalError(
        f"{path} cannot be written: {reason}; free the space or the place, or name another folder"
    ) from error
