"""The two manifests: which official cases a protocol draws and how, and its synthetic corrections."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from deermem_eval.protocol.config import Contract, Positive, SchemaVersion
from deermem_eval.protocol.contract import Count, Text, parse_contract
from deermem_eval.reading import parse_json

OfficialScenario = Literal[
    "confirmation_help", "access_help", "confidence_control", "noisy_signal_control"
]
CaseId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
LossRank = Annotated[int, Field(ge=1, le=10)]


class Selection(Contract):
    """The rule that picks the official cases out of the data set."""

    eligible_question_types: Annotated[tuple[Text, ...], Field(min_length=1)]
    excluded_pilot_ids: tuple[Text, ...]
    exclude_abstention_suffix: Text
    answer_min_chars: Count
    answer_max_chars: Count
    answer_excluded_substrings: tuple[Text, ...]
    evidence_min_chars: Count
    evidence_max_chars: Count
    take_per_question_type: Positive
    cases_per_type_per_scenario: Positive

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        refuse_repeats("eligible_question_types", self.eligible_question_types)
        refuse_repeats("excluded_pilot_ids", self.excluded_pilot_ids)
        for name in ("answer", "evidence"):
            if getattr(self, f"{name}_min_chars") > getattr(self, f"{name}_max_chars"):
                raise ValueError(f"{name}_min_chars is above {name}_max_chars")
        return self


class OfficialManifest(Contract):
    """The official cases by scenario (deer-flow PR #4810, `manifests/longmemeval-*.json`)."""

    schema_version: SchemaVersion
    protocol_id: Text
    selection: Selection
    scenario_order: Annotated[tuple[OfficialScenario, ...], Field(min_length=1)]
    loss_ranks: Annotated[tuple[LossRank, ...], Field(min_length=1)]
    scenarios: dict[OfficialScenario, tuple[CaseId, ...]]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        refuse_repeats("scenario_order", self.scenario_order)
        if set(self.scenario_order) != set(self.scenarios):
            raise ValueError("scenario_order and scenarios do not name the same scenarios")
        types = len(self.selection.eligible_question_types)
        per_scenario = types * self.selection.cases_per_type_per_scenario
        if len(self.loss_ranks) != per_scenario:
            raise ValueError(
                f"loss_ranks has {len(self.loss_ranks)} entries, and a scenario has "
                f"{per_scenario} cases"
            )
        for scenario, ids in self.scenarios.items():
            if len(ids) != per_scenario:
                raise ValueError(
                    f"scenario {scenario} has {len(ids)} cases, not {per_scenario} "
                    f"({types} question types x {self.selection.cases_per_type_per_scenario})"
                )
        taken = self.selection.cases_per_type_per_scenario * len(self.scenarios)
        if self.selection.take_per_question_type != taken:
            raise ValueError(
                f"take_per_question_type is {self.selection.take_per_question_type}, and the "
                f"scenarios hold {taken} cases a question type"
            )
        refuse_repeats("scenarios", self.case_ids)
        for case_id in self.case_ids:
            if case_id in self.selection.excluded_pilot_ids:
                raise ValueError(f"case {case_id} is one of the excluded pilot ids")
            if case_id.endswith(self.selection.exclude_abstention_suffix):
                raise ValueError(f"case {case_id} has the excluded suffix")
        return self

    @property
    def case_ids(self) -> tuple[str, ...]:
        """All official case ids, scenario by scenario in `scenario_order`."""
        return tuple(id_ for name in self.scenario_order for id_ in self.scenarios[name])


class SyntheticCase(Contract):
    """One correction case. Its three texts may be absent, and then all three are."""

    case_id: CaseId
    support_fact: Text | None = None
    question: Text | None = None
    answer: Text | None = None
    loss_rank: LossRank

    @property
    def has_texts(self) -> bool:
        """Whether support fact, question and answer are there."""
        return self.support_fact is not None

    @model_validator(mode="after")
    def _has_all_texts_or_none(self) -> Self:
        if len({text is None for text in (self.support_fact, self.question, self.answer)}) > 1:
            raise ValueError(
                f"case {self.case_id} has some of support_fact, question and answer; "
                "give all three or none"
            )
        return self


class SyntheticManifest(Contract):
    """The correction cases (deer-flow PR #4810, `manifests/synthetic-corrections-*.json`)."""

    schema_version: SchemaVersion
    protocol_id: Text
    scenario: Literal["correction_reserve"]
    cases: Annotated[tuple[SyntheticCase, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        refuse_repeats("cases", (case.case_id for case in self.cases))
        if len({case.has_texts for case in self.cases}) > 1:
            raise ValueError("some cases have texts and some have none; give all or none")
        return self

    @property
    def has_texts(self) -> bool:
        """Whether the cases carry their texts."""
        return self.cases[0].has_texts


def refuse_repeats(name: str, values: Iterable[str]) -> None:
    """Raise `ValueError` naming the first value that stands twice."""
    for value, count in Counter(values).items():
        if count > 1:
            raise ValueError(f"{name} names {value!r} {count} times; ids must be unique")


def parse_official_manifest(content: bytes, path: Path) -> OfficialManifest:
    """Parse and validate the manifest of the official cases."""
    document = parse_json(content, path, "official manifest")
    return parse_contract(OfficialManifest, document, path, "official manifest")


def parse_synthetic_manifest(content: bytes, path: Path) -> SyntheticManifest:
    """Parse and validate the manifest of the synthetic correction cases."""
    document = parse_json(content, path, "synthetic manifest")
    return parse_contract(SyntheticManifest, document, path, "synthetic manifest")
