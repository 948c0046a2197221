import json

import pytest
import yaml

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.protocol import load_protocol


def test_the_historical_protocol_loads_as_facts_only(historical):
    assert historical.name == "pr4789"
    assert historical.config.protocol_id == "deermem-hybrid-v1-pr4789-reproduction-v1"
    assert len(historical.official.case_ids) == 40
    assert len(historical.synthetic.cases) == 5
    assert historical.prompt is None
    assert historical.missing_texts == (
        "the answer prompt",
        "the texts of the synthetic cases",
    )


def test_what_needs_texts_refuses_with_the_command_that_brings_them(historical):
    with pytest.raises(DeermemEvalError, match=r"answers needs .* `deermem-eval fetch pr4789`"):
        historical.require_texts("asking for answers")


def test_the_identity_is_of_these_very_files(small):
    identity = load_protocol(small.folder).identity
    assert identity.as_dict() == {
        "config_sha256": sha256_hex(small.config.read_bytes()),
        "official_manifest_sha256": sha256_hex(small.official.read_bytes()),
        "synthetic_manifest_sha256": sha256_hex(small.synthetic.read_bytes()),
        "answer_prompt_sha256": sha256_hex(small.prompt.read_bytes()),
        "dataset_sha256": sha256_hex(small.dataset.read_bytes()),
    }


def test_a_complete_protocol_misses_no_text(small):
    protocol = load_protocol(small.config)
    protocol.require_texts("asking for answers")
    assert (
        protocol.prompt.system == "Use nothing but the memory. Without support, say INSUFFICIENT."
    )
    assert protocol.prompt.user.startswith("{{CURRENT_DATE_SECTION}}STORED MEMORY:\n")
    assert protocol.prompt.user.endswith("QUESTION: {{QUESTION}}")


def test_the_published_files_load_and_have_the_published_identity(reference):
    protocol = load_protocol(reference / "protocol")
    marker = json.loads((reference / "published/run3/qa_run.json").read_text("utf-8"))
    assert protocol.identity.as_dict() == marker["artifacts"]
    assert protocol.missing_texts == ()


def test_our_facts_are_the_published_ones(reference, historical):
    published = load_protocol(reference / "protocol")
    assert historical.config == published.config
    assert historical.official == published.official
    assert [(c.case_id, c.loss_rank) for c in historical.synthetic.cases] == [
        (c.case_id, c.loss_rank) for c in published.synthetic.cases
    ]


CONFIG_FAULTS = {
    "an unknown key": (lambda c: c["pool"].update(sise=10), "pool.sise: is not a key"),
    "a missing key": (lambda c: c["qa"].pop("model"), "qa.model: is missing; add it"),
    "another schema": (
        lambda c: c.update(schema_version=2),
        "schema_version: input should be less than or equal to 1, found 2",
    ),
    "a schema as bool": (lambda c: c.update(schema_version=True), "schema_version: "),
    "weights off one": (
        lambda c: c["policies"]["hybrid_v1"]["weights"].update(confidence=0.55),
        r"weights \(0.55, 0.25, 0.1\) sum to 0.9, and must sum to 1",
    ),
    "a negative weight": (
        lambda c: c["policies"]["hybrid_v1"]["weights"].update(access=-0.1),
        "weights.access: input should be greater than or equal to 0, found -0.1",
    ),
    "a weight that is no number": (
        lambda c: c["policies"]["hybrid_v1"]["weights"].update(access=float("nan")),
        "weights.access: ",
    ),
    "a half-life of zero": (
        lambda c: c["policies"]["hybrid_v1"].update(access_half_life_days=0),
        "access_half_life_days: input should be greater than 0, found 0",
    ),
    "a capacity of zero": (
        lambda c: c["pool"].update(capacities=[0, 7]),
        r"capacity 0 is outside 1\.\.10, the pool size",
    ),
    "a capacity above the pool": (
        lambda c: c["pool"].update(qa_capacity=11),
        r"capacity 11 is outside 1\.\.10",
    ),
    "a repeated capacity": (lambda c: c["pool"].update(capacities=[7, 7]), "name one twice"),
    "a text as capacity": (
        lambda c: c["pool"].update(capacities=["7"]),
        r"pool.capacities.0: input should be a valid integer, found \"7\"",
    ),
    "no capacity": (lambda c: c["pool"].update(capacities=[]), "pool.capacities"),
    "too few distractors": (lambda c: c["pool"].update(distractors=8), "distractors is 8"),
    "a bank too small": (lambda c: c["pool"].update(distractor_bank_size=8), "smaller than"),
    "lengths the wrong way": (
        lambda c: c["pool"].update(distractor_min_evidence_chars=701),
        "distractor_min_evidence_chars is above",
    ),
    "a time without zone": (
        lambda c: c.update(evaluation_time="2026-03-15T00:00:00"),
        "evaluation_time: needs a time zone",
    ),
    "a time in seconds": (
        lambda c: c.update(evaluation_time="1700000000"),
        "evaluation_time: must be a text like",
    ),
    "a time at the edge": (
        lambda c: c.update(evaluation_time="0001-01-01T00:00:00+14:00"),
        "evaluation_time: year 1 is outside 1970",
    ),
    "distractors of the cases' types": (
        lambda c: c["pool"].update(distractor_types=["knowledge-update"]),
        "pool.distractor_types: 'knowledge-update' is a type of the cases too",
    ),
    "a time that is none": (lambda c: c.update(evaluation_time="T"), "evaluation_time: "),
    "a hash too short": (lambda c: c["dataset"].update(sha256="abc"), "dataset.sha256: "),
    "a hash with a newline": (
        lambda c: c["dataset"].update(sha256="0" * 64 + "\n"),
        "dataset.sha256: ",
    ),
    "a prompt outside": (
        lambda c: c["qa"]["answer_prompt"].update(path="../../etc/passwd"),
        "leaves its folder",
    ),
    "an absolute prompt": (
        lambda c: c["qa"]["answer_prompt"].update(path="/etc/passwd"),
        "leaves its folder",
    ),
    "another grader": (lambda c: c["qa"].update(grader_version="x"), "qa.grader_version: "),
    "an alpha of one": (lambda c: c["statistics"].update(alpha=1), "statistics.alpha: "),
    "no resamples": (
        lambda c: c["statistics"].update(bootstrap_iterations=0),
        "bootstrap_iterations: ",
    ),
}


@pytest.mark.parametrize("fault", CONFIG_FAULTS)
def test_a_config_with_one_fault_is_refused(small, fault):
    change, said = CONFIG_FAULTS[fault]
    small.change(small.config, change)
    with pytest.raises(DeermemEvalError, match=said) as error:
        load_protocol(small.folder)
    assert str(small.config) in str(error.value)


def test_a_number_without_end_is_refused(small):
    text = small.config.read_text("utf-8").replace("max_tokens: 64", f"max_tokens: {'9' * 6000}")
    small.config.write_text(text, "utf-8")
    with pytest.raises(DeermemEvalError, match="integer string conversion"):
        load_protocol(small.folder)


OFFICIAL_FAULTS = {
    "an unknown key": (lambda m: m.update(notes="x"), "notes: is not a key"),
    "a repeated id": (
        lambda m: m["scenarios"]["access_help"].__setitem__(0, "k01"),
        "names 'k01' 2 times; ids must be unique",
    ),
    "a case too few": (
        lambda m: m["scenarios"]["access_help"].pop(),
        "scenario access_help has 9 cases, not 10",
    ),
    "an unknown scenario": (
        lambda m: m["scenarios"].update(extra_help=[]),
        "scenarios.extra_help",
    ),
    "a scenario without place": (
        lambda m: m["scenario_order"].pop(),
        "scenario_order and scenarios do not name the same",
    ),
    "a loss rank of zero": (lambda m: m["loss_ranks"].__setitem__(0, 0), "loss_ranks.0: "),
    "a loss rank of eleven": (lambda m: m["loss_ranks"].__setitem__(9, 11), "loss_ranks.9: "),
    "a loss rank too few": (lambda m: m["loss_ranks"].pop(), "loss_ranks has 9 entries"),
    "a pilot as case": (
        lambda m: m["selection"].update(excluded_pilot_ids=["k01"]),
        "case k01 is one of the excluded pilot ids",
    ),
    "an abstention as case": (
        lambda m: m["scenarios"]["access_help"].__setitem__(0, "k06_abs"),
        "case k06_abs has the excluded suffix",
    ),
    "an id that is a path": (
        lambda m: m["scenarios"]["access_help"].__setitem__(0, "../k06"),
        "scenarios.access_help.0: ",
    ),
    "a take that does not fit": (
        lambda m: m["selection"].update(take_per_question_type=19),
        "take_per_question_type is 19, and the scenarios hold 20",
    ),
    "another protocol": (lambda m: m.update(protocol_id="other"), "exactly one official manifest"),
}


@pytest.mark.parametrize("fault", OFFICIAL_FAULTS)
def test_an_official_manifest_with_one_fault_is_refused(small, fault):
    change, said = OFFICIAL_FAULTS[fault]
    small.change(small.official, change)
    with pytest.raises(DeermemEvalError, match=said):
        load_protocol(small.folder)


SYNTHETIC_FAULTS = {
    "a repeated id": (lambda m: m["cases"][1].update(case_id="fix_0"), "names 'fix_0' 2 times"),
    "half of the texts": (lambda m: m["cases"][1].pop("answer"), "give all three or none"),
    "texts for some": (
        lambda m: [m["cases"][1].pop(key) for key in ("answer", "question", "support_fact")],
        "give all or none",
    ),
    "an official id": (lambda m: m["cases"][1].update(case_id="k01"), "is an official case too"),
    "no case": (lambda m: m.update(cases=[]), "cases: "),
    "a rank above ten": (lambda m: m["cases"][0].update(loss_rank=11), "cases.0.loss_rank: "),
}


@pytest.mark.parametrize("fault", SYNTHETIC_FAULTS)
def test_a_synthetic_manifest_with_one_fault_is_refused(small, fault):
    change, said = SYNTHETIC_FAULTS[fault]
    small.change(small.synthetic, change)
    with pytest.raises(DeermemEvalError, match=said):
        load_protocol(small.folder)


def test_a_changed_prompt_is_refused_with_both_hashes(small):
    expected = sha256_hex(small.prompt.read_bytes())
    small.prompt.write_bytes(small.prompt.read_bytes() + b"\n")
    actual = sha256_hex(small.prompt.read_bytes())
    with pytest.raises(DeermemEvalError, match=f"{actual}, but .* pins {expected}"):
        load_protocol(small.folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("USER:\nx", "needs a line SYSTEM:"),
        ("SYSTEM:\nx", "needs a line SYSTEM:"),
        ("SYSTEM:\n\n\nUSER:\nx", "empty SYSTEM section"),
        ("SYSTEM:\nx\n\nUSER:\n{{QUESTION}}", "must hold {{CURRENT_DATE_SECTION}} once"),
        (
            "SYSTEM:\n{{QUESTION}}\n\nUSER:\n{{CURRENT_DATE_SECTION}}{{STORED_MEMORY}}{{QUESTION}}",
            "must hold {{QUESTION}} once, in its USER section",
        ),
    ],
)
def test_a_prompt_without_its_contract_is_refused(small, text, said):
    small.prompt.write_text(text, "utf-8")
    pin = sha256_hex(small.prompt.read_bytes())
    small.change(small.config, lambda c: c["qa"]["answer_prompt"].update(sha256=pin))
    with pytest.raises(DeermemEvalError, match=said):
        load_protocol(small.folder)


def test_a_protocol_that_is_nowhere_is_refused_with_the_names(tmp_path):
    with pytest.raises(DeermemEvalError, match=r"neither a shipped protocol \(pr4789, sample\)"):
        load_protocol("pr9999")
    with pytest.raises(DeermemEvalError, match="exactly one config in configs/, found none"):
        load_protocol(tmp_path)


def test_of_two_configs_one_must_be_named(small):
    other = small.config.with_name("other.yaml")
    other.write_text(yaml.safe_dump({}), "utf-8")
    with pytest.raises(DeermemEvalError, match=r"found other\.yaml, small\.yaml; name the config"):
        load_protocol(small.folder)
    assert load_protocol(small.config).name == "small"
