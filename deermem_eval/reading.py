"""Untrusted files in: read whole, decoded and parsed, or refused in one line that says where.

Nothing here executes, expands or follows what a file says: YAML gives plain values only, JSON no
duplicate keys, and sizes are bounded where a bound makes sense.
"""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from deermem_eval.errors import DeermemEvalError

CONTRACT_BYTES_LIMIT = 200_000


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
        return yaml.load(decode_text(content, path, what), Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise DeermemEvalError(
            f"{what} {path}, line {line}: {error.problem}; correct the YAML"
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DeermemEvalError(f"{what} {path} is not valid YAML: {_reason(error)}") from error


def parse_plain_yaml(text: str) -> Any:
    """Parse YAML of plain values as `parse_yaml` does, but fast where the text has no special sign.

    Raises
    ------
    yaml.YAMLError, ValueError, RecursionError
        The text is not acceptable.
    """
    if _SPECIAL.search(text):  # a tag, an anchor or an alias, or a word in a sentence
        return yaml.load(text, Loader=_PlainLoader)
    node = yaml.compose(text, Loader=_FastPlainLoader)
    return None if node is None else _plain_value(node)


def _plain_value(node: yaml.Node) -> Any:
    """Return the value of a node without tags, as `_PlainLoader` would, with less ado."""
    if isinstance(node, yaml.ScalarNode):
        return _PLAIN_VALUES[node.tag](node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_plain_value(item) for item in node.value]
    found: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag != TEXT_TAG:
            raise yaml.MarkedYAMLError(
                problem="a key is not plain text", problem_mark=key.start_mark
            )
        if key.value in found:
            raise yaml.MarkedYAMLError(
                problem=f"key {key.value!r} stands twice", problem_mark=key.start_mark
            )
        found[key.value] = _plain_value(value)
    return found


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


class _PlainLoader(yaml.SafeLoader):
    """A safe loader without tags, without aliases (which can expand without bound), without dates."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        refused = ""
        if self.check_event(yaml.AliasEvent):
            refused = "aliases (*name)"
        elif getattr(event, "tag", None) is not None:
            refused = f"tags ({event.tag})"
        if refused:
            raise yaml.MarkedYAMLError(
                problem=f"{refused} are not accepted", problem_mark=event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_document(self, node: yaml.Node) -> Any:
        return _plain_value(node)


class _FastPlainLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes in C, for text without anything that could be a tag, an anchor or an alias."""


_SPECIAL = re.compile(r"(?:^|[\s\[{,:?-])(?:[&*]\S|!)", re.MULTILINE)

TEXT_TAG = "tag:yaml.org,2002:str"
_PLAIN_VALUES: dict[str, Callable[[str], Any]] = {
    TEXT_TAG: str,
    "tag:yaml.org,2002:bool": lambda text: text == "true",
    "tag:yaml.org,2002:null": lambda text: None,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
}

# Only what looks the same to everybody: no octal 010, no 1:30 for 90, no yes for true, no dates.
_PlainLoader.yaml_implicit_resolvers = {}
_FastPlainLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", ["n", "~", ""]),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", "-+0123456789"),
):
    for _loader in (_PlainLoader, _FastPlainLoader):
        _loader.add_implicit_resolver(
            f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first)
        )


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
