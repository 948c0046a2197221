"""The ladder: what agrees, where it parts, and what is said of it."""

import dataclasses
import json
import shutil
from itertools import combinations

import pytest

from deermem_eval.drift import (
    LAYERS,
    agreement_table,
    compare_sides,
    differences_in_words,
    first_differing_byte,
    first_steps,
    flow_table,
    load_drift_study,
    run_side,
    totals_table,
)
from deermem_eval.drift.sides import source_of
from deermem_eval.errors import DeermemEvalError
from tests.graded_run import write_graded_run


@pytest.fixture(scope="module")
def run(sample_study, tmp_path_factory):
    """A graded run of the sample, answered by a rule."""
    return write_graded_run(sample_study.protocol, tmp_path_factory.mktemp("runs") / "run")


def rows_of(folder):
    return [json.loads(line) for line in (folder / "qa.rows.jsonl").read_text().splitlines()]


def write_rows(folder, rows):
    text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
    (folder / "qa.rows.jsonl").write_text(text)


@pytest.fixture
def changed(run, tmp_path):
    """Return a function that copies the run with its rows changed."""

    def changed(change):
        folder = tmp_path / "changed"
        shutil.copytree(run, folder)
        rows = rows_of(folder)
        write_rows(folder, change(rows) or rows)
        return folder

    return changed


def test_the_published_runs_part_where_it_was_found(facts_study):
    sides = {name: facts_study.side(name) for name in ("run1", "run2", "run3")}
    equal = {
        (a, b): compare_sides(sides[a], sides[b]).table().set_index("layer")["equal"].to_dict()
        for a, b in combinations(sides, 2)
    }
    assert [of["answer text"] for of in equal.values()] == [69, 60, 66]
    assert [of["grade"] for of in equal.values()] == [84, 86, 88]
    assert [of["retained flags"] for of in equal.values()] == [90, 90, 90]
    assert [of["request bytes"] for of in equal.values()] == [0, 0, 0]
    ladder = compare_sides(sides["run1"], sides["run3"])
    assert (ladder.agrees_down_to, ladder.parts_at) == ("retained flags", "bank")
    assert [rung.layer for rung in ladder.rungs] == list(LAYERS)
    assert any("matched by source record" in note for note in ladder.notes)


def test_the_published_rows_are_what_their_variants_give(facts_study, reference):
    for name in ("run1", "run2", "run3"):
        ladder = compare_sides(
            run_side(reference / "published" / name, "rows"), facts_study.side(name)
        )
        assert ladder.is_identical, ladder.verdict
        assert len(ladder.rungs) == 7


def test_two_of_the_same_are_identical(sample_study, run):
    side = run_side(run, "run")
    ladder = compare_sides(side, side)
    assert (ladder.is_identical, ladder.parts_at) == (True, None)
    assert ladder.verdict == "identical at all 7 layers that both show"
    assert compare_sides(side, sample_study.side("historical")).is_identical


def test_the_flow_of_a_header_through_the_sample(sample_study):
    flow = flow_table(sample_study, "run2", "run1").set_index("step")
    assert flow["differing"].to_dict() == {
        "length": 1,
        "bank": 2,
        "pools": 26,
        "metadata": 173,
        "kept sets": 49,
        "request bytes": 90,
        "retention totals": 0,
    }
    assert flow["says"].iloc[0].endswith("grows from 697 to 704 characters; 700 is the bound")


def test_the_details_of_the_published_runs_part_at_these_layers(facts_study, sample_study):
    for study in (facts_study, sample_study):
        steps = first_steps(study, ["run1", "run2"])
        assert steps == {
            "bank": "session header",
            "kept sets": "fact ids",
            "request bytes": "fact separator",
        }


def test_tables_of_several_sides(facts_study):
    sides = [facts_study.side(name) for name in ("run1", "run3")]
    totals = totals_table(sides)
    assert totals["retained"].to_list() == [27, 45, 27, 45]
    agreement = agreement_table(sides, sides[-1])
    assert agreement[agreement["side"] == "run3"].eval("equal == compared").all()


def test_the_first_differing_byte_is_found_and_shown(sample_study):
    assert first_differing_byte(b"abcdef", b"abXdef", around=2) == (2, "abcd", "abXd")
    assert first_differing_byte(b"abc", b"abcdef", around=9) == (3, "abc", "abcdef")
    ladder = compare_sides(sample_study.side("single-newline"), sample_study.side("historical"))
    (rung,) = [rung for rung in ladder.rungs if rung.differences]
    lines = differences_in_words(ladder, rung)
    assert len(lines) == 4
    assert lines[-1] == "request bytes: 87 more"
    assert ": byte " in lines[0]
    assert "\\\\n\\\\n[" in lines[0]


def test_every_difference_can_be_said_in_one_line(sample_study, changed):
    def otherwise(rows):
        rows[0] |= {"prediction": "something\nelse", "grade_correct": not rows[0]["grade_correct"]}

    pairs = [
        (sample_study.side("bracket-header"), sample_study.side("historical")),
        (sample_study.side("bank-order"), sample_study.side("historical")),
        (run_side(changed(otherwise), "changed"), sample_study.side("historical")),
    ]
    for a, b in pairs:
        ladder = compare_sides(a, b)
        for rung in ladder.rungs:
            for line in differences_in_words(ladder, rung):
                assert line.startswith(rung.layer)
                assert "\n" not in line


def test_another_order_of_the_same_bank_is_seen(sample_study):
    base = sample_study.side("historical")
    places = base.layers["bank"]
    turned = {source: 39 - place for source, place in places.items()}
    side = dataclasses.replace(base, layers={**base.layers, "bank": turned})
    assert compare_sides(side, base).parts_at == "bank"


@pytest.mark.parametrize(
    ("fact_id", "source"),
    [
        ("gold_0a1b", "0a1b"),
        ("d_0a1b_3_5c6d", "5c6d"),
        ("d_0a1b_3_d_0a1b_4_x", "d_0a1b_4_x"),
        ("5c6d", "5c6d"),
        ("gold_other", "gold_other"),
        ("d_other_3_5c6d", "d_other_3_5c6d"),
    ],
)
def test_facts_are_matched_by_the_record_behind_them(fact_id, source):
    assert source_of(fact_id, "0a1b") == source


def test_a_changed_answer_is_the_lowest_that_parts(run, changed):
    def otherwise(rows):
        rows[3]["prediction"] = "somewhere else"

    ladder = compare_sides(run_side(run, "a"), run_side(changed(otherwise), "b"))
    assert (ladder.agrees_down_to, ladder.parts_at) == ("request bytes", "answer text")


def test_missing_rows_are_said_and_the_others_compared(run, changed):
    folder = changed(lambda rows: rows[4:])
    ladder = compare_sides(run_side(run, "a"), run_side(folder, "b"))
    assert ladder.is_identical
    assert "4 rows are only in a (first: " in ladder.notes[0]
    assert "retention totals" not in [rung.layer for rung in ladder.rungs]
    assert {rung.compared for rung in ladder.rungs} == {86}


def test_a_missing_half_of_a_pair_is_compared_without_it(run, changed):
    ladder = compare_sides(run_side(run, "a"), run_side(changed(lambda rows: rows[1:]), "b"))
    assert ladder.is_identical
    assert any("1 row is only in a" in note for note in ladder.notes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy": "lru"}, "is of case 045af05e and policy lru"),
        ({"row_id": "x__y"}, "is of case 045af05e and policy confidence"),
        ({"case_id": "other"}, "is of case other and policy confidence"),
        ({"kept_fact_ids": ["a"] * 7}, "keeps 1 facts at capacity 7"),
        ({"kept_fact_ids": []}, "keeps 0 facts at capacity 7"),
        ({"support_all_retained": True}, "says of its support fact what its kept facts deny"),
        ({"row_id": "x\n\x1b[31my"}, "row x "),
    ],
)
def test_rows_that_contradict_themselves_are_refused(changed, change, said):
    def otherwise(rows):
        assert rows[0]["support_all_retained"] is False
        rows[0] |= change

    with pytest.raises(DeermemEvalError, match="it was changed, compare another copy") as refused:
        run_side(changed(otherwise), "b")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_another_scenario_is_seen_in_the_totals(run, changed):
    def otherwise(rows):
        for row in rows:
            row["scenario"] = row["scenario"].replace("access_help", "access_hell")

    ladder = compare_sides(run_side(run, "a"), run_side(changed(otherwise), "b"))
    assert ladder.parts_at == "retention totals"


def test_what_a_row_says_reaches_the_screen_escaped(run, changed):
    def otherwise(rows):
        rows[0]["kept_fact_ids"][0] = "\x1b[31mX\nFORGED"

    ladder = compare_sides(run_side(run, "a"), run_side(changed(otherwise), "b"))
    for rung in ladder.rungs:
        for line in differences_in_words(ladder, rung):
            assert line.isprintable()


def test_the_requests_of_a_run_are_rebuilt_and_quoted(sample_study, run, tmp_path):
    from deermem_eval.protocol import override_config, with_config

    content = override_config(sample_study.protocol, {"qa.max_tokens": 100})
    other = with_config(sample_study.protocol, content, tmp_path / "config.yaml")
    folder = write_graded_run(other, tmp_path / "run")
    (folder / "config.yaml").write_bytes(content)
    ladder = compare_sides(sample_study.side(str(run)), sample_study.side(str(folder)))
    (rung,) = [rung for rung in ladder.rungs if rung.layer == "request bytes"]
    (line, *_) = differences_in_words(ladder, rung)
    assert ": byte " in line
    assert '"max_tokens": 2048' in line
    assert '"max_tokens": 100' in line


def test_texts_of_another_protocol_are_refused(facts_study, sample_study):
    with pytest.raises(DeermemEvalError, match="are not those of protocol pr4789"):
        load_drift_study(facts_study.protocol, sample_study.protocol)


def test_runs_of_two_protocols_are_compared_on_what_is_common(run, changed):
    folder = changed(lambda rows: None)
    marker = json.loads((folder / "qa_run.json").read_text())
    (folder / "qa_run.json").write_text(json.dumps(marker | {"protocol_id": "mine"}))
    ladder = compare_sides(run_side(run, "a"), run_side(folder, "b"))
    assert ladder.is_identical
    assert any("a is of protocol deermem-eval-sample-v1 and b of mine" in n for n in ladder.notes)


def test_other_graders_leave_the_grades_out(run, changed):
    def otherwise(rows):
        for row in rows:
            row["grader_version"] = "mine-v1"

    ladder = compare_sides(run_side(run, "a"), run_side(changed(otherwise), "b"))
    assert ladder.is_identical
    assert (
        "grades are not compared: by deterministic-overlap-v1 in a, by mine-v1 in b" in ladder.notes
    )


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("grader_version", "mine-v1", "several graders (deterministic-overlap-v1, mine-v1)"),
        ("capacity", 5, "several capacities (5, 7)"),
    ],
)
def test_mixed_rows_are_refused(changed, key, value, said):
    def otherwise(rows):
        rows[0][key] = value

    with pytest.raises(DeermemEvalError) as refused:
        run_side(changed(otherwise), "b")
    assert said in str(refused.value)


def test_other_capacities_and_other_protocols_are_refused(run, changed, facts_study):
    def otherwise(rows):
        for row in rows:
            row["capacity"] = 8

    with pytest.raises(DeermemEvalError, match="a is at capacity 7 and b at 8"):
        compare_sides(run_side(run, "a"), run_side(changed(otherwise), "b"))
    with pytest.raises(DeermemEvalError, match="have no row in common; "):
        compare_sides(run_side(run, "a"), facts_study.side("historical"))


def test_a_repeated_row_is_said(run, changed):
    side = run_side(changed(lambda rows: [*rows[:2], rows[0], *rows[2:]]), "b")
    assert "stands twice; the first is compared" in side.notes[0]


def test_a_variant_that_needs_the_data_set_says_so(facts_study):
    side = facts_study.side("all-turns")
    with pytest.raises(
        DeermemEvalError, match="show no layer in common: all-turns is not computed"
    ):
        compare_sides(side, facts_study.side("historical"))
