"""Untrusted files in: read whole, decoded and parsed, or refused in one line that says where.

Nothing here executes, expands or follows what a file says: YAML gives plain values only, JSON no
duplicate keys, and sizes are bounded where a bound makes sense.
"""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from deermem_eval.errors import DeermemEvalError

CONTRACT_BYTES_LIMIT = 200_000
STREAM_CHARS = 1 << 20
ITEM_CHARS_LIMIT = 200_000_000


def read_bytes(path: Path, what: str, *, limit: int | None = None) -> bytes:
    """Read a whole file.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        What the file is to the user, for messages ("protocol config").
    limit : int, optional
        Largest size accepted, in bytes.

    Raises
    ------
    DeermemEvalError
        The file is missing, unreadable, not a regular file, or larger than `limit`.
    """
    try:
        if not path.is_file():
            kind = "is not a regular file" if path.exists() else "does not exist"
            raise DeermemEvalError(f"{what} {path} {kind}; check the path")
        if limit is not None and path.stat().st_size > limit:
            raise DeermemEvalError(
                f"{what} {path} is {path.stat().st_size} bytes, more than the {limit} that such a "
                "file may have; check that it is the right file"
            )
        return path.read_bytes()
    except (OSError, ValueError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it is too large"
        raise DeermemEvalError(f"{what} {path} cannot be read: {reason}") from error


def decode_text(content: bytes, path: Path, what: str) -> str:
    """Decode UTF-8, with or without a byte order mark; anything else is refused."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DeermemEvalError(
            f"{what} {path} is not UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error


def parse_json(content: bytes, path: Path, what: str) -> Any:
    """Parse one JSON document; duplicate keys, NaN and numbers beyond a float are refused."""
    return _parse_json_text(decode_text(content, path, what), f"{what} {path}")


def stream_json_list(path: Path, what: str) -> Iterator[Any]:
    """Yield the items of a JSON list, one at a time, from a file of any size.

    Raises
    ------
    DeermemEvalError
        The file cannot be read, is no list, breaks off, or goes on after it; the item is named.
    """
    if not path.is_file():
        raise DeermemEvalError(f"{what} {path} is no regular file; check the path")
    number, text, at = 0, "", 0
    decoder = json.JSONDecoder()
    try:
        with path.open(encoding="utf-8-sig") as file:

            def more() -> bool:
                nonlocal text, at
                part = file.read(max(STREAM_CHARS, len(text) - at))
                if part:
                    text, at = text[at:] + part, 0
                return bool(part)

            def next_sign() -> str:
                nonlocal at
                while True:
                    while at < len(text) and text[at] in " \t\r\n":
                        at += 1
                    if at < len(text) or not more():
                        return text[at : at + 1]

            sign = next_sign()
            if sign != "[":
                raise ValueError("it is no list")
            while sign != "]":
                at += 1
                if next_sign() == "]" and not number:
                    break
                while True:
                    try:
                        item, end = decoder.raw_decode(text, at)
                    except ValueError:
                        if len(text) - at > ITEM_CHARS_LIMIT or not more():
                            raise
                        continue
                    if _AFTER_ITEM.match(text, end) or not more():  # else it may go on
                        break
                yield item
                number, at = number + 1, end
                sign = next_sign()
                if sign not in ("]", ","):
                    raise ValueError(
                        "the list does not end" if not sign else f"{sign!r} follows it"
                    )
            at += 1
            if next_sign():
                raise ValueError("something follows the list")
    except UnicodeDecodeError as error:
        raise DeermemEvalError(f"{what} {path} is not UTF-8; save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise DeermemEvalError(
            f"{what} {path}, item {number + 1}, is not valid JSON: {_reason(error)}"
        ) from error
    except OSError as error:
        raise DeermemEvalError(f"{what} {path} cannot be read: {error.strerror}") from error


def parse_json_lines(content: bytes, path: Path, what: str) -> list[tuple[int, dict[str, Any]]]:
    """Parse one JSON object a line.

    Returns
    -------
    list of (int, dict)
        Line number, from 1, and object. Blank lines are passed over.
    """
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(decode_text(content, path, what).split("\n"), start=1):
        if not line.strip():
            continue
        row = _parse_json_text(line, f"{what} {path}, line {number},")
        if not isinstance(row, dict):
            raise DeermemEvalError(
                f"{what} {path}, line {number}, is a {type(row).__name__}, not an object; "
                "each line must be one JSON object"
            )
        rows.append((number, row))
    return rows


def parse_yaml(content: bytes, path: Path, what: str) -> Any:
    """Parse one YAML document of plain values: no tags, no aliases, no duplicate keys."""
    try:
        return parse_plain_yaml(decode_text(content, path, what))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise DeermemEvalError(
            f"{what} {path}, line {line}: {error.problem}; correct the YAML"
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DeermemEvalError(f"{what} {path} is not valid YAML: {_reason(error)}") from error


def parse_plain_yaml(text: str) -> Any:
    """Parse one YAML document of plain values: no tags, no aliases, no duplicate keys, dates as text.

    Raises
    ------
    yaml.YAMLError, ValueError, RecursionError
        The text is not acceptable.
    """
    loader = _Loader(text)
    try:
        return _plain_document(loader.get_event)
    finally:
        loader.dispose()


def _plain_document(next_event: Callable[[], Any]) -> Any:
    next_event()  # the stream begins
    if isinstance(next_event(), yaml.StreamEndEvent):
        return None
    value = _plain_value(next_event(), next_event)
    next_event()  # the document ends
    after = next_event()
    if not isinstance(after, yaml.StreamEndEvent):
        raise yaml.MarkedYAMLError(
            problem="a second document begins", problem_mark=after.start_mark
        )
    return value


def _plain_value(event: Any, next_event: Callable[[], Any]) -> Any:
    """Return the value that begins with an event, and take the events that belong to it."""
    kind = type(event)
    if kind is yaml.AliasEvent or event.tag is not None:
        refused = "aliases (*name)" if kind is yaml.AliasEvent else f"tags ({event.tag})"
        raise yaml.MarkedYAMLError(
            problem=f"{refused} are not accepted", problem_mark=event.start_mark
        )
    if kind is yaml.ScalarEvent:
        return _plain_scalar(event.value) if event.implicit[0] else event.value
    if kind is yaml.SequenceStartEvent:
        items = []
        while type(item := next_event()) is not yaml.SequenceEndEvent:
            items.append(_plain_value(item, next_event))
        return items
    found: dict[str, Any] = {}
    while type(begins := next_event()) is not yaml.MappingEndEvent:
        key = _plain_value(begins, next_event)
        if type(key) is not str:
            problem = "a key is not plain text"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=begins.start_mark)
        if key in found:
            problem = f"key {key!r} stands twice"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=begins.start_mark)
        found[key] = _plain_value(next_event(), next_event)
    return found


def _plain_scalar(text: str) -> Any:
    """Return what an unquoted scalar means; only what looks the same to everybody is more than text.

    No octal 010, no 1:30 for 90, no yes for true, no dates.
    """
    if text[:1] not in _NO_TEXT_BEGINS:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def parse_csv(
    content: bytes, path: Path, what: str, columns: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
    """Parse a CSV table whose header must be exactly `columns`.

    Returns
    -------
    list of (int, dict)
        Line number, from 1 with the header as line 1, and the row's values as text.
    """
    reader = csv.reader(io.StringIO(decode_text(content, path, what), newline=""), strict=True)
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        header = next(reader, None)
        if header != list(columns):
            raise DeermemEvalError(
                f"{what} {path}, line 1: expected the columns {','.join(columns)}, "
                f"found {','.join(header or ['nothing'])}"
            )
        for values in reader:
            if len(values) != len(columns):
                raise DeermemEvalError(
                    f"{what} {path}, line {reader.line_num}: expected {len(columns)} values, "
                    f"found {len(values)}"
                )
            rows.append((reader.line_num, dict(zip(columns, values, strict=True))))
    except csv.Error as error:
        raise DeermemEvalError(
            f"{what} {path}, line {reader.line_num}: {error}; correct the CSV"
        ) from error
    return rows


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_NO_TEXT_BEGINS = frozenset(["", *"tfn~-+0123456789"])
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


_AFTER_ITEM = re.compile(r"[ \t\r\n]*[,\]]")


def _parse_json_text(text: str, where: str) -> Any:
    def refuse_constant(name: str) -> NoReturn:
        raise DeermemEvalError(f"{where} holds the value {name}, which is not JSON")

    def finite(text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            raise DeermemEvalError(f"{where} holds the number {text}, which is too large")
        return number

    def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result:
                raise DeermemEvalError(f"{where} holds the key {key!r} twice; keep one")
            result[key] = value
        return result

    try:
        return json.loads(
            text,
            parse_float=finite,
            parse_constant=refuse_constant,
            object_pairs_hook=refuse_duplicates,
        )
    except (ValueError, RecursionError) as error:
        raise DeermemEvalError(f"{where} is not valid JSON: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)
