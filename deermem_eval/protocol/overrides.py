"""Overrides: a protocol with another config, which a run keeps as a file of its own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.protocol.config import parse_config
from deermem_eval.protocol.protocol import Protocol
from deermem_eval.reading import CONTRACT_BYTES_LIMIT, read_bytes

RUN_CONFIG = "config.yaml"
OVERRIDABLE = frozenset(
    (
        *("qa.model", "qa.temperature", "qa.max_tokens", "qa.timeout_seconds", "qa.workers"),
        *("qa.policies", "pool.qa_capacity"),
    )
)
"""What a run may have otherwise than its protocol; all else would be another protocol."""


def override_config(protocol: Protocol, changes: Mapping[str, Any]) -> bytes | None:
    """Return the config of a protocol with other values, as YAML; None where nothing changes.

    Parameters
    ----------
    protocol : Protocol
    changes : mapping
        Values by dotted key: `qa.model`, `pool.qa_capacity`.

    Raises
    ------
    DeermemEvalError
        A value is not acceptable.
    """
    document = protocol.config.model_dump(mode="json", exclude_none=True)
    before = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    for key, value in changes.items():
        *parents, last = key.split(".")
        part = document
        for name in parents:
            part = part[name]
        part[last] = value
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    content = f"# {protocol.config.protocol_id} with the overrides of this run\n{text}".encode()
    parse_config(content, Path(RUN_CONFIG))
    return None if text == before else content


def with_config(protocol: Protocol, content: bytes, path: Path) -> Protocol:
    """Return a protocol with another config, whose SHA-256 is then part of its identity."""
    return replace(
        protocol,
        config=parse_config(content, path),
        identity=replace(protocol.identity, config_sha256=sha256_hex(content)),
    )


def with_run_config(protocol: Protocol, run_folder: Path) -> Protocol:
    """Return the protocol that a run was made with: its own config, where it keeps one.

    Raises
    ------
    DeermemEvalError
        That config differs from the protocol's in more than a run may override.
    """
    path = run_folder / RUN_CONFIG
    if not path.exists():
        return protocol
    content = read_bytes(path, "run config", limit=CONTRACT_BYTES_LIMIT)
    of_run = with_config(protocol, content, path)
    ours, theirs = _values(protocol.config.model_dump()), _values(of_run.config.model_dump())
    differing = sorted(
        key
        for key in ours.keys() | theirs.keys()
        if ours.get(key) != theirs.get(key) and key not in OVERRIDABLE
    )
    if differing:
        raise DeermemEvalError(
            f"{path}: {differing[0]} is not the protocol's, and no run may override it; name the "
            "protocol that the run was made under"
        )
    return of_run


def _values(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of a nested document by dotted key."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            found |= _values(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found
