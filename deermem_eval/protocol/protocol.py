"""A protocol: config, manifests and prompt of one folder, checked against each other."""

from dataclasses import dataclass
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.places import resolved, shipped_folder
from deermem_eval.protocol.config import ProtocolConfig, parse_config
from deermem_eval.protocol.details import HISTORICAL, Details
from deermem_eval.protocol.identity import Identity
from deermem_eval.protocol.manifests import (
    OfficialManifest,
    SyntheticManifest,
    parse_official_manifest,
    parse_synthetic_manifest,
)
from deermem_eval.protocol.prompt import AnswerPrompt, parse_prompt
from deermem_eval.reading import CONTRACT_BYTES_LIMIT, parse_json, read_bytes

FETCH_REMEDY = (
    "bring the texts with `deermem-eval fetch pr4789` and name the folder that it prints, or "
    "another that holds them"
)


@dataclass(frozen=True)
class Protocol:
    """Everything that fixes a run, except the data set's rows.

    Attributes
    ----------
    name : str
        Name of the folder; results go to `results/<name>/`.
    folder : Path
        Where the files lie.
    prompt : AnswerPrompt or None
        None where the protocol carries facts only.
    identity : Identity
        The five SHA-256 of these very files.
    details : Details
        What no file says; the historical ones unless a drift variant changes them.
    """

    name: str
    folder: Path
    config: ProtocolConfig
    official: OfficialManifest
    synthetic: SyntheticManifest
    prompt: AnswerPrompt | None
    identity: Identity
    details: Details = HISTORICAL

    @property
    def is_shipped(self) -> bool:
        """Whether the protocol comes with the package."""
        return self.folder.parent == shipped_folder("data")

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The texts that this protocol lacks, in words; empty if it is complete."""
        missing = []
        if self.prompt is None:
            missing.append("the answer prompt")
        if not self.synthetic.has_texts:
            missing.append("the texts of the synthetic cases")
        return tuple(missing)

    def require_texts(self, purpose: str) -> AnswerPrompt:
        """Return the prompt if it and the synthetic texts are there.

        Raises
        ------
        DeermemEvalError
            They are not; `purpose`, which needs them, is named.
        """
        if self.prompt is None or self.missing_texts:
            raise DeermemEvalError(
                f"{purpose} needs {' and '.join(self.missing_texts)}, which protocol "
                f"{self.folder} does not carry (facts only); {FETCH_REMEDY}"
            )
        return self.prompt


def load_protocol(source: str | Path) -> Protocol:
    """Load and validate a protocol.

    Parameters
    ----------
    source : str or Path
        Name of a shipped protocol (`pr4789`), or a folder with `configs/`, `manifests/` and
        `prompts/` as in deer-flow's `deermem_eviction/`, or one config file in such a folder.

    Returns
    -------
    Protocol

    Raises
    ------
    DeermemEvalError
        A file is missing, malformed, contradicts another, or has not the pinned SHA-256.
    """
    config_path = _config_path(source)
    folder = config_path.parent.parent
    config_bytes = read_bytes(config_path, "protocol config", limit=CONTRACT_BYTES_LIMIT)
    config = parse_config(config_bytes, config_path)
    official_path, official_bytes = _find_manifest(folder, config.protocol_id, "selection")
    synthetic_path, synthetic_bytes = _find_manifest(folder, config.protocol_id, "cases")
    official = parse_official_manifest(official_bytes, official_path)
    synthetic = parse_synthetic_manifest(synthetic_bytes, synthetic_path)
    _refuse_shared_types(config, config_path, official)
    _refuse_contradictions(config, official, official_path, synthetic, synthetic_path)
    return Protocol(
        name=folder.name,
        folder=folder,
        config=config,
        official=official,
        synthetic=synthetic,
        prompt=_load_prompt(folder, config, config_path),
        identity=Identity(
            config_sha256=sha256_hex(config_bytes),
            official_manifest_sha256=sha256_hex(official_bytes),
            synthetic_manifest_sha256=sha256_hex(synthetic_bytes),
            answer_prompt_sha256=config.qa.answer_prompt.sha256,
            dataset_sha256=config.dataset.sha256,
        ),
    )


def shipped_protocols() -> tuple[str, ...]:
    """Return the names of the protocols that come with the package."""
    return tuple(sorted(folder.parent.name for folder in shipped_folder("data").glob("*/configs")))


def _config_path(source: str | Path) -> Path:
    text = str(source)
    path = shipped_folder("data") / text if text in shipped_protocols() else Path(text)
    path = resolved(path)
    if path.is_file():
        return path
    if not path.is_dir():
        raise DeermemEvalError(
            f"protocol {text!r} is neither a shipped protocol ({', '.join(shipped_protocols())}) "
            "nor a folder or config file; check the name"
        )
    configs = sorted((path / "configs").glob("*.y*ml"))
    if len(configs) != 1:
        found = ", ".join(config.name for config in configs) or "none"
        raise DeermemEvalError(
            f"protocol folder {path} needs exactly one config in configs/, found {found}; "
            "name the config file itself"
        )
    return configs[0]


def _find_manifest(folder: Path, protocol_id: str, marking_key: str) -> tuple[Path, bytes]:
    kind = {"selection": "official manifest", "cases": "synthetic manifest"}[marking_key]
    found = []
    for path in sorted((folder / "manifests").glob("*.json")):
        content = read_bytes(path, "manifest", limit=CONTRACT_BYTES_LIMIT)
        document = parse_json(content, path, "manifest")
        if (
            isinstance(document, dict)
            and marking_key in document
            and document.get("protocol_id") == protocol_id
        ):
            found.append((path, content))
    if len(found) != 1:
        raise DeermemEvalError(
            f"{folder / 'manifests'} needs exactly one {kind} (a JSON file with the key "
            f"{marking_key!r} and protocol_id {protocol_id!r}), found {len(found)}"
        )
    return found[0]


def _refuse_shared_types(
    config: ProtocolConfig, config_path: Path, official: OfficialManifest
) -> None:
    """Refuse distractors of the cases' types: a case must never be its own distractor."""
    shared = set(config.pool.distractor_types) & set(official.selection.eligible_question_types)
    if shared:
        raise DeermemEvalError(
            f"protocol config {config_path}: pool.distractor_types: {min(shared)!r} is a type of "
            "the cases too; name other types"
        )


def _refuse_contradictions(
    config: ProtocolConfig,
    official: OfficialManifest,
    official_path: Path,
    synthetic: SyntheticManifest,
    synthetic_path: Path,
) -> None:
    shared = {case.case_id for case in synthetic.cases} & set(official.case_ids)
    if shared:
        raise DeermemEvalError(
            f"synthetic manifest {synthetic_path}: case {min(shared)} is an official case too; "
            "rename it"
        )
    ranks = [(rank, official_path) for rank in official.loss_ranks]
    ranks += [(case.loss_rank, synthetic_path) for case in synthetic.cases]
    for rank, path in ranks:
        if rank > config.pool.size:
            raise DeermemEvalError(
                f"{path}: loss rank {rank} is above the pool size {config.pool.size}; correct it"
            )


def _load_prompt(folder: Path, config: ProtocolConfig, config_path: Path) -> AnswerPrompt | None:
    pin = config.qa.answer_prompt
    path = folder / pin.path
    if not path.exists():
        return None
    content = read_bytes(path, "answer prompt", limit=CONTRACT_BYTES_LIMIT)
    actual = sha256_hex(content)
    if actual != pin.sha256:
        raise DeermemEvalError(
            f"answer prompt {path} has SHA-256 {actual}, but {config_path} pins {pin.sha256} "
            "(qa.answer_prompt.sha256); restore the file or pin the new prompt"
        )
    return parse_prompt(content, path)
