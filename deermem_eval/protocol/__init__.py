"""What fixes a run: four files, validated, and the five SHA-256 that name them."""

from deermem_eval.protocol.config import ProtocolConfig
from deermem_eval.protocol.fetch import (
    FetchedFile,
    fetch_protocol,
    fetched_folder,
    with_fetched_texts,
)
from deermem_eval.protocol.identity import Identity
from deermem_eval.protocol.manifests import OfficialManifest, SyntheticManifest
from deermem_eval.protocol.overrides import override_config, with_config, with_run_config
from deermem_eval.protocol.prompt import AnswerPrompt
from deermem_eval.protocol.protocol import Protocol, load_protocol, shipped_protocols
from deermem_eval.protocol.sources import Source, read_sources, upstream_identity

__all__ = [
    "AnswerPrompt",
    "FetchedFile",
    "Identity",
    "OfficialManifest",
    "Protocol",
    "ProtocolConfig",
    "Source",
    "SyntheticManifest",
    "fetch_protocol",
    "fetched_folder",
    "load_protocol",
    "override_config",
    "read_sources",
    "shipped_protocols",
    "upstream_identity",
    "with_config",
    "with_fetched_texts",
    "with_run_config",
]
