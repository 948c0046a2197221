"""Trace files: what is written is read again, and what cannot be is refused in one line."""

import datetime
import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces import build_trace, read_traces, trace_events, write_traces
from deermem_eval.traces import files as files_module
from tests.traces.strategies import traces

CREATE = {"life": "mara", "time": "2026-03-01T08:00:00Z", "event": "create", "fact": "oat-milk"}
LATER = {"life": "mara", "time": "2026-03-02T08:00:00Z"}
ACCESS = LATER | {"event": "access", "fact": "oat-milk"}


def assert_same(trace, other):
    for name in ("life", "fact_ids", "categories", "needs"):
        assert getattr(trace, name) == getattr(other, name), name
    for name in ("confidence", "kinds", "subjects", "times", "probabilities", "corrects"):
        assert np.array_equal(getattr(trace, name), getattr(other, name), equal_nan=True), name


def written(tmp_path, *lines):
    path = tmp_path / "diary.jsonl"
    parts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(parts) + b"\n")
    return path


def refusal(path):
    with pytest.raises(DeermemEvalError) as refused:
        list(read_traces(path))
    message = str(refused.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@settings(max_examples=60)
@given(st.lists(traces(most_steps=25), min_size=1, max_size=4))
def test_what_is_written_is_read_again(tmp_path_factory, lives):
    lives = [
        build_trace(f"life-{i}", [event | {"life": f"life-{i}"} for event in trace_events(life)])
        for i, life in enumerate(lives)
    ]
    path = tmp_path_factory.mktemp("lives") / "lives.jsonl"
    write_traces(path, lives)
    for life, again in zip(lives, read_traces(path), strict=True):
        assert_same(life, again)


def test_every_field_survives_and_a_life_without_a_name_has_the_files(tmp_path):
    events = [
        CREATE | {"category": "correction", "confidence": 0.25, "corrects": None},
        CREATE | {"fact": "Käse", "corrects": "oat-milk"},
        ACCESS,
        LATER | {"event": "confirm", "fact": "Käse", "probability": 0.5},
        LATER | {"event": "need", "facts": ["Käse", "oat-milk", "Käse"], "kind": "temporal"},
        LATER | {"event": "need", "facts": ["oat-milk"]},
    ]
    nameless = [{key: value for key, value in one.items() if key != "life"} for one in events]
    (trace,) = read_traces(written(tmp_path, b"", *nameless, b"  "))
    assert trace.life == "diary"
    assert trace.fact_ids == ("oat-milk", "Käse")
    assert trace.categories == ("correction", "context")
    assert trace.corrections.tolist() == [True, False]
    assert trace.corrects.tolist() == [-1, 0]
    assert trace.confidence[0] == 0.25
    assert np.isnan(trace.confidence[1])
    assert trace.probabilities.tolist() == [1, 1, 1, 0.5, 1, 1]
    assert [(need.facts, need.kind) for need in trace.needs] == [
        ((1, 0), "temporal"),
        ((0,), "need"),
    ]
    write_traces(tmp_path / "again.jsonl", [trace])
    assert_same(trace, next(read_traces(tmp_path / "again.jsonl")))


def test_a_byte_order_mark_is_no_part_of_the_first_event(tmp_path):
    path = written(tmp_path, b"\xef\xbb\xbf" + json.dumps(CREATE).encode(), ACCESS)
    assert len(next(read_traces(path)).kinds) == 2


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (CREATE | {"time": "2026-02-28T08:00:00Z", "fact": "tea"}, "is before that of the event"),
        (LATER | {"event": "need", "facts": ["tea"]}, "fact 'tea' was not created before"),
        (LATER | {"event": "need", "facts": []}, "facts must be a list of at least one id"),
        (LATER | {"event": "need", "facts": "oat-milk"}, "facts must be a list"),
        (LATER | {"event": "need", "facts": [["oat-milk"]]}, "was not created before"),
        (ACCESS | {"fact": "tea"}, "fact 'tea' was not created before"),
        (ACCESS | {"fact": None}, "fact None was not created before"),
        (
            ACCESS | {"event": "forget"},
            "event 'forget' is not one of create, access, confirm, need",
        ),
        (ACCESS | {"event": ["access"]}, r"event ['access'] is not one of"),
        (ACCESS | {"probability": 0.5}, "access takes no 'probability', only fact"),
        (ACCESS | {"note": "at breakfast"}, "access takes no 'note'"),
        (CREATE, "fact 'oat-milk' is created twice"),
        (CREATE | {"fact": ""}, "fact '' is no text"),
        (CREATE | {"fact": 7}, "fact 7 is no text"),
        (CREATE | {"fact": "tea", "confidence": 1.1}, "confidence is 1.1, and must be in [0, 1]"),
        (CREATE | {"fact": "tea", "confidence": -0.1}, "confidence is -0.1, and must be"),
        (CREATE | {"fact": "tea", "confidence": True}, "confidence is True, and must be"),
        (CREATE | {"fact": "tea", "confidence": "0.7"}, "confidence is '0.7', and must be"),
        (CREATE | {"fact": "tea", "confidence": float("nan")}, "confidence is nan, and must be"),
        (CREATE | {"fact": "tea", "category": 5}, "category 5 is no text"),
        (CREATE | {"fact": "tea", "corrects": "tea"}, "fact 'tea' was not created before"),
        (
            ACCESS | {"event": "confirm", "probability": 2},
            "probability is 2, and must be in [0, 1]",
        ),
        (ACCESS | {"event": "confirm", "probability": None}, "probability is None, and must be"),
        (ACCESS | {"time": "breakfast"}, "time 'breakfast' is none"),
        (ACCESS | {"time": 1772352000}, "time 1772352000 is none"),
        (ACCESS | {"life": ""}, "life '' is no text"),
        (CREATE | {"fact": "b", "category": "\ud800"}, "is no Unicode text"),
        (
            CREATE | {"fact": "b", "time": "9999-12-31T23:59:59-23:00"},
            "outside the years 1 to 9999",
        ),
        (
            CREATE | {"fact": "b", "time": "0001-01-01T00:00:00+23:00"},
            "outside the years 1 to 9999",
        ),
        (ACCESS | {"life": 3}, "life 3 is no text"),
        ([ACCESS], "it is a list, no object"),
        (b"17", "it is a int, no object"),
        (b'{"life": "mara", "time": "2026-03-02T08', "the file may be cut in the middle"),
        (b'{"life": "m\xe4ra"}', "can't decode byte 0xe4"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_an_event_that_cannot_be_is_refused_with_its_line(tmp_path, event, said):
    path = written(tmp_path, CREATE, event)
    if "cut" in said:
        path.write_bytes(path.read_bytes().rstrip(b"\n"))
    message = refusal(path)
    assert f"trace {path}, line 2: " in message
    assert said in message


def test_a_life_that_begins_again_is_refused(tmp_path):
    other = CREATE | {"life": "jo"}
    message = refusal(written(tmp_path, CREATE, other, ACCESS))
    assert "line 3: life 'mara' begins again; keep its events together" in message


def test_the_lives_before_a_refusal_have_been_given(tmp_path):
    lives = read_traces(written(tmp_path, CREATE, CREATE | {"life": "jo"}, b"{"))
    assert next(lives).life == "mara"
    with pytest.raises(DeermemEvalError, match="line 3"):
        next(lives)


def test_a_line_that_is_too_long_is_refused_and_one_that_just_fits_is_not(tmp_path, monkeypatch):
    path = written(tmp_path, CREATE, ACCESS)
    longest = max(len(line) for line in path.read_bytes().splitlines(keepends=True))
    monkeypatch.setattr(files_module, "LINE_BYTES_LIMIT", longest)
    assert len(next(read_traces(path)).kinds) == 2
    monkeypatch.setattr(files_module, "LINE_BYTES_LIMIT", longest - 20)
    message = refusal(path)
    assert f"line 1: it has more than {longest - 20} bytes" in message
    assert "cut" not in message


@pytest.mark.parametrize("content", [b"", b"\n\n  \n"])
def test_a_file_without_events_is_refused(tmp_path, content):
    path = tmp_path / "diary.jsonl"
    path.write_bytes(content)
    assert "holds no event" in refusal(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert "is no file; check the path" in refusal(tmp_path / "nowhere.jsonl")
    assert "is no file; check the path" in refusal(tmp_path)


def test_events_of_ones_own_are_refused_by_number():
    with pytest.raises(DeermemEvalError, match="life mara, event 2: fact 'tea' was not created"):
        build_trace("mara", [CREATE, ACCESS | {"fact": "tea"}])
    with pytest.raises(DeermemEvalError, match="life mara has no events; leave it out"):
        build_trace("mara", [])


def as_parquet(path, rows):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    parquet.write_table(arrow.table(columns), path)
    return path


@settings(max_examples=15)
@given(traces(most_steps=25))
def test_parquet_holds_the_same_lives(tmp_path_factory, life):
    path = tmp_path_factory.mktemp("parquet") / "lives.parquet"
    assert_same(life, next(read_traces(as_parquet(path, list(trace_events(life))))))


@pytest.mark.parametrize("zone", [datetime.UTC, None])
def test_a_time_column_of_parquet_means_utc_wherever_it_is_read(tmp_path, monkeypatch, zone):
    rows = [CREATE | {"time": datetime.datetime(2026, 3, 1, 8, tzinfo=zone)}]
    path = as_parquet(tmp_path / "lives.parquet", rows)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        (trace,) = read_traces(path)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert trace.times.tolist() == [1772352000]


def test_what_cannot_be_in_parquet_is_refused_with_its_row(tmp_path):
    path = as_parquet(tmp_path / "lives.parquet", [CREATE, ACCESS | {"fact": "tea"}])
    assert "row 2: fact 'tea' was not created before" in refusal(path)


def test_parquet_that_is_none_or_is_cut_is_refused(tmp_path):
    path = as_parquet(tmp_path / "lives.parquet", [CREATE, ACCESS])
    whole = path.read_bytes()
    for content in (
        b"",
        b"no parquet at all",
        whole[:-20],
        whole[:40] + b"\xff" * 60 + whole[100:],
    ):
        path.write_bytes(content)
        assert f"trace {path} cannot be read as Parquet" in refusal(path)


@pytest.mark.parametrize("values", ["times beyond the calendar", "text in another encoding"])
def test_parquet_whose_values_are_none_is_refused(tmp_path, values):
    arrow = pytest.importorskip("pyarrow")
    if values.startswith("times"):
        table = arrow.table({"time": arrow.array([2**50], arrow.timestamp("s"))})
    else:
        ends = arrow.py_buffer(np.array([0, 1], np.int32))
        table = arrow.table(
            {"event": arrow.StringArray.from_buffers(1, ends, arrow.py_buffer(b"\xe4"))}
        )
    path = tmp_path / "lives.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    refusal(path)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(files_module, "import_module", missing)
    path = tmp_path / "lives.parquet"
    path.write_bytes(b"PAR1")
    assert "needs pyarrow: pip install 'deermem-eval[parquet]'" in refusal(path)
