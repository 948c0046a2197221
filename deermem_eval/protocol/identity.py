"""The protocol identity: five SHA-256 that together fix a run."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Identity:
    """SHA-256 of the five artifacts, named as in a published `qa_run.json`.

    Two runs are runs of the same protocol only if all five agree. Where a protocol lacks a text,
    the hash is the one that its config pins.
    """

    config_sha256: str
    official_manifest_sha256: str
    synthetic_manifest_sha256: str
    answer_prompt_sha256: str
    dataset_sha256: str

    def as_dict(self) -> dict[str, str]:
        """Return the five hashes by name."""
        return asdict(self)
