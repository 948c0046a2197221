import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.reading import (
    parse_csv,
    parse_json,
    parse_json_lines,
    parse_yaml,
    read_bytes,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.file"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"a: !!python/object/apply:os.system [id]",
            r"line 1: tags \(.*os.system\) are not accepted",
        ),
        (b"a: !!binary aGk=", "line 1: tags"),
        (b"a: !!set {x}", "line 1: tags"),
        (b"a: ! x", "line 1: tags"),
        (b"a: &x [1]\nb: *x", r"line 2: aliases \(\*name\) are not accepted"),
        (b"a: 1\na: 2", "line 2: key 'a' stands twice"),
        (b"1: x", "line 1: a key is not plain text"),
        (b"[a]: x", "line 1: a key is not plain text"),
        (b"a: [1", "line [12]: .*expected"),
        (b"a: '\x07'", "not valid YAML"),
        (b"[" * 5000, "nested too deeply|nesting depth"),
        (b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_yaml_beyond_plain_values_is_refused(path, content, said):
    with pytest.raises(DeermemEvalError, match=said) as error:
        parse_yaml(content, path, "config")
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7), ("-7", -7), ("0.10", 0.1), ("1e-9", 1e-9), ("true", True), ("null", None),
        ("010", "010"), ("1:30", "1:30"), ("yes", "yes"), ("0x1f", "0x1f"), ("1_000", "1_000"),
        (".inf", ".inf"), ("6e984301x", "6e984301x"), ('"7"', "7"), ("", None),
    ],
)  # fmt: skip
def test_yaml_values_are_what_they_look_like(path, text, value):
    assert parse_yaml(f"a: {text}".encode(), path, "config") == {"a": value}


def test_a_repeated_key_among_many_is_found_at_once(path):
    many = ",".join(f'"{number}":1' for number in range(100_000))
    with pytest.raises(DeermemEvalError, match="the key '0' twice"):
        parse_json(f'{{{many},"0":1}}'.encode(), path, "manifest")


def test_yaml_times_stay_text(path):
    assert parse_yaml(b"at: 2026-08-13T00:00:00Z", path, "config") == {"at": "2026-08-13T00:00:00Z"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": NaN}', "value NaN"),
        (b'{"a": -Infinity}', "value -Infinity"),
        (b'{"a": 1e999}', "the number 1e999, which is too large"),
        (b'{"a": 1, "a": 2}', "the key 'a' twice"),
        (b'{"a": ', "line 1 column 7"),
        (b"[" * 200_000, "nested too deeply"),
        (b"9" * 5000, "not valid JSON"),
        (b"\xff", "is not UTF-8"),
    ],
)
def test_json_beyond_json_is_refused(path, content, said):
    with pytest.raises(DeermemEvalError, match=said):
        parse_json(content, path, "manifest")


def test_a_byte_order_mark_and_line_ends_are_harmless(path):
    assert parse_json("\ufeff[1]\r\n".encode(), path, "manifest") == [1]
    assert parse_json_lines(b'{"a": 1}\r\n\r\n{"a": 2}', path, "rows") == [
        (1, {"a": 1}),
        (3, {"a": 2}),
    ]
    assert parse_csv("\ufeffa,b\r\n1,2\r\n".encode(), path, "table", ["a", "b"]) == [
        (2, {"a": "1", "b": "2"})
    ]


def test_json_lines_name_the_line(path):
    with pytest.raises(DeermemEvalError, match="line 2, is a list, not an object"):
        parse_json_lines(b"{}\n[]\n", path, "rows")
    with pytest.raises(DeermemEvalError, match="line 2, is not valid JSON"):
        parse_json_lines(b"{}\n{\n", path, "rows")


def test_a_line_separator_within_a_text_ends_no_json_line(path):
    assert parse_json_lines('{"a": "x\u2028y"}\n'.encode(), path, "rows") == [
        (1, {"a": "x\u2028y"})
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "line 1: expected the columns a,b, found nothing"),
        (b"a\n", "expected the columns a,b, found a"),
        (b"b,a\n", "expected the columns a,b, found b,a"),
        (b"a,b\n1,2\n3\n", "line 3: expected 2 values, found 1"),
        (b'a,b\n"1,2\n', "line 2: unexpected end of data"),
    ],
)
def test_csv_names_the_line(path, content, said):
    with pytest.raises(DeermemEvalError, match=said):
        parse_csv(content, path, "table", ["a", "b"])


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DeermemEvalError, match="does not exist; check the path"):
        read_bytes(tmp_path / "none", "config")
    with pytest.raises(DeermemEvalError, match="is not a regular file"):
        read_bytes(tmp_path, "config")
    with pytest.raises(DeermemEvalError, match="cannot be read|does not exist"):
        read_bytes(tmp_path / "a\x00b", "config")
    (tmp_path / "large").write_bytes(b"x" * 11)
    with pytest.raises(DeermemEvalError, match="is 11 bytes, more than the 10"):
        read_bytes(tmp_path / "large", "config", limit=10)
