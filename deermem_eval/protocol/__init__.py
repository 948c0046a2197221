"""What fixes a run: four files, validated, and the five SHA-256 that name them."""

from deermem_eval.protocol.config import ProtocolConfig
from deermem_eval.protocol.identity import Identity
from deermem_eval.protocol.manifests import OfficialManifest, SyntheticManifest
from deermem_eval.protocol.prompt import AnswerPrompt
from deermem_eval.protocol.protocol import Protocol, load_protocol, shipped_protocols

__all__ = [
    "AnswerPrompt",
    "Identity",
    "OfficialManifest",
    "Protocol",
    "ProtocolConfig",
    "SyntheticManifest",
    "load_protocol",
    "shipped_protocols",
]
