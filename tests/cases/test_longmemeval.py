import pytest

from deermem_eval.cases import load_cases, load_records, read_longmemeval
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.protocol import load_protocol


def evidence_of(small, row):
    small.write_rows([row])
    return load_records(load_protocol(small.folder), small.dataset)[0]


def test_evidence_is_the_turns_that_hold_the_answer(small):
    record = evidence_of(small, small.rows()[3])
    assert record.texts.evidence == (
        "SESSION session_k03 AT 2026/02/11 (Wed) 18:05\n"
        "USER: Shelf 3 holds 5 mugs now, the blue one included."
    )
    assert record.evidence_chars == len(record.texts.evidence)
    assert record.evidence_sessions == 1
    assert record.texts.answer == "5"


def test_a_session_without_marked_turns_gives_its_user_turns(small):
    row = small.rows()[3]
    for turn in row["haystack_sessions"][0]:
        turn.pop("has_answer", None)
    record = evidence_of(small, row)
    assert record.texts.evidence.split("\n")[1:] == [
        "USER: I tidied the kitchen today.",
        "USER: Shelf 3 holds 5 mugs now, the blue one included.",
    ]


def test_sessions_are_parted_by_a_blank_line_and_empty_ones_left_out(small):
    row = small.rows()[3]
    row["haystack_session_ids"] = ["a", "b", "c"]
    row["haystack_dates"] = ["monday", "tuesday", "wednesday"]
    row["haystack_sessions"] = [
        [{"role": "assistant", "content": "Ja, genau – 5 Tassen.", "has_answer": True}],
        [{"role": "assistant", "content": "Bye."}],
        [{"role": "user", "content": "五个杯子"}],
    ]
    record = evidence_of(small, row)
    assert record.texts.evidence == (
        "SESSION a AT monday\nASSISTANT: Ja, genau – 5 Tassen.\n\n"
        "SESSION c AT wednesday\nUSER: 五个杯子"
    )
    assert record.evidence_sessions == 2
    assert record.evidence_chars == len(record.texts.evidence)


def test_one_changed_byte_is_refused_before_parsing(small):
    protocol = load_protocol(small.folder)
    content = bytearray(small.dataset.read_bytes())
    expected = sha256_hex(bytes(content))
    content[0] = ord("?")
    small.dataset.write_bytes(content)
    actual = sha256_hex(bytes(content))
    said = f"SHA-256 {actual}, but the protocol pins {expected}; use .*deermem-eval fetch pr4789"
    with pytest.raises(DeermemEvalError, match=said):
        load_cases(protocol, small.dataset)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[1].pop("question"), "row 1: question: is missing"),
        (lambda rows: rows[1].update(question_id=""), "row 1: question_id: "),
        (lambda rows: rows[1].update(question_id="k00"), "row 1: question_id 'k00' stands twice"),
        (lambda rows: rows[1].update(answer=["2"]), "row 1: answer"),
        (lambda rows: rows[1].update(haystack_dates=[]), "row 1: 1 session ids, 0 dates"),
        (
            lambda rows: rows[1]["haystack_sessions"][0][0].pop("content"),
            "row 1: haystack_sessions.0.0.content: is missing",
        ),
        (lambda rows: rows.__setitem__(1, "row"), "row 1: the document: "),
    ],
)
def test_a_malformed_row_is_named(small, change, said):
    rows = small.rows()
    change(rows)
    small.write_rows(rows)
    with pytest.raises(DeermemEvalError, match=said):
        load_cases(load_protocol(small.folder), small.dataset)


def test_a_data_set_must_be_a_list(small):
    small.dataset.write_text("{}")
    with pytest.raises(DeermemEvalError, match="is a dict, not a list of rows"):
        read_longmemeval(small.dataset, sha256_hex(b"{}"))


def test_without_records_and_without_data_set_the_remedy_is_named(small):
    small.dataset.unlink()
    with pytest.raises(DeermemEvalError, match="name it with --dataset, or put it into"):
        load_cases(load_protocol(small.folder))


def test_the_data_set_in_the_protocols_folder_serves_without_being_named(small, tmp_path):
    protocol = load_protocol(small.folder)
    expected = load_cases(protocol, small.dataset)
    assert load_cases(protocol) == expected
    (small.folder / "records.csv").write_text("not read")
    assert load_cases(protocol) == expected
    small.dataset.write_text("[]")
    with pytest.raises(DeermemEvalError, match="but the protocol pins"):
        load_cases(protocol)


@pytest.mark.parametrize("name", ["../dataset.json", "/etc/passwd"])
def test_a_data_set_outside_the_protocols_folder_is_refused(small, name):
    small.change(small.config, lambda config: config["dataset"].update(filename=name))
    with pytest.raises(DeermemEvalError, match="dataset.filename: path .* leaves its folder"):
        load_protocol(small.folder)
