import pytest

from deermem_eval.cases import load_records, refuse_other_selection, select_official_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol import load_protocol

HEADER_CHARS = len("SESSION session_k03 AT 2026/02/11 (Wed) 18:05\nUSER: ")


def one_turn(evidence_chars):
    turn = {"role": "user", "content": "x" * (evidence_chars - HEADER_CHARS), "has_answer": True}
    return {"haystack_sessions": [[turn]]}


def selected(small):
    protocol = load_protocol(small.folder)
    return select_official_cases(load_records(protocol, small.dataset), protocol.official)


def test_the_rule_picks_what_the_manifest_lists(small):
    protocol = load_protocol(small.folder)
    chosen = selected(small)
    assert chosen == {name: tuple(ids) for name, ids in protocol.official.scenarios.items()}
    refuse_other_selection(chosen, protocol.official)


@pytest.mark.parametrize(
    "change",
    [
        {"question_id": "k03_abs"},
        {"question_type": "multi-session"},
        {"answer": ""},
        {"answer": "x" * 101},
        {"answer": "There is Not Enough to say"},
        {"answer": "You only mentioned one"},
        {"haystack_sessions": [[]]},
        one_turn(2001),
    ],
)
def test_each_exclusion_drops_a_row_and_the_next_one_moves_up(small, change):
    rows = small.rows()
    rows[3].update(change)
    small.write_rows(rows)
    taken = [id_ for ids in selected(small).values() for id_ in ids if id_.startswith("k")]
    assert taken == [f"k{i:02d}" for i in (1, 2, *range(4, 22))]


@pytest.mark.parametrize(
    "change",
    [
        {"answer": "x" * 100},
        {"answer": "y"},
        one_turn(2000),
    ],
)
def test_a_row_at_the_bound_stays(small, change):
    rows = small.rows()
    rows[3].update(change)
    small.write_rows(rows)
    assert "k03" in selected(small)["confirmation_help"]


def test_another_selection_is_refused_id_by_id(small):
    rows = small.rows()
    rows[3]["question_id"] = "k03_abs"
    small.write_rows(rows)
    with pytest.raises(
        DeermemEvalError, match="scenario confirmation_help: only the manifest lists k03"
    ):
        refuse_other_selection(selected(small), load_protocol(small.folder).official)


def test_too_few_eligible_rows_are_refused(small):
    small.write_rows([row for row in small.rows() if row["question_id"] > "k02"])
    with pytest.raises(DeermemEvalError, match="19 eligible rows of type knowledge-update"):
        selected(small)


def test_facts_without_answers_cannot_be_selected(historical):
    with pytest.raises(DeermemEvalError, match="reads answers"):
        select_official_cases(load_records(historical), historical.official)
