"""The seam to more processes: the same results every way, and no chunk lost with a worker."""

import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from distributed import LocalCluster

from deermem_eval import chunks
from deermem_eval.chunks import ATTEMPTS, map_chunks
from deermem_eval.errors import DeermemEvalError

LOCAL = {"workers": 2, "scheduler": "local"}
WAYS = [{}, {"workers": 2}, LOCAL]


def thirds(numbers):
    return os.getpid(), [number / 3 for number in numbers]


def ends_its_worker_once(place, *, folder):
    flag = Path(folder) / f"{place}"
    if place % 3 == 1 and not flag.exists():
        flag.touch()
        os._exit(9)
    return place


def ends_its_worker_at_two(place, *, folder):
    if place == 2:
        with (Path(folder) / "tries").open("a") as tries:
            tries.write("x")
        os._exit(9)
    return place


def refuses_from_two(place):
    if place >= 2:
        raise DeermemEvalError(f"place {place} is refused")
    return place


def fails(place):
    raise ZeroDivisionError(f"at {place}")


def leaves_its_process_id_and_sleeps(place, *, folder):
    (Path(folder) / f"{os.getpid()}.pid").touch()
    time.sleep(60)


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture
def one_second(monkeypatch):
    monkeypatch.setattr(chunks, "CONNECT_SECONDS", 1.0)


def test_results_are_the_same_every_way(cluster):
    numbers = [[place, place + 0.1] for place in range(40)]
    ways = [*WAYS, {"scheduler": cluster.scheduler_address}]
    found = [map_chunks(thirds, numbers, **way) for way in ways]
    for way, results in zip(ways, found, strict=True):
        assert [values for _, values in results] == [values for _, values in found[0]]
        assert ({process for process, _ in results} == {os.getpid()}) == (not way)
    assert all(map_chunks(thirds, [], **way) == [] for way in ways)


def test_one_chunk_needs_no_other_process():
    assert map_chunks(thirds, [[1]], workers=2)[0][0] == os.getpid()


@pytest.mark.parametrize("way", [{"workers": 2}, LOCAL], ids=["processes", "Dask"])
def test_a_worker_that_dies_loses_no_chunk(tmp_path, way):
    dying = partial(ends_its_worker_once, folder=tmp_path)
    assert map_chunks(dying, range(9), **way) == list(range(9))
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("way", [{"workers": 2}, LOCAL], ids=["processes", "Dask"])
def test_a_chunk_that_ends_every_worker_is_named(tmp_path, way):
    with pytest.raises(DeermemEvalError, match="chunk 3 of 5 ended its worker .*memory"):
        map_chunks(partial(ends_its_worker_at_two, folder=tmp_path), range(5), **way)
    tries = (tmp_path / "tries").stat().st_size
    assert tries <= (4 if way == LOCAL else 1 + ATTEMPTS + 2)


@pytest.mark.parametrize("way", WAYS, ids=["here", "processes", "Dask"])
def test_an_error_of_the_function_is_raised_as_it_is(way):
    with pytest.raises(DeermemEvalError, match="^place 2 is refused$"):
        map_chunks(refuses_from_two, range(6), **way)
    if way != LOCAL:
        with pytest.raises(ZeroDivisionError, match="^at 0$"):
            map_chunks(fails, range(6), **way)


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ({"workers": 0}, "workers is 0, and must be at least 1"),
        ({"workers": 2, "scheduler": "tcp://127.0.0.1:8786"}, "has its own; give one of the two"),
        ({"scheduler": "nonsense"}, "nonsense cannot be reached .missing port number"),
        ({"scheduler": "http://127.0.0.1:1"}, "cannot be reached .unknown address scheme 'http'"),
        ({"scheduler": "tls://127.0.0.1:1"}, "cannot be reached .TLS expects"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "cannot be reached .no answer in 1 s.; give local"),
    ],
)
def test_what_cannot_work_is_refused(one_second, way, said):
    with pytest.raises(DeermemEvalError, match=said):
        map_chunks(thirds, [[1], [2]], **way)


def test_a_server_that_says_nothing_is_no_scheduler(one_second):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(DeermemEvalError, match="no answer in 1 s"):
            map_chunks(thirds, [[1], [2]], scheduler=address)
    assert time.monotonic() - began < 5


def test_a_scheduler_without_workers_is_refused(one_second):
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(DeermemEvalError, match="has no workers; start some with `dask worker tcp:"),
    ):
        map_chunks(thirds, [[1], [2]], scheduler=empty.scheduler_address)


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DeermemEvalError, match=r"pip install 'deermem-eval\[distributed\]'"):
        map_chunks(thirds, [[1]], scheduler="local")


def test_dask_is_imported_only_when_asked_for():
    code = (
        "import sys, deermem_eval.chunks as c; c.map_chunks(abs, [1]);"
        "sys.exit('dask' in sys.modules or 'distributed' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def runs(process_id):
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc who is still there")
@pytest.mark.parametrize(
    ("scheduler", "stop"),
    [("", signal.SIGINT), ("", signal.SIGKILL), ("local", signal.SIGINT)],
)
@pytest.mark.parametrize("to_all", [True, False], ids=["terminal", "process"])
def test_workers_end_with_the_call(root, tmp_path, scheduler, stop, to_all):
    """Ctrl-C at a terminal reaches every process of the group, `kill` only the one."""
    if to_all and stop == signal.SIGKILL:
        return
    script = (
        "import functools, tests.test_chunks as t\n"
        "from deermem_eval.chunks import map_chunks\n"
        "if __name__ == '__main__':\n"
        f"    f = functools.partial(t.leaves_its_process_id_and_sleeps, folder={str(tmp_path)!r})\n"
        f"    map_chunks(f, range(4), workers=2, scheduler={scheduler!r})\n"
    )
    path = tmp_path / "script.py"
    path.write_text(script)
    with subprocess.Popen(
        [sys.executable, path],
        env=os.environ | {"PYTHONPATH": str(root)},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until = time.monotonic() + 60
        while len(workers := list(tmp_path.glob("*.pid"))) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        (os.killpg if to_all else os.kill)(process.pid, stop)
        _, said = process.communicate(timeout=30)
    if stop == signal.SIGINT:
        assert said.rstrip().endswith("KeyboardInterrupt")
        assert said.count("Traceback") == 1
    until = time.monotonic() + 10
    while any(runs(worker.stem) for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.05)
