"""The verb `sweep`: what it prints, the same file every way, and refusals that write nothing."""

import json

import pytest

from deermem_eval import chunks


def test_the_grid_of_weights(command):
    code, out, _ = command("sweep", "--step", "0.05", "--capacity", "7", "--json")
    assert code == 0
    answer = json.loads(out)
    assert (answer["points"], answer["all_retained"]) == (231, 18)
    assert len(answer["triples"]) == 18


def test_the_exact_regions(command):
    code, out, _ = command("sweep", "--regions", "--capacity", "7", "--json")
    assert code == 0
    answer = json.loads(out)
    assert 0 < answer["share_all_retained"] < 1
    assert 0 < answer["margin"] < 1
    assert answer["first_flips"]
    assert set(answer["direction"]) == {"confidence", "confirmation", "access"}


def test_the_table_is_the_same_bytes_every_way(command, tmp_path):
    ways = {
        "here": ["--workers", "1"],
        "processes": ["--workers", "2"],
        "dask": ["--workers", "2", "--scheduler", "local"],
    }
    for name, options in ways.items():
        code, _, err = command(
            "sweep", "--step", "0.1", "--capacity", "5,7", "--vary",
            "correction_reserved_max=0,2,10", "--output-file", tmp_path / name, *options,
        )  # fmt: skip
        assert code == 0, err
    here, processes, dask = ((tmp_path / name).read_bytes() for name in ways)
    assert here.count(b"\n") == 1 + 66 * 2 * 3
    assert here == processes == dask


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--step", "0.3"], "step is 0.3, and must divide 1"),
        (["--step", "0"], "step is 0, and must divide 1"),
        (["--step", "nan"], "step is nan, and must divide 1"),
        (["--weights=-0.1,0.6,0.5"], "the confidence weight is -0.1, and must be in [0, 1]"),
        (["--weights", "nan,0.5,0.5"], "the confidence weight is nan, and must be in [0, 1]"),
        (["--weights", "inf,0,0"], "the confidence weight is inf, and must be in [0, 1]"),
        (["--weights", "0.6,0.2,0.1"], "sum to 0.9, and must sum to 1"),
        (["--weights", "0.5,0.5"], "must be triples"),
        (["--step", "0.1", "--weights", "1,0,0"], "--step and --weights exclude one another"),
        (["--vary", "half_life=1"], "parameter 'half_life' cannot be swept; choose of"),
        (["--vary", "access_half_life_days=30,0"], "access_half_life_days is 0.0, and must be"),
        (["--vary", "support_access_heat=-1"], "support_access_heat is -1, and must be in"),
        (["--capacity", "0"], "capacity 0 is outside 1..10"),
        (["--capacity", "11"], "capacity 11 is outside 1..10"),
        (["--regions", "--vary", "access_half_life_days=30"], "--regions takes none of --vary"),
        (["--scheduler", "tcp://127.0.0.1:1"], "scheduler tcp://127.0.0.1:1 cannot be reached"),
        (["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"], "has its own; give one of the"),
        (["--workers", "0"], "'0' is not a whole number from 1"),
    ],
)
def test_a_refusal_is_one_line_and_writes_nothing(command, monkeypatch, tmp_path, options, said):
    monkeypatch.setattr(chunks, "CONNECT_SECONDS", 1.0)
    monkeypatch.chdir(tmp_path)
    code, out, err = command("sweep", *options, "--output-file", "table.csv")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--capacity", "6,7"], "--regions are those of one capacity"),
        (["--capacity", "0"], "capacity 0 is outside 1..10"),
        (["--weights", "0.6,0.2,0.1"], "sum to 0.9, and must sum to 1"),
        (["--workers", "2"], "--regions takes none of --vary"),
    ],
)
def test_regions_refuse_in_one_line_too(command, options, said):
    code, out, err = command("sweep", "--regions", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
