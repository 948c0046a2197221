"""A small protocol with texts, made for the tests: four files, and a data set that it pins."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import yaml

PROMPT = """SYSTEM:
Use nothing but the memory. Without support, say INSUFFICIENT.

USER:
{{CURRENT_DATE_SECTION}}STORED MEMORY:
{{STORED_MEMORY}}

QUESTION: {{QUESTION}}
"""


@dataclass(frozen=True)
class SmallProtocol:
    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "configs" / "small.yaml"

    @property
    def official(self) -> Path:
        return self.folder / "manifests" / "official.json"

    @property
    def synthetic(self) -> Path:
        return self.folder / "manifests" / "synthetic.json"

    @property
    def prompt(self) -> Path:
        return self.folder / "prompts" / "answer.txt"

    @property
    def dataset(self) -> Path:
        return self.folder / "dataset.json"

    def rows(self) -> list[dict]:
        return json.loads(self.dataset.read_text("utf-8"))

    def change(self, path: Path, change) -> None:
        """Rewrite one file through a function that changes its parsed content in place."""
        is_yaml = path.suffix == ".yaml"
        document = (yaml.safe_load if is_yaml else json.loads)(path.read_text("utf-8"))
        change(document)
        text = yaml.safe_dump(document, sort_keys=False) if is_yaml else json.dumps(document)
        path.write_text(text, "utf-8")

    def write_rows(self, rows: list[dict], *, padding: int = 0) -> None:
        """Write the data set, with so many blanks behind it, and pin it."""
        content = json.dumps(rows, ensure_ascii=False).encode() + b" " * padding
        self.dataset.write_bytes(content)
        pin = hashlib.sha256(content).hexdigest()
        self.change(self.config, lambda config: config["dataset"].update(sha256=pin))


def write_small_protocol(folder: Path) -> SmallProtocol:
    small = SmallProtocol(folder)
    for path in (small.config, small.official, small.prompt):
        path.parent.mkdir(parents=True, exist_ok=True)
    rows = [_row(f"k{i:02d}", "knowledge-update") for i in range(22)]
    rows += [_row(f"t{i:02d}", "temporal-reasoning") for i in range(22)]
    rows += [_row(f"u{i:02d}", "single-session-user") for i in range(30)]
    rows += [_row(f"p{i:02d}", "single-session-preference") for i in range(14)]
    small.prompt.write_text(PROMPT, "utf-8")
    small.config.write_text(yaml.safe_dump(_config(), sort_keys=False), "utf-8")
    small.official.write_text(json.dumps(_official()), "utf-8")
    small.synthetic.write_text(json.dumps(_synthetic()), "utf-8")
    small.write_rows(rows)
    return small


def _row(question_id: str, question_type: str) -> dict:
    number = int(question_id[1:])
    return {
        "question_id": question_id,
        "question_type": question_type,
        "question": f"How many mugs are on shelf {number}?",
        "answer": number + 2,
        "question_date": "2026/03/01 (Sun) 09:30",
        "haystack_session_ids": [f"session_{question_id}"],
        "haystack_dates": ["2026/02/11 (Wed) 18:05"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I tidied the kitchen today.", "has_answer": False},
                {
                    "role": "user",
                    "content": f"Shelf {number} holds {number + 2} mugs now, the blue one included.",
                    "has_answer": True,
                },
                {"role": "assistant", "content": "Noted: a full shelf!"},
            ]
        ],
    }


def _config() -> dict:
    return {
        "schema_version": 1,
        "protocol_id": "small-v1",
        "required_policy_version": "hybrid-v1",
        "evaluation_time": "2026-03-15T00:00:00Z",
        "dataset": {
            "repository": "somebody/mugs",
            "revision": "0" * 40,
            "filename": "dataset.json",
            "sha256": "0" * 64,
        },
        "pool": {
            "size": 10,
            "capacities": [5, 7, 9],
            "qa_capacity": 7,
            "distractors": 9,
            "distractor_bank_size": 40,
            "distractor_types": ["single-session-user", "single-session-preference"],
            "distractor_min_evidence_chars": 40,
            "distractor_max_evidence_chars": 700,
            "offset_namespace": "small",
            "fact_order": "fact-id",
        },
        "policies": {
            "confidence": {"policy": "confidence"},
            "hybrid_v1": {
                "policy": "hybrid-v1",
                "weights": {"confidence": 0.65, "confirmation": 0.25, "access": 0.10},
                "confirmation_half_life_days": 90,
                "access_half_life_days": 30,
                "correction_reserved_fraction": 0.10,
                "correction_reserved_max": 10,
            },
        },
        "qa": {
            "answer_prompt": {
                "path": "prompts/answer.txt",
                "sha256": hashlib.sha256(PROMPT.encode()).hexdigest(),
            },
            "grader_version": "deterministic-overlap-v1",
            "provider": "openai-compatible",
            "api_key_env": "SMALL_API_KEY",
            "base_url_env": "SMALL_BASE_URL",
            "model": "a-model",
            "temperature": 0,
            "max_tokens": 64,
            "stream": False,
            "timeout_seconds": 10,
            "max_attempts": 2,
            "workers": 2,
        },
        "statistics": {"bootstrap_seed": 1, "bootstrap_iterations": 200, "alpha": 0.05},
    }


def _official() -> dict:
    scenarios = ("confirmation_help", "access_help", "confidence_control", "noisy_signal_control")
    return {
        "schema_version": 1,
        "protocol_id": "small-v1",
        "selection": {
            "eligible_question_types": ["knowledge-update", "temporal-reasoning"],
            "excluded_pilot_ids": ["k00"],
            "exclude_abstention_suffix": "_abs",
            "answer_min_chars": 1,
            "answer_max_chars": 100,
            "answer_excluded_substrings": ["not enough", "only mentioned"],
            "evidence_min_chars": 1,
            "evidence_max_chars": 2000,
            "take_per_question_type": 20,
            "cases_per_type_per_scenario": 5,
        },
        "scenario_order": list(scenarios),
        "loss_ranks": [6, 6, 6, 8, 8, 8, 10, 10, 10, 10],
        "scenarios": {
            name: [f"k{i + 1:02d}" for i in range(5 * place, 5 * place + 5)]
            + [f"t{i:02d}" for i in range(5 * place, 5 * place + 5)]
            for place, name in enumerate(scenarios)
        },
    }


def _synthetic() -> dict:
    return {
        "schema_version": 1,
        "protocol_id": "small-v1",
        "scenario": "correction_reserve",
        "cases": [
            {
                "case_id": f"fix_{i}",
                "support_fact": f"Correction: mug {i} is green, not blue.",
                "question": f"Is mug {i} blue? Answer YES or NO.",
                "answer": "NO",
                "loss_rank": rank,
            }
            for i, rank in enumerate((6, 8, 8, 10, 10))
        ],
    }
