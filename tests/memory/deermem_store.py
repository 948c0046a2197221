"""A DeerMem store on disk, written by hand in the format of DeerMem 2.1; every text is invented."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from deermem_eval.memory import prefix_of

NOW = datetime(2026, 8, 13, tzinfo=UTC)


def ago(days):
    return (NOW - timedelta(days=days)).isoformat().replace("+00:00", "Z")


@dataclass
class Store:
    root: Path
    user: str = "mara"
    agent: str = "lead"

    @property
    def folder(self) -> Path:
        base = self.root / "users" / self.user if self.user else self.root
        return base / "agents" / self.agent

    def path(self, fact_id) -> Path:
        return self.folder / "facts" / prefix_of(fact_id) / f"{fact_id}.md"

    def write(self, fact_id, content="Prefers tea to coffee.", **fields) -> Path:
        front = {
            "id": fact_id,
            "schemaVersion": 2,
            "category": "preference",
            "confidence": 0.7,
            "status": "active",
            "createdAt": ago(180),
            "updatedAt": ago(180),
            "revision": 1,
            "source": {"type": "extracted", "threadId": "t1"},
            "topics": ["drinks", "mornings & evenings"],
            "consolidatedFrom": [],
            **fields,
        }
        text = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
        return self.raw(fact_id, f"---\n{text}---\n\n# {fact_id}\n\n{content}\n".encode())

    def raw(self, fact_id, content: bytes) -> Path:
        path = self.path(fact_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def sidecar(self, name, document) -> Path:
        path = self.folder / ".metadata" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path


def tree(folder: Path):
    """Return the bytes and times of everything in a folder, links as they are."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() and not path.is_symlink() else None,
        )
        for path in folder.rglob("*")
    }
