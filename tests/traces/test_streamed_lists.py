"""A JSON list that is read item by item is the list that is read whole, however it is cut."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deermem_eval import reading
from deermem_eval.errors import DeermemEvalError

VALUES = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.text(max_size=12)),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(("Käse 🧀", 'said "no"', "1e5]", "a,\\b", -1.5e-300, 123456789.25)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def streamed(path):
    return list(reading.stream_json_list(path, "data set"))


@pytest.mark.parametrize("chars", [1, 3, 8])
@settings(max_examples=80)
@given(
    items=st.lists(VALUES, max_size=6),
    indent=st.sampled_from((None, 1)),
    is_ascii=st.booleans(),
    mark=st.sampled_from((b"", b"\xef\xbb\xbf")),
)
def test_a_streamed_list_is_the_list(tmp_path_factory, chars, items, indent, is_ascii, mark):
    path = tmp_path_factory.getbasetemp() / "rows.json"
    content = json.dumps(items, indent=indent, ensure_ascii=is_ascii)
    path.write_bytes(mark + content.encode("utf-8", "surrogatepass"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "STREAM_CHARS", chars)
        assert streamed(path) == json.loads(content)


@pytest.mark.parametrize("number", ["1.5", "-0.25", "1e5", "1E+5", "2.5e-3", "12345.678", "0.1"])
def test_a_number_may_be_cut_anywhere(tmp_path, monkeypatch, number):
    path = tmp_path / "rows.json"
    path.write_text(f"[{number}, {number}]")
    for chars in range(1, 9):
        monkeypatch.setattr(reading, "STREAM_CHARS", chars)
        assert streamed(path) == [float(number)] * 2, chars


@pytest.mark.parametrize("chars", [1, 8, 1 << 20])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[{"id": 1}, {"id": 2', "item 2, is not valid JSON"),
        (b"[1, 2", "item 3, is not valid JSON: the list does not end"),
        (b'[{"id": 1}', "the list does not end"),
        (b"[", "item 1, is not valid JSON"),
        (b"[1] and so on", "something follows the list"),
        (b"[1][2]", "something follows the list"),
        (b'{"rows": []}', "it is no list"),
        (b'"rows"', "it is no list"),
        (b"[1, 2,]", "item 3, is not valid JSON"),
        (b"[,]", "item 1, is not valid JSON"),
        (b"[1 2]", "'2' follows it"),
        (b"[1}", "'}' follows it"),
        (b"", "it is no list"),
        (b"  \n ", "it is no list"),
        (b'["K\xe4se"]', "is not UTF-8; save it as UTF-8"),
        (b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_is_no_list_of_json_is_refused(tmp_path, monkeypatch, content, said, chars):
    monkeypatch.setattr(reading, "STREAM_CHARS", chars)
    path = tmp_path / "rows.json"
    path.write_bytes(content)
    with pytest.raises(DeermemEvalError) as refused:
        streamed(path)
    assert said in str(refused.value)
    assert f"data set {path}" in str(refused.value)


def test_a_file_that_is_none_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.json"):
        with pytest.raises(DeermemEvalError, match="is no regular file"):
            streamed(path)


def test_the_items_before_a_fault_have_been_given(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text('[{"id": 1}, {"id": 2}, {"id"')
    items = reading.stream_json_list(path, "data set")
    assert [next(items), next(items)] == [{"id": 1}, {"id": 2}]
    with pytest.raises(DeermemEvalError, match="item 3"):
        next(items)
