"""The audit of a real store: it finishes, names what is unsound, and changes nothing."""

import csv
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from deermem_eval.memory import (
    ShadowMonth,
    StoreSettings,
    add_facts,
    audit_place,
    find_stores,
    read_audit_events,
    read_store,
    shadow_by_month,
)
from deermem_eval.policies import select_facts_for_capacity
from tests.memory.deermem_store import NOW, Store, ago, tree

WHEN = ("--now", NOW.isoformat())


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "deermem")


@pytest.fixture
def pair(store):
    """A fact of 0.9 that nobody has confirmed for 180 days, and one of 0.7 confirmed last week."""
    store.write("old", confidence=0.9)
    store.write("confirmed", lastConfirmedAt=ago(7), confirmationCount=1)
    return store


def audited(store, **options):
    (place,) = find_stores(store.root)
    return audit_place(place, now=NOW, **options)


def reasons(found):
    return {Path(one.path).name: one.reason for one in found.unsound}


def test_the_opening_pair_is_decided_otherwise(pair):
    found = audited(pair, capacities=[1])
    of_confidence, of_hybrid = found.decisions
    assert (of_confidence.kept, of_hybrid.kept) == (("old",), ("confirmed",))
    (lost,) = of_hybrid.evicted
    assert lost.fact_id == "old"
    assert lost.score == pytest.approx(0.62, abs=0.005)
    assert lost.reason == "0.0756 below the cut"
    assert lost.components["confidence"] == 0.9
    assert found.disagreements() == {1: ("confirmed", "old")}
    assert found.unsound == ()


def test_a_correction_against_ten_preferences(store):
    for i in range(10):
        store.write(f"p{i}", confidence=0.9)
    store.write("correction", category="correction", confidence=0.7)
    of_confidence, of_hybrid = audited(store, capacities=[10]).decisions
    assert (of_confidence.corrections_at_risk, of_hybrid.corrections_at_risk) == (1, 0)
    assert of_hybrid.reserved_correction_slots == 1
    (lost,) = of_hybrid.evicted
    assert lost.reason == "a reserved slot took its place"
    (lost,) = of_confidence.evicted
    assert lost.reason == "0.2000 below the cut"


def test_reasons_tell_the_cut_from_the_reserve(store):
    for i in range(6):
        store.write(f"p{i}", confidence=0.9 - i / 100)
    store.write("correction", category="correction", confidence=0.1)
    (_, of_hybrid) = audited(store, capacities=[4]).decisions
    found = {fact.fact_id: fact.reason for fact in of_hybrid.evicted}
    assert found["p3"] == "a reserved slot took its place"
    assert found["p5"] == "0.0195 below the cut"


def test_reasons_where_no_ranked_fact_can_stay(store):
    for i in range(3):
        store.write(f"p{i}", confidence=0.9 - i / 100)
    store.write("correction", category="correction", confidence=0.1)
    (_, at_none, _, at_one) = audited(store, capacities=[0, 1]).decisions
    assert {fact.reason for fact in at_none.evicted} == {"the capacity is 0"}
    assert at_one.kept == ("correction",)
    reasons_at_one = {fact.fact_id: fact.reason for fact in at_one.evicted}
    assert reasons_at_one["p0"] == "a reserved slot took its place"
    assert reasons_at_one["p1"] == reasons_at_one["p2"] == "reserved slots took every place"


def test_one_policy_alone_shows_what_it_evicts(pair, command):
    out = command("audit", pair.root, "--policy", "hybrid-v1", "--capacity", "1", *WHEN)[1]
    assert "old (preference) 0.6163: 0.0756 below the cut" in out


def test_users_agents_and_older_stores_are_found_in_order(tmp_path):
    for user, agent in (("mara", "lead"), ("mara", "coder"), ("", "lone"), ("jo", "lead")):
        Store(tmp_path, user, agent).write("a")
    (tmp_path / "users" / "old").mkdir()
    legacy = {"facts": [{"id": "x", "confidence": 0.5}, {"no": "id"}, 7], "summary": {}}
    (tmp_path / "users" / "old" / "memory.json").write_text(json.dumps(legacy))
    (tmp_path / "users" / "mara" / "memory.json").write_text('{"user": {}}')  # summaries only
    found = [(place.user, place.agent) for place in find_stores(tmp_path)]
    assert found == [("", "lone"), ("jo", "lead"), ("mara", "coder"), ("mara", "lead"), ("old", "")]
    old = read_store(list(find_stores(tmp_path))[-1])
    assert [fact["id"] for fact in old.facts] == ["x"]
    assert len(old.unsound) == 2


def test_usage_counts_and_a_broken_sidecar_counts_as_empty(pair):
    usage = {"old": {"accessHeat": 8, "accessCount": 8, "lastAccessedAt": ago(0)}}
    pair.sidecar("fact-usage.json", usage)
    assert audited(pair, capacities=[1]).decisions[1].kept == ("old",)
    pair.sidecar("fact-usage.json", json.dumps(usage)[:20])
    found = audited(pair, capacities=[1])
    assert found.decisions[1].kept == ("confirmed",)
    assert reasons(found) == {"fact-usage.json": "it is not valid JSON; it counts as empty"}


def test_the_stores_own_audit_is_counted(pair):
    events = [{"shadow": {"disagrees": True}}, {"shadow": {"disagrees": False}}, {}, "odd"]
    pair.sidecar("eviction-audit.json", events)
    found = audited(pair)
    assert (found.evictions, found.shadow_disagreements) == (4, 1)
    assert found.shadow == (ShadowMonth("undated", 4, 2, 1),)
    pair.sidecar("eviction-audit.json", "{}")
    assert reasons(audited(pair)) == {"eviction-audit.json": "it is no list; it counts as empty"}


def test_the_shadow_is_replayed_month_by_month(pair, command):
    settings = StoreSettings(1, is_shadowed=True)
    for days in (70, 40, 38, 2):
        now = NOW - timedelta(days=days)
        fact = {"id": f"new{days}", "confidence": 0.95 - days / 1000, "createdAt": ago(days)}
        add_facts(pair.folder, [{**fact, "content": "Sails on Sundays."}], settings, now=now)
    events, _ = read_audit_events(pair.folder)
    assert [event["shadow"]["disagrees"] for event in events] == [True, False, False, False]
    extra = {"occurredAt": "0001-01-01T00:00:00+14:00", "shadow": {"disagrees": 1}}
    months = shadow_by_month([*events, extra, {"occurredAt": "soon"}])
    assert months == (
        ShadowMonth("0001-01", 1, 1, 0),
        ShadowMonth("2026-06", 1, 1, 1),
        ShadowMonth("2026-07", 2, 2, 0),
        ShadowMonth("2026-08", 1, 1, 0),
        ShadowMonth("undated", 1, 0, 0),
    )
    out = command("audit", pair.root, *WHEN)[1]
    assert "disagreed in 1 of the 4 that it shadowed (2026-06 1 of 1, 2026-07 0 of 2," in out
    (store,) = json.loads(command("audit", pair.root, *WHEN, "--json")[1])["stores"]
    assert store["shadow"][0] == {
        "month": "2026-06",
        "evictions": 1,
        "shadowed": 1,
        "disagreements": 1,
    }


def test_any_policy_is_audited_by_name(pair, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "by_name.py").write_text(
        "def last(facts, *, max_facts, usage, now):\n"
        "    return sorted(fact['id'] for fact in facts)[-max_facts:] if max_facts else []\n"
    )
    asked = ("--capacity", "1", "--policy", "recency,by_name:last", "--policy", "hybrid-v1")
    code, out, err = command("audit", pair.root, *asked, *WHEN, "--output-file", "rows.csv")
    assert code == 0
    assert (
        "at 1 recency keeps 1, evicts 1; corrections at risk 0; the policies disagree on 2" in out
    )
    assert "confirmed (preference): not among the 1 that by_name:last keeps" in out
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert [(row["policy"], row["fact_id"], row["score"]) for row in rows] == [
        ("recency", "old", ""),
        ("by_name:last", "confirmed", ""),
        ("hybrid-v1", "old", rows[2]["score"]),
    ]
    assert float(rows[2]["score"]) == pytest.approx(0.6163, abs=1e-4)
    assert "3 evictions written to" in err
    with_two = command("audit", pair.root, *asked, *WHEN, "--workers", "2", "--json")
    assert with_two == command("audit", pair.root, *asked, *WHEN, "--json")


def test_a_cut_ranking_decides_as_the_selector_does(store):
    for i in range(30):
        kind = "correction" if i % 7 == 3 else "preference"
        store.write(f"f{i:02d}", category=kind, confidence=(i * 7 % 10) / 10, createdAt=ago(i * 9))
    facts = read_store(next(find_stores(store.root))).facts
    for decision in audited(store, capacities=range(32)).decisions:
        expected = select_facts_for_capacity(
            facts, max_facts=decision.capacity, policy=decision.policy, usage={}, now=NOW
        )
        assert decision.kept == tuple(fact["id"] for fact in expected.kept)
        assert [fact.fact_id for fact in decision.evicted] == [
            fact.fact_id for fact in expected.evicted
        ]
        assert decision.reserved_correction_slots == expected.reserved_correction_slots


def test_no_name_steers_the_terminal_or_breaks_the_document(tmp_path, command):
    bell = Store(tmp_path, "mara\x1b]0;x\x07", "le\nad")
    bell.write("a", confidence=7)
    strange = os.fsdecode(b"\xff\xfe")
    Store(tmp_path, strange, "lead").write("b")
    code, out, err = command("audit", tmp_path, *WHEN)
    assert code == 1
    assert not set("\x1b\x07") & set(out + err)
    assert err.count("\n") == 1
    found = json.loads(command("audit", tmp_path, "--json", *WHEN)[1])
    assert [store["agent"] for store in found["stores"]] == ["le\nad", "lead"]
    assert len(found["unsound"]) == 1
    table = tmp_path / "rows.csv"
    assert command("audit", tmp_path, "--capacity", "0", "--output-file", table, *WHEN)[0] == 1
    assert len(list(csv.reader(table.read_text().replace("le\nad", "lead").splitlines()))) == 5


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


def test_whatever_lies_there_the_audit_finishes_and_names_it(store, tmp_path, monkeypatch):
    outside = tmp_path / "outside.md"
    outside.write_text("---\nid: secret\n---\n\n# x\n\nnobody's business\n")
    sound = store.write("sound", content="Lives in Zürich. 对，就是这样")
    crlf = store.write("crlf").read_bytes().replace(b"\n", b"\r\n")
    store.raw("crlf", b"\xef\xbb\xbf" + crlf)
    store.raw(
        "no-title", sound.read_bytes().replace(b"# sound\n\n", b"").replace(b"sound", b"no-title")
    )
    store.write("huge", content="x" * 5_000_000)
    store.write("dates", createdAt="2026-01-02").write_text(
        store.path("dates").read_text().replace("'2026-01-02'", "2026-01-02")
    )
    store.write("extra", favourite="none", confirmationCount=3)
    store.write("inactive", status="archived")
    body = "\n---\n\n# t\n\nc\n"
    spoiled = {
        "tagged": "id: tagged\nx: !!python/object/apply:os.system ['touch /tmp/never']",
        "bomb": f"id: bomb\n{BOMB}",
        "list": "- id: list",
        "twice": "id: twice\nid: twice",
        "mismatch": "id: other",
        "noid": "confidence: 1",
        "slash": "id: ../../x",
        "broken": "id: [unclosed",
    }
    for name, front in spoiled.items():
        store.raw(name, f"---\n{front}{body}".encode())
    store.raw("bytes", b"---\nid: bytes\n---\n\xff\xfe")
    store.raw("endless", b"---\nid: endless\n")
    store.raw("plain", b"no front matter at all\n")
    store.raw("empty", b"")
    store.path("folder").mkdir(parents=True)
    store.path("link").parent.mkdir(parents=True, exist_ok=True)
    store.path("link").symlink_to(outside)
    (store.folder / "facts" / "misplaced.md").write_text("---\nid: misplaced\n---\n")
    (store.root / "users" / "elsewhere").symlink_to(tmp_path)
    os.mkfifo(store.path("link").parent / "pipe.md")
    before = tree(tmp_path)
    found = audited(store, capacities=[3])
    assert tree(tmp_path) == before
    kept = {*found.decisions[0].kept, *(fact.fact_id for fact in found.decisions[0].evicted)}
    assert kept == {"sound", "crlf", "no-title", "huge", "dates", "extra"}
    named = reasons(found)
    assert set(named) == {
        *(f"{name}.md" for name in spoiled),
        *("bytes.md", "endless.md", "plain.md", "empty.md", "folder.md", "link.md", "pipe.md"),
        "misplaced.md",
    }
    assert named["link.md"] == "it is a symbolic link, which is not followed"
    assert "aliases" in named["bomb.md"] or "not accepted" in named["bomb.md"]
    assert "tags" in named["tagged.md"]
    assert named["mismatch.md"] == "its id 'other' does not match its name"
    assert named["list.md"] == "its front matter is a list, no mapping"
    assert not Path("/tmp/never").exists()
    facts = {fact["id"]: fact for fact in read_store(next(find_stores(store.root))).facts}
    assert (
        facts["sound"]["content"] == facts["no-title"]["content"] == "Lives in Zürich. 对，就是这样"
    )
    assert facts["dates"]["createdAt"] == "2026-01-02"
    assert facts["crlf"]["topics"] == ["drinks", "mornings & evenings"]


def test_fields_that_have_to_be_guessed_are_named_with_their_path(store):
    store.write("high", confidence=7)
    store.write("later", createdAt=ago(-30))
    store.write("when", lastConfirmedAt="last week")
    store.write("what", category=None)
    named = reasons(audited(store))
    assert named == {
        "high.md": "confidence '7' is no number in 0..1",
        "later.md": f"createdAt {ago(-30)} is in the future",
        "when.md": "lastConfirmedAt 'last week' is no time",
        "what.md": "category is missing",
    }


def test_a_fact_that_stands_twice_is_named(tmp_path):
    facts = [{"id": "a", "confidence": 0.5, "createdAt": ago(1), "category": "context"}] * 2
    (tmp_path / "memory.json").write_text(json.dumps({"facts": facts}))
    found = audited(Store(tmp_path))
    assert found.facts == 1
    assert "is that of" in found.unsound[0].reason


def test_the_command_prints_decisions_and_never_content(pair, command, tmp_path):
    code, out, err = command("audit", pair.root, "--capacity", "1", *WHEN)
    assert (code, err) == (0, "")
    assert "(user mara, agent lead): 2 facts (preference 2)" in out
    assert (
        "at 1 hybrid-v1 keeps 1, evicts 1; corrections at risk 0; the policies disagree on 2" in out
    )
    assert "old (preference) 0.6163: 0.0756 below the cut" in out
    assert "tea" not in out
    assert (
        "Prefers tea" in command("audit", pair.root, "--capacity", "1", *WHEN, "--show-content")[1]
    )
    table = tmp_path / "evictions.csv"
    assert command("audit", pair.root, "--output-file", table, *WHEN)[0] == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert {row["fact_id"] for row in rows} == {"old", "confirmed"}
    assert "tea" not in table.read_text()


def test_json_has_the_documented_keys(pair, command):
    pair.raw("spoiled", b"no")
    code, out, _ = command("audit", pair.root, "--json", *WHEN)
    found = json.loads(out)
    assert code == 1
    (store,) = found["stores"]
    assert (store["user"], store["agent"], store["facts"]) == ("mara", "lead", 2)
    decision = store["decisions"][0]
    assert (decision["policy"], decision["capacity"]) == ("confidence", 1)
    assert (decision["kept"], decision["evicted"][0]["fact_id"]) == (["old"], "confirmed")
    assert found["unsound"][0]["path"].endswith("spoiled.md")


def test_two_processes_find_what_one_finds(tmp_path, command):
    for user in range(120):
        Store(tmp_path, f"u{user:03d}").write("a", confidence=user / 200)
    one = command("audit", tmp_path, "--json", *WHEN)
    assert json.loads(one[1])["stores"][119]["user"] == "u119"
    assert command("audit", tmp_path, "--json", *WHEN, "--workers", "2") == one


def test_an_audit_starts_without_pandas():
    """Workers import what an audit needs each time that they start."""
    code = "import sys, deermem_eval.verbs.audit_lines; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_the_root_comes_from_the_environment(pair, command, monkeypatch):
    monkeypatch.setenv("DEERMEM_DATA_DIR", str(pair.root))
    assert "2 facts" in command("audit", *WHEN)[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nowhere"], "/nowhere is no folder; name a DeerMem folder, or set DEERMEM_DATA_DIR"),
        ([".", "--capacity", "-1"], "capacity -1 is below 0"),
        ([".", "--now", "soon"], "'soon' is no time"),
        ([".", "--json", "--show-content"], "--show-content is for the screen alone"),
        ([".", "--policy", "lru"], "policy 'lru' is not one of confidence, hybrid-v1, "),
        ([".", "--policy", "oracle"], "policy oracle must be told what will be asked for"),
        ([".", "--output-file", "/proc/x/y.csv"], "cannot be written"),
    ],
)
def test_bad_input_is_refused_in_one_line(command, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("audit", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_folder_without_stores_says_so(command, tmp_path):
    code, out, err = command("audit", tmp_path)
    assert (code, out) == (0, "")
    assert "holds no store" in err
