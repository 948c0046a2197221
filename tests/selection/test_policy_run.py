import json
from datetime import UTC, datetime

import pytest

from deermem_eval.cases import load_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.policies import OWN_SELECTOR
from deermem_eval.protocol import load_protocol
from deermem_eval.selection import PolicyRun, decide, policy_settings, write_policy_run

ROW_KEYS = (
    "schema_version case_id source scenario question_type policy capacity support_fact_ids "
    "kept_fact_ids evicted scores support_all_retained support_recall reserved_correction_slots"
)
CREATED = datetime(2026, 9, 1, 12, tzinfo=UTC)


def policy_run(protocol, cases):
    settings = policy_settings(protocol.config)
    capacities = protocol.config.pool.capacities
    decisions = decide(cases, settings, capacities, now=protocol.config.evaluation_time)
    records_file = protocol.folder / ("records.csv" if cases[0].texts is None else "dataset.json")
    return PolicyRun(protocol, settings, capacities, OWN_SELECTOR, decisions, records_file)


@pytest.fixture(scope="module")
def run(historical, historical_cases):
    return policy_run(historical, historical_cases)


@pytest.fixture
def written(run, tmp_path):
    write_policy_run(run, tmp_path / "run", created_at=CREATED)
    return tmp_path / "run"


def rows_of(folder):
    lines = (folder / "policy.raw.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_270_rows_have_the_published_keys(written):
    rows = rows_of(written)
    assert len(rows) == 270
    assert {tuple(sorted(row)) for row in rows} == {tuple(sorted(ROW_KEYS.split()))}
    row = next(r for r in rows if (r["case_id"], r["capacity"]) == ("correction_language", 7))
    assert row["policy"] == "confidence"
    assert row["source"] == "synthetic"
    assert row["support_fact_ids"] == ["gold_correction_language"]
    assert row["support_all_retained"] is False
    assert row["support_recall"] == 0.0
    assert len(row["kept_fact_ids"]) == 7
    assert len(row["evicted"]) == 3
    assert set(row["evicted"][0]) == {"fact_id", "category", "score", "components"}
    assert len(row["scores"]) == 10


def test_the_marker_says_what_the_run_was_made_from(run, written):
    marker = json.loads((written / "run.json").read_text("utf-8"))
    assert marker["protocol_id"] == run.protocol.config.protocol_id
    assert marker["artifacts"] == run.protocol.identity.as_dict()
    assert marker["created_at"] == "2026-09-01T12:00:00+00:00"
    assert marker["selector"]["policy_version"] == "hybrid-v1"
    assert marker["capacities"] == [5, 7, 9]
    assert marker["records"] == {
        "filename": "records.csv",
        "sha256": sha256_hex((run.protocol.folder / "records.csv").read_bytes()),
    }
    assert marker["policies"]["hybrid-v1"]["confidence_weight"] == 0.65
    assert marker["rows"] == 270


def test_the_summary_keeps_sources_apart(written):
    groups = json.loads((written / "summary.json").read_text("utf-8"))["groups"]
    assert len(groups) == 30
    assert {
        "source": "longmemeval",
        "scenario": "access_help",
        "capacity": 7,
        "policy": "confidence",
        "cases": 10,
        "retained": 3,
        "retention": 0.3,
    } in groups
    assert (
        sum(g["retained"] for g in groups if (g["capacity"], g["policy"]) == (5, "hybrid-v1")) == 35
    )


def test_two_runs_differ_in_nothing_but_their_time(run, tmp_path):
    for name, created in (("a", CREATED), ("b", CREATED.replace(hour=13))):
        write_policy_run(run, tmp_path / name, created_at=created)
    for name in ("policy.raw.jsonl", "summary.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    a, b = (json.loads((tmp_path / x / "run.json").read_text("utf-8")) for x in "ab")
    assert a.pop("created_at") != b.pop("created_at")
    assert a == b


def test_a_run_is_never_overwritten(run, written):
    before = (written / "run.json").read_bytes()
    with pytest.raises(DeermemEvalError, match="already holds a run"):
        write_policy_run(run, written, created_at=CREATED)
    assert (written / "run.json").read_bytes() == before


def test_no_text_of_the_data_set_enters_a_run(small, tmp_path):
    protocol = load_protocol(small.folder)
    run = policy_run(protocol, load_cases(protocol, small.dataset))
    assert any("mugs" in fact["content"] for fact in run.decisions[0].case.facts)
    write_policy_run(run, tmp_path / "run", created_at=CREATED)
    for path in (tmp_path / "run").iterdir():
        content = path.read_text("utf-8").lower()
        assert "shelf" not in content
        assert "mugs now" not in content
        assert "green" not in content
