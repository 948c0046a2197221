"""The audit of many stores by the command, against the C loader of PyYAML on the same files."""

import re
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from deermem_eval.memory import prefix_of

COMMAND = str(Path(sys.executable).with_name("deermem-eval"))
NOW = datetime(2026, 8, 13, tzinfo=UTC)
FACTS = 100
STORES = 1_000
FEW = 100
CATEGORIES = ("preference", "knowledge", "context", "goal", "correction")
TEXT = """---
id: {id}
schemaVersion: 2
category: {category}
confidence: {confidence}
status: active
createdAt: '{created}'
updatedAt: '{created}'
revision: 1
source:
  type: extracted
  threadId: thread-{number}
topics:
- trains
- mornings
consolidatedFrom: []
{confirmed}user_id: user
agent_name: agent
---

# Trains

Takes the {number} o'clock train and reads on it.
"""


def write_stores(root, stores):
    for store in range(stores):
        agent = root / "users" / f"user{store:05d}" / "agents" / "lead"
        for number in range(FACTS):
            drawn = (store * FACTS + number) * 2_654_435_761 % 2**32
            created = (NOW - timedelta(seconds=drawn % 31_536_000)).isoformat()[:19] + "Z"
            id_ = f"fact_{store:05d}_{number:03d}"
            path = agent / "facts" / prefix_of(id_) / f"{id_}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                TEXT.format(
                    id=id_,
                    category=CATEGORIES[drawn % 5],
                    confidence=drawn % 100 / 100,
                    created=created,
                    number=number,
                    confirmed=f"lastConfirmedAt: '{created}'\nconfirmationCount: 1\n"
                    if drawn % 5 < 2
                    else "",
                )
            )


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    found = {}
    for stores in (FEW, STORES):
        found[stores] = tmp_path_factory.mktemp(f"stores{stores}")
        write_stores(found[stores], stores)
    return found


def test_c_loader(benchmark, roots):
    """What reading alone would cost with `yaml.load` and the C loader, paths and files included."""
    benchmark.group = f"audit of {STORES:,} stores"
    front = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)

    def run():
        began = time.process_time()
        paths = sorted(roots[FEW].rglob("*.md"))
        for path in paths:
            yaml.load(front.match(path.read_text())[1], Loader=yaml.CSafeLoader)
        return (time.process_time() - began) * STORES / FEW

    benchmark.extra_info["cpu_seconds"] = benchmark.pedantic(run, rounds=3)
    benchmark.extra_info["measured_on"] = f"{FEW} stores, scaled"


@pytest.mark.parametrize(
    ("stores", "workers", "form"),
    [
        pytest.param(FEW, 1, "--json", id="few"),
        pytest.param(STORES, 1, "--json", id="json"),
        pytest.param(STORES, 2, "--json", id="two workers"),
        pytest.param(STORES, 1, "--output-file", id="csv"),
    ],
)
def test_audit(benchmark, roots, tmp_path, stores, workers, form):
    benchmark.group = f"audit of {stores:,} stores"
    extra = [form, str(tmp_path / "evictions.csv")] if form == "--output-file" else [form]
    command = [COMMAND, "audit", str(roots[stores]), "--now", "2026-08-13", *extra]
    command += ["--workers", str(workers)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    def run():
        began = time.perf_counter()
        with (tmp_path / "out").open("w") as out:
            subprocess.run(command, check=True, stdout=out, stderr=subprocess.DEVNULL)
        return time.perf_counter() - began

    wall = benchmark.pedantic(run, rounds=1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    benchmark.extra_info["cpu_seconds"] = cpu
    benchmark.extra_info["facts_a_second_and_core"] = stores * FACTS / cpu
    benchmark.extra_info["wall_seconds"] = wall
    with (tmp_path / "out").open() as out:
        assert sum(line.count('"agent"') + line.startswith("/") for line in out) == stores


def test_memory_is_flat(roots, tmp_path):
    """The most memory that the command takes grows by less than a fifth from 100 to 1,000 stores."""
    program = (
        "import resource, sys; from deermem_eval.cli import main; main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    most = {}
    for stores, root in roots.items():
        arguments = ["audit", str(root), "--json", "--output-file", str(tmp_path / "rows.csv")]
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        most[stores] = int(done.stderr.split()[-1])
    assert most[STORES] < 1.2 * most[FEW], most
