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
from deermem_eval.protocol.small_model import (
    SMALL_MODEL_NAME,
    SMOLLM2,
    PackagedModel,
    fetch_small_model,
    load_small_model,
)
from deermem_eval.protocol.sources import Source, read_sources, upstream_identity

__all__ = [
    "SMALL_MODEL_NAME",
    "SMOLLM2",
    "AnswerPrompt",
    "FetchedFile",
    "Identity",
    "OfficialManifest",
    "PackagedModel",
    "Protocol",
    "ProtocolConfig",
    "Source",
    "SyntheticManifest",
    "fetch_protocol",
    "fetch_small_model",
    "fetched_folder",
    "load_protocol",
    "load_small_model",
    "override_config",
    "read_sources",
    "shipped_protocols",
    "upstream_identity",
    "with_config",
    "with_fetched_texts",
    "with_run_config",
]
