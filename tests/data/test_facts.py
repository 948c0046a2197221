import csv

import pytest

from tests.data import derive_facts


@pytest.mark.parametrize("name", ["records", "outcomes", "runs"])
def test_the_facts_are_derived_again_from_the_reference(reference, root, name):
    derived = getattr(derive_facts, f"{name}_csv")(reference)
    assert (root / "data" / "pr4789" / f"{name}.csv").read_bytes() == derived


def test_the_facts_have_their_counts(root):
    def count(name):
        with (root / "data" / "pr4789" / name).open(newline="", encoding="utf-8") as file:
            return len(list(csv.DictReader(file)))

    assert count("records.csv") == 40 + 42
    assert count("outcomes.csv") == 3 * 90
    assert count("runs.csv") == 3


def test_no_value_is_long_enough_to_be_a_text(root):
    """A question or an answer would have blanks; ids, types, rules, hashes and times have none."""
    for path in (root / "data" / "pr4789").glob("*.csv"):
        for row in csv.reader(path.read_text("utf-8").splitlines()):
            assert not any(" " in value for value in row), path
    for path in (root / "data" / "pr4789").rglob("*"):
        if path.is_file():
            assert "USER:" not in path.read_text("utf-8"), path
            assert 'support_fact"' not in path.read_text("utf-8"), path
