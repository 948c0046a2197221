"""The store against a plain model in memory, through random lives with crashes at every write step."""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from deermem_eval.errors import DeermemEvalError
from deermem_eval.memory import (
    StorePlace,
    StoreSettings,
    accessed,
    add_facts,
    confirm_facts,
    confirmed,
    fact_text,
    read_audit_events,
    read_store,
    record_search,
    remove_facts,
    writing,
)
from deermem_eval.memory.fact_files import parse_fact
from deermem_eval.policies import select_facts_for_capacity
from tests.memory.deermem_store import NOW, ago, tree

IDS = st.sampled_from([f"fact-{i}" for i in range(9)])
MODES = {
    "confidence": StoreSettings(4),
    "shadow": StoreSettings(4, is_shadowed=True, audit_events=3),
    "hybrid": StoreSettings(4, policy="hybrid-v1", audit_events=3),
}


PENDING = writing.PENDING_FILE.name


class Crash(BaseException):
    """The process ends here."""


class StoreMachine(RuleBasedStateMachine):
    mode = "confidence"

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()) / "agent"
        self.facts, self.usage, self.events, self.now = {}, {}, [], NOW
        self.keeping = MODES[self.mode]

    def teardown(self):
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def crashing_at(self, step):
        real = writing._write, writing._delete
        calls = iter(range(1_000))

        def wrapped(function):
            def call(*arguments):
                if next(calls) == step:
                    raise Crash
                function(*arguments)
                self.is_committed |= function is real[0] and arguments[0].name == PENDING

            return call

        writing._write, writing._delete = map(wrapped, real)
        return real

    def take(self, action, step, change):
        """Act on the disk, crashing at a step if one is given; the model follows what was committed."""
        self.is_committed = False
        real = self.crashing_at(step)
        try:
            action()
            happened = True
        except Crash:
            happened = (
                self.is_committed
            )  # else the step was of the change before, or before this one
        finally:
            writing._write, writing._delete = real
        if happened:
            change()

    def evict(self):
        if len(self.facts) <= self.keeping.max_facts:
            return
        facts = list(self.stored().values())
        decision = select_facts_for_capacity(
            facts, max_facts=4, policy=self.keeping.policy, usage=self.usage, now=self.now
        )
        gone = [fact.fact_id for fact in decision.evicted]
        for id_ in gone:
            del self.facts[id_]
            self.usage.pop(id_, None)
        self.events.append(gone)

    def stored(self):
        """In the order in which the store decides: what was there by path, then what came."""
        return self.facts

    @rule(
        ids=st.lists(IDS, min_size=1, max_size=3, unique=True),
        confidence=st.sampled_from((0.2, 0.5, 0.9)),
        category=st.sampled_from(("preference", "correction")),
        step=st.integers(-1, 9),
    )
    def add(self, ids, confidence, category, step):
        new = [
            {
                "id": id_,
                "category": category,
                "confidence": confidence,
                "createdAt": self.now.isoformat(),
                "content": f"Words of {id_}: Zürich & 对",
            }
            for id_ in ids
        ]
        before = dict(sorted(self.facts.items(), key=lambda item: self.path(item[0])))

        def change():
            self.facts = before | {
                fact["id"]: {"schemaVersion": 2, "status": "active", **fact} for fact in new
            }
            self.evict()

        self.take(lambda: add_facts(self.folder, new, self.keeping, now=self.now), step, change)

    def path(self, id_):
        return str(writing._relative(id_))

    @rule(id_=IDS, step=st.integers(-1, 3))
    def confirm(self, id_, step):
        def change():
            if id_ in self.facts:
                self.facts[id_] = confirmed(self.facts[id_], self.now)

        self.take(
            lambda: confirm_facts(self.folder, [id_], self.keeping, now=self.now),
            step,
            change,
        )

    @rule(ids=st.lists(IDS, max_size=4), step=st.integers(-1, 2))
    def search(self, ids, step):
        def change():
            if self.keeping.keeps_sidecars:
                for id_ in dict.fromkeys(ids):
                    if id_ in self.facts:
                        self.usage[id_] = accessed(self.usage.get(id_), self.now)

        self.take(
            lambda: record_search(self.folder, ids, self.keeping, now=self.now),
            step,
            change,
        )

    @precondition(lambda self: self.facts)
    @rule(data=st.data(), step=st.integers(-1, 3))
    def remove(self, data, step):
        id_ = data.draw(st.sampled_from(sorted(self.facts)))

        def change():
            del self.facts[id_]
            self.usage.pop(id_, None)

        self.take(
            lambda: remove_facts(self.folder, [id_], self.keeping, now=self.now), step, change
        )

    @rule(days=st.integers(1, 60))
    def wait(self, days):
        self.now += timedelta(days=days)

    @invariant()
    def the_store_equals_the_model(self):
        store = read_store(StorePlace("", "agent", self.folder))
        assert {fact["id"]: fact for fact in store.facts} == self.facts
        assert store.unsound == ()
        assert len(store.facts) <= 4
        assert store.usage == self.usage
        events, problems = read_audit_events(self.folder)
        assert problems == []
        if not self.keeping.keeps_sidecars:
            assert events == []
            assert not (self.folder / ".metadata" / "fact-usage.json").exists()
            return
        assert [[fact["factId"] for fact in event["evicted"]] for event in events] == self.events[
            -3:
        ]
        assert all(("shadow" in event) == self.keeping.is_shadowed for event in events)
        assert "Zürich" not in str(events)


def machine(name):
    made = type(f"{name.title()}Machine", (StoreMachine,), {"mode": name})
    case = made.TestCase
    case.settings = settings(
        max_examples=25, stateful_step_count=20, deadline=None, derandomize=True
    )
    return case


TestConfidenceStore = machine("confidence")
TestShadowedStore = machine("shadow")
TestHybridStore = machine("hybrid")


def test_a_fact_reads_as_it_was_written(tmp_path):
    fact = {
        "id": "a-1",
        "schemaVersion": 2,
        "category": "preference",
        "confidence": 0.7,
        "status": "active",
        "createdAt": ago(1),
        "source": {"type": "manual", "threadId": None},
        "topics": ["tea: green", "yes", "01:30", "- x", "*star", "&and", "!bang"],
        "content": "# not a title\n\nLives in Zürich.\n---\nStill the content.",
    }
    path = tmp_path / writing.prefix_of("a-1") / "a-1.md"
    assert parse_fact(fact_text(fact), path) == fact


def test_shadow_mode_records_disagreement_alone(tmp_path):
    keeping = StoreSettings(1, is_shadowed=True)
    old = {"id": "old", "confidence": 0.9, "createdAt": ago(180), "content": "x"}
    new = {"id": "new", "confidence": 0.7, "lastConfirmedAt": ago(7), "content": "y"}
    assert add_facts(tmp_path, [old, new], keeping, now=NOW) == ("new",)
    (event,) = read_audit_events(tmp_path)[0]
    assert event["policyVersion"] == "confidence"
    assert event["shadow"] == {
        "policyVersion": "hybrid-v1",
        "wouldEvict": ["old"],
        "disagrees": True,
    }


def test_a_search_touches_no_fact_file(tmp_path):
    keeping = StoreSettings(policy="hybrid-v1")
    add_facts(tmp_path, [{"id": "a", "content": "x"}], keeping, now=NOW)
    before = tree(tmp_path / "facts")
    record_search(tmp_path, ["a", "a", "gone"], keeping, now=NOW)
    assert tree(tmp_path / "facts") == before
    assert read_store(StorePlace("", "a", tmp_path)).usage["a"]["accessCount"] == 1


def test_a_broken_sidecar_is_named_and_counts_as_empty(tmp_path):
    keeping = StoreSettings(1, policy="hybrid-v1")
    add_facts(tmp_path, [{"id": "a", "confidence": 0.9}], keeping, now=NOW)
    (tmp_path / ".metadata" / "eviction-audit.json").write_text('[{"half')
    with pytest.warns(
        writing.BrokenSidecarWarning, match=r"eviction-audit.json: it is not valid JSON"
    ):
        add_facts(tmp_path, [{"id": "b", "confidence": 0.1}], keeping, now=NOW)
    assert len(read_audit_events(tmp_path)[0]) == 1


@pytest.mark.parametrize("id_", ["", "../x", "a/b", "é", None, 7, "x" * 201])
def test_an_id_that_is_none_is_refused_and_nothing_written(tmp_path, id_):
    with pytest.raises(DeermemEvalError, match="letters, digits, _ and - only"):
        add_facts(tmp_path / "agent", [{"id": id_}], StoreSettings(), now=NOW)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"write": {"../x": "y"}, "delete": []}',
        '{"write": {}, "delete": ["facts"]}',
        "\xff",
    ],
)
def test_a_pending_file_that_is_none_of_ours_changes_nothing(tmp_path, content):
    add_facts(tmp_path, [{"id": "a", "content": "x"}], StoreSettings(), now=NOW)
    (tmp_path / writing.PENDING_FILE).write_text(content, "latin-1")
    assert [fact["id"] for fact in read_store(StorePlace("", "a", tmp_path)).facts] == ["a"]
    add_facts(tmp_path, [{"id": "b", "content": "x"}], StoreSettings(), now=NOW)
    assert len(read_store(StorePlace("", "a", tmp_path)).facts) == 2
    assert not (tmp_path.parent / "x").exists()


def test_a_capacity_below_one_is_refused():
    with pytest.raises(DeermemEvalError, match="max_facts is 0"):
        StoreSettings(0)
