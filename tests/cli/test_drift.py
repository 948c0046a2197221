"""`drift` from the command line."""

import json

import pytest

SAMPLE = ("--protocol", "sample")


def test_two_published_runs_part(command):
    code, out, err = command("drift", "run1", "run3")
    assert code == 1
    assert "agree down to retained flags, part at bank; the lowest layer that parts is grade" in out
    assert "answer text differs in 30 of 90 rows with other requests: more than noise: drift" in out
    assert "(p = 0.0117 against 5 of 39 repeats)" in out
    assert "grade differs in 4 of 90 rows with other requests: not shown to be more" in out
    assert "matched by source record" in err


def test_json_names_the_layers_and_the_verdict(command):
    code, out, _ = command("drift", "run2", "run3", "--json")
    found = json.loads(out)
    layers = {layer["name"]: (layer["equal"], layer["compared"]) for layer in found["layers"]}
    assert code == 1
    assert layers["kept sets"] == (88, 90)
    assert layers["request bytes"] == (0, 90)
    assert (found["agrees_down_to"], found["parts_at"]) == ("scores", "kept sets")


def test_the_same_twice_is_identical(command, tmp_path):
    run = tmp_path / "run"
    assert command("run-qa", *SAMPLE, "--provider", "reader", "--output-dir", run)[0] == 0
    code, out, err = command("drift", "historical", run, *SAMPLE)
    assert code == 0
    assert "identical at all 5 layers that both show" in out
    assert "run is not graded" in err
    assert "the same request twice, by the policies of one run: answer text differs in 0 of " in out
    assert command("grade-qa", *SAMPLE, "--output-dir", run)[0] == 0
    code, out, _ = command("drift", run, run, *SAMPLE)
    assert code == 0
    assert "identical at all 7 layers" in out


def test_requests_are_quoted_on_the_screen_where_there_are_texts(command):
    code, out, _ = command("drift", "title-role", "historical", *SAMPLE)
    assert code == 1
    assert "USER: " in out
    assert "User: " in out


def test_the_catalogue_lists_every_variant(command):
    code, out, _ = command("drift", "--catalogue", "--json", *SAMPLE)
    found = json.loads(out)
    assert code == 0
    assert len(found["variants"]) == 36
    totals = found["layers"][0]
    assert totals == {"layer": "retention totals", "shown": 36, "changing": 34, "blind": 32}
    code, out, _ = command("drift", "--catalogue")
    assert code == 0
    assert "retention totals: blind to 13 of 15 details that change pools, scores" in out
    assert "request bytes: blind" not in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "takes two names, A and B, or --catalogue"),
        (["run1"], "needs a second name beside 'run1'"),
        (["run1", "run3", "--catalogue"], "takes two names, A and B, or --catalogue"),
        (
            ["run1", "nobody"],
            "'nobody' is neither a folder nor a variant; the variants are historical",
        ),
        (["run1", "."], "run marker"),
        (["run1", "run3", "--protocol", "nowhere"], "protocol 'nowhere' is neither"),
        (["run1", "run3", "--upstream", "nowhere"], "'nowhere' is neither"),
        (["run1", "run3", "--dataset", "nowhere.json"], "nowhere.json does not exist"),
    ],
)
def test_bad_input_is_refused_in_one_line(command, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("drift", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_rows_that_are_none_are_refused_in_one_line(command, tmp_path):
    (tmp_path / "qa_run.json").write_text('{"schema_version": 2}')
    code, _, err = command("drift", "run1", tmp_path)
    assert (code, err.count("\n")) == (2, 1)
