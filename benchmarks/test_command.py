"""CPU that the command takes to start, against an interpreter that does nothing."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("deermem-eval"))
STARTS = {
    "--help": [COMMAND, "--help"],
    "--version": [COMMAND, "--version"],
    "interpreter": [sys.executable, "-c", "pass"],
}


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("start", STARTS)
def test_start(benchmark, start):
    benchmark.group = "start of the command (CPU of the process in extra_info)"
    spent = []

    def run():
        before = children_cpu_seconds()
        subprocess.run(STARTS[start], check=True, stdout=subprocess.DEVNULL)
        spent.append(children_cpu_seconds() - before)

    benchmark.pedantic(run, rounds=10, warmup_rounds=1)
    benchmark.extra_info["cpu_seconds"] = sorted(spent)[len(spent) // 2]
