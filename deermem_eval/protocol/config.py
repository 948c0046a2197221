"""The protocol config: every number that fixes a run, as one validated, frozen object."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    model_validator,
)

from deermem_eval.protocol.contract import Sha256, Text, parse_contract
from deermem_eval.reading import parse_yaml
from deermem_eval.weights import weights_problem

EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
SchemaVersion = Annotated[int, Field(ge=1, le=1)]  # Literal[1] would take true for 1
Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]
PositiveDays = Annotated[float, Field(gt=0)]


def _aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("needs a time zone, for example 2026-08-13T00:00:00Z")
    if not 1970 <= value.year <= 9000:
        raise ValueError(f"year {value.year} is outside 1970..9000")
    return value.astimezone(UTC)


def _parsed_time(value: Any) -> datetime:
    if not isinstance(value, str) or "T" not in value:  # pydantic would take epoch seconds too
        raise ValueError("must be a text like 2026-08-13T00:00:00Z")
    return datetime.fromisoformat(value)


Instant = Annotated[
    datetime,
    BeforeValidator(_parsed_time),
    AfterValidator(_aware),
    PlainSerializer(lambda value: value.isoformat()),
]


def _stays_inside(path: str) -> str:
    if Path(path).is_absolute() or ".." in Path(path).parts or "\\" in path:
        raise ValueError(f"path {path!r} leaves its folder; name a file in it")
    return path


InnerPath = Annotated[Text, AfterValidator(_stays_inside)]
"""A path relative to a folder, which it does not leave."""


class Contract(BaseModel):
    """A part of a protocol file: immutable, strictly typed, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Dataset(Contract):
    """The pinned data set: repository and revision on the Hugging Face Hub, file, SHA-256."""

    repository: Text
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    filename: InnerPath
    sha256: Sha256


class Pool(Contract):
    """How the pools are drawn, and the capacities at which the policies choose."""

    size: Annotated[int, Field(ge=2, le=10)]
    capacities: Annotated[tuple[int, ...], Field(min_length=1)]
    qa_capacity: int
    distractors: Positive
    distractor_bank_size: Positive
    distractor_types: Annotated[tuple[Text, ...], Field(min_length=1)]
    distractor_min_evidence_chars: Annotated[int, Field(ge=0)]
    distractor_max_evidence_chars: Positive
    offset_namespace: Text
    fact_order: Literal["fact-id", "draw"]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.distractors != self.size - 1:
            raise ValueError(
                f"distractors is {self.distractors}, but a pool of size {self.size} holds one "
                f"support fact and {self.size - 1} distractors"
            )
        for name in (*self.capacities, self.qa_capacity):
            if not 1 <= name <= self.size:
                raise ValueError(f"capacity {name} is outside 1..{self.size}, the pool size")
        if len(set(self.capacities)) != len(self.capacities):
            raise ValueError(f"capacities {list(self.capacities)} name one twice")
        if len(set(self.distractor_types)) != len(self.distractor_types):
            raise ValueError("distractor_types name one twice")
        if self.distractor_bank_size < self.distractors:
            raise ValueError(
                f"distractor_bank_size {self.distractor_bank_size} is smaller than a pool's "
                f"{self.distractors} distractors"
            )
        if self.distractor_min_evidence_chars > self.distractor_max_evidence_chars:
            raise ValueError("distractor_min_evidence_chars is above distractor_max_evidence_chars")
        return self


class Weights(Contract):
    """The three weights of `hybrid-v1`, each in [0, 1], summing to 1."""

    confidence: Fraction
    confirmation: Fraction
    access: Fraction

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        problem = weights_problem(self.confidence, self.confirmation, self.access)
        if problem:
            raise ValueError(problem)
        return self


class ConfidencePolicy(Contract):
    """DeerMem's default policy: the lowest confidence goes first."""

    policy: Literal["confidence"]


class HybridPolicy(Contract):
    """The policy of PR #4789 and its parameters; half-lives in days."""

    policy: Literal["hybrid-v1"]
    weights: Weights
    confirmation_half_life_days: PositiveDays
    access_half_life_days: PositiveDays
    correction_reserved_fraction: Fraction
    correction_reserved_max: Annotated[int, Field(ge=0)]


class Policies(Contract):
    """The two policies that the protocol compares."""

    confidence: ConfidencePolicy
    hybrid_v1: HybridPolicy


class AnswerPromptPin(Contract):
    """Where the answer prompt lies (relative to the protocol folder), and its SHA-256."""

    path: InnerPath
    sha256: Sha256


class Qa(Contract):
    """How the answers are asked for and graded."""

    answer_prompt: AnswerPromptPin
    grader_version: Literal["deterministic-overlap-v1"]
    provider: Literal["openai-compatible"]
    api_key_env: EnvironmentName
    base_url_env: EnvironmentName
    model: Text
    temperature: Annotated[float, Field(ge=0, le=2)]
    max_tokens: Positive
    stream: Literal[False]
    timeout_seconds: Annotated[float, Field(gt=0)]
    max_attempts: Positive
    workers: Positive
    policies: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Policies to answer under; None, as in every published config: all of the protocol's."""


class Statistics(Contract):
    """The pinned paired bootstrap: seed, resamples, and 1 - coverage of the interval."""

    bootstrap_seed: Annotated[int, Field(ge=0)]
    bootstrap_iterations: Annotated[int, Field(ge=1, le=100_000)]
    alpha: Annotated[float, Field(gt=0, lt=1)]


class ProtocolConfig(Contract):
    """The whole config file (deer-flow PR #4810, `configs/*.yaml`)."""

    schema_version: SchemaVersion
    protocol_id: Text
    required_policy_version: Text
    evaluation_time: Instant
    dataset: Dataset
    pool: Pool
    policies: Policies
    qa: Qa
    statistics: Statistics


def parse_config(content: bytes, path: Path) -> ProtocolConfig:
    """Parse and validate a protocol config.

    Raises
    ------
    DeermemEvalError
        The YAML or one of its values is not acceptable; the message names file, key and remedy.
    """
    document: Any = parse_yaml(content, path, "protocol config")
    return parse_contract(ProtocolConfig, document, path, "protocol config")
