"""The schema of an event accepts what the reader accepts, and refuses what it refuses."""

import json
from importlib.resources import files

import jsonschema
import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.traces import build_trace, made_life, trace_events

CREATED = {"time": "2026-01-01", "event": "create", "fact": "a"}


@pytest.fixture(scope="module")
def schema():
    text = (files("deermem_eval.traces") / "event.schema.json").read_text("utf-8")
    found = jsonschema.Draft202012Validator(json.loads(text))
    found.check_schema(found.schema)
    return found


def test_what_is_written_conforms(schema):
    for event in trace_events(made_life("made", 3)):
        schema.validate(event)


@pytest.mark.parametrize(
    "event",
    [
        {"event": "create", "fact": "b"},
        {"time": "2026-01-02", "event": "forget", "fact": "a"},
        {"time": "2026-01-02", "event": "create", "fact": ""},
        {"time": "2026-01-02", "event": "create", "fact": "b", "confidence": 1.5},
        {"time": "2026-01-02", "event": "create", "fact": "b", "colour": "red"},
        {"time": "2026-01-02", "event": "access"},
        {"time": "2026-01-02", "event": "confirm", "fact": "a", "probability": -1},
        {"time": "2026-01-02", "event": "need", "facts": []},
        {"time": "2026-01-02", "event": "need", "facts": ["a"], "fact": "a"},
    ],
)
def test_what_is_refused_does_not_conform(schema, event):
    build_trace("life", [CREATED])
    with pytest.raises(DeermemEvalError, match="life life, event 2: "):
        build_trace("life", [CREATED, event])
    assert not schema.is_valid(event)
