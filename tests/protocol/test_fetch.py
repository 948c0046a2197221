"""Fetch, from the command line, with the real clients, against servers on this machine."""

import csv
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deermem_eval.cases import load_cases
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.protocol import load_protocol, read_sources, upstream_identity
from deermem_eval.protocol.hub import may_carry_a_token
from tests.loopback import Answer, Loopback, hub_answer, hub_error, serving

REVISION = "0" * 40
UPSTREAM = "/v2.1.0/backend/scripts/benchmark/deermem_eviction/"
MAIN = UPSTREAM.replace("v2.1.0", "main")
RESOLVE = f"/datasets/somebody/mugs/resolve/{REVISION}/dataset.json"
TOKEN = "hf_RecognisableToken4789"


@dataclass
class Study:
    """A protocol of facts, the complete one that it was made from, and servers for both parts."""

    facts: Path
    complete: Path
    hub: Loopback
    upstream: Loopback
    cache: Path
    home: Path

    @property
    def target(self) -> Path:
        return self.cache / "facts"

    def command(self, *arguments, **changes):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "HF_TOKEN": TOKEN}
        environment["HF_ENDPOINT"] = self.hub.url
        environment["DEERMEM_EVAL_UPSTREAM_URL"] = self.upstream.url
        command = [sys.executable, "-m", "deermem_eval", "fetch", str(self.facts)]
        command += ["--cache-dir", str(self.cache), *map(str, arguments)]
        return command, environment | changes

    def fetch(self, *arguments, prepare=None, **changes):
        command, environment = self.command(*arguments, **changes)
        return subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            preexec_fn=prepare,
        )

    def refused(self, *arguments, **options) -> str:
        """The one line of a refusal, after which no file stands under its final name by halves."""
        done = self.fetch(*arguments, **options)
        lines = done.stderr.strip().split("\n")
        assert done.returncode == 2, done
        assert lines[-1].startswith("deermem-eval: ")
        assert "Traceback" not in done.stderr
        assert TOKEN not in done.stderr + done.stdout
        sources = read_sources(load_protocol(self.facts))
        pins = {source.path: source.sha256 for source in sources}
        for path in filter(Path.is_file, self.target.rglob("*")):
            assert sha256_hex(path.read_bytes()) == pins[path.relative_to(self.target).as_posix()]
        assert not list(self.cache.glob(".hub-*"))
        return lines[-1]


@contextmanager
def study_of(small, tmp_path):
    facts = tmp_path / "facts"
    shutil.copytree(small.folder / "configs", facts / "configs")
    shutil.copytree(small.folder / "manifests", facts / "manifests")
    bare = json.loads(small.synthetic.read_text())
    bare["cases"] = [{k: case[k] for k in ("case_id", "loss_rank")} for case in bare["cases"]]
    (facts / "manifests" / "synthetic.json").write_text(json.dumps(bare))
    (small.folder / "results").mkdir()
    (small.folder / "results" / "qa_run.json").write_text("{}")
    files = {
        "config": small.config,
        "official_manifest": small.official,
        "synthetic_manifest": small.synthetic,
        "answer_prompt": small.prompt,
        "published": small.folder / "results" / "qa_run.json",
    }
    upstream = Loopback()
    with (facts / "sources.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("artifact", "path", "sha256"))
        for artifact, path in files.items():
            name = path.relative_to(small.folder).as_posix()
            writer.writerow((artifact, name, sha256_hex(path.read_bytes())))
            upstream.answers[UPSTREAM + name] = Answer(path.read_bytes())
    hub = Loopback({RESOLVE: hub_answer(small.dataset.read_bytes(), REVISION)})
    hub.default = hub_error("RepoNotFound")
    home = tmp_path / "home"
    home.mkdir()
    with serving(hub), serving(upstream):
        yield Study(facts, small.folder, hub, upstream, tmp_path / "cache", home)


@pytest.fixture
def study(small, tmp_path):
    with study_of(small, tmp_path) as made:
        yield made


def test_the_first_fetch_downloads_and_the_second_asks_nobody(study, small):
    done = study.fetch()
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 6
    fetched = load_protocol(study.target)
    assert not fetched.missing_texts
    assert fetched.identity == load_protocol(study.complete).identity
    assert load_cases(fetched) == load_cases(load_protocol(study.complete))
    study.hub.requests.clear()
    study.upstream.requests.clear()
    again = study.fetch()
    assert again.returncode == 0
    assert again.stdout.count("there already") == 6
    assert study.hub.requests == study.upstream.requests == []


def test_the_token_goes_to_the_hub_and_nowhere_else(study):
    elsewhere = Loopback({"/blob": hub_answer(study.hub.answers[RESOLVE].body, REVISION)})
    with serving(elsewhere):
        moved = study.hub.answers[RESOLVE].headers | {"Location": f"{elsewhere.url}/blob"}
        size = str(len(study.hub.answers[RESOLVE].body))
        moved |= {"X-Linked-Size": size, "X-Linked-ETag": moved["ETag"]}
        study.hub.answers[RESOLVE] = Answer(b"", 302, moved)
        done = study.fetch()
    assert done.returncode == 0, done.stderr
    assert any(TOKEN in str(headers) for *_, headers in study.hub.requests)
    assert elsewhere.requests
    for _, path, headers in elsewhere.requests + study.upstream.requests:
        assert TOKEN not in str(headers), path
    for path in filter(Path.is_file, study.cache.rglob("*")):
        assert TOKEN.encode() not in path.read_bytes()


def test_a_connection_that_breaks_off_is_taken_up_again(small, tmp_path):
    """Behind the last 10 MiB that arrived: the client keeps pieces of that size."""
    small.write_rows(small.rows(), padding=11_000_000)
    with study_of(small, tmp_path) as study:
        study.hub.answers[RESOLVE].cut_at = 10_500_000
        done = study.fetch()
        assert done.returncode == 0, done.stderr
        ranges = [
            headers.get("Range")
            for method, path, headers in study.hub.requests
            if (method, path) == ("GET", RESOLVE)
        ]
        assert ranges == [None, f"bytes={10 * 2**20}-"]


def test_an_interrupted_fetch_goes_on_with_what_is_missing(study):
    """The first one dies before the data set; the second asks for nothing that is there."""
    good = study.hub.answers.pop(RESOLVE)
    study.refused()
    assert len([*filter(Path.is_file, study.target.rglob("*"))]) == 5
    study.upstream.requests.clear()
    study.hub.answers[RESOLVE] = good
    assert study.fetch().returncode == 0
    assert study.upstream.requests == []


def test_what_the_hubs_client_has_already_serves_without_a_network(study):
    content = study.hub.answers[RESOLVE].body
    for name in ("blobs", f"snapshots/{REVISION}"):
        (study.home / "hub/datasets--somebody--mugs" / name).mkdir(parents=True)
    (study.home / "hub/datasets--somebody--mugs/snapshots" / REVISION / "dataset.json").write_bytes(
        content
    )
    done = study.fetch(HF_HOME=str(study.home), HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    assert study.hub.requests == []


def test_a_spoiled_copy_of_the_hubs_client_is_passed_over(study):
    folder = study.home / "hub/datasets--somebody--mugs/snapshots" / REVISION
    folder.mkdir(parents=True)
    (study.home / "hub/datasets--somebody--mugs/blobs").mkdir()
    (folder / "dataset.json").write_text("spoiled")
    done = study.fetch(HF_HOME=str(study.home))
    assert done.returncode == 0, done.stderr
    assert study.hub.requests


def test_a_killed_fetch_leaves_nothing_that_the_next_does_not_clear_away(study):
    """It is killed while the data set arrives; the next one has the lock, and starts that file anew."""
    study.hub.answers[RESOLVE].stalls = True
    command, environment = study.command()
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        while not list(study.cache.glob(".hub-*.partial")):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    assert list(study.cache.glob(".hub-*.partial"))
    assert not (study.target / "dataset.json").exists()
    study.hub.answers[RESOLVE].stalls = False
    assert study.fetch().returncode == 0
    assert not list(study.cache.glob(".hub-*"))


def test_two_fetches_into_one_cache_are_kept_apart(study):
    study.hub.answers[RESOLVE].stalls = True
    command, environment = study.command()
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        while not (study.target / "results" / "qa_run.json").exists():
            assert process.poll() is None
            time.sleep(0.02)
        second = study.fetch()
        process.kill()
    assert second.returncode == 2
    assert "another fetch is at work in" in second.stderr


def test_local_copies_serve_as_well(study, small):
    study.hub.answers.clear()
    study.upstream.answers.clear()
    done = study.fetch("--upstream", study.complete, "--dataset", small.dataset, "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["files"]) == 6
    assert study.hub.requests == study.upstream.requests == []


def test_the_other_revision_serves_where_the_tag_has_not_the_file(study):
    name = "prompts/answer.txt"
    study.upstream.answers[MAIN + name] = study.upstream.answers.pop(UPSTREAM + name)
    assert study.fetch().returncode == 0


def test_a_spoiled_file_is_replaced_by_the_pinned_one_only(study, small):
    assert study.fetch().returncode == 0
    (study.target / "dataset.json").write_text("spoiled")
    good = study.hub.answers[RESOLVE]
    study.hub.answers[RESOLVE] = hub_answer(b"wrong", REVISION)
    assert study.fetch().returncode == 2
    assert (study.target / "dataset.json").read_text() == "spoiled"
    study.hub.answers[RESOLVE] = good
    assert study.fetch().returncode == 0
    assert (study.target / "dataset.json").read_bytes() == small.dataset.read_bytes()


DATASET_REFUSALS = {
    "revision": (hub_error("RevisionNotFound"), "no such revision; set HF_ENDPOINT to a mirror"),
    "file": (hub_error("EntryNotFound"), "no such file; set HF_ENDPOINT to a mirror"),
    "repository": (hub_error("RepoNotFound"), "no such repository, or HF_TOKEN may not see it"),
    "gated": (hub_error("GatedRepo", 403), "is gated; accept its terms on http.* and set HF_TOKEN"),
    "404": (Answer(b"?", 404), "answers 404; try again later, or set HF_ENDPOINT to a mirror"),
    "403": (Answer(b"?", 403), "answers 403; check HF_TOKEN, or set HF_ENDPOINT"),
    "no hub": (Answer(b"hello"), "is no Hub .*; set HF_ENDPOINT to a mirror"),
    "other": (hub_answer(b"[]", REVISION), "with SHA-256 4f53cda1.* is pinned; it was not kept"),
}


@pytest.mark.parametrize("answer", DATASET_REFUSALS)
def test_each_failure_of_the_hub_is_said_with_its_remedy(study, answer):
    study.hub.answers[RESOLVE], said = DATASET_REFUSALS[answer]
    assert re.search(said, study.refused())


def test_a_truncated_data_set_is_refused(study):
    answer = study.hub.answers[RESOLVE]
    answer.headers |= {"X-Linked-Size": str(len(answer.body) + 10)}
    assert "the download is truncated; run it again" in study.refused()


def test_an_offline_client_is_told_apart_from_a_dead_network(study):
    line = study.refused(HF_HUB_OFFLINE="1")
    assert "offline; unset HF_HUB_OFFLINE, or name a local copy with --dataset" in line
    line = study.refused(HF_ENDPOINT="http://127.0.0.1:9", HF_HUB_ETAG_TIMEOUT="1")
    assert "cannot be reached" in line
    assert "set HF_ENDPOINT to a mirror" in line


UPSTREAM_REFUSALS = {
    "404": (Answer(b"", 404), "answers 404 Not Found; set DEERMEM_EVAL_UPSTREAM_URL to a mirror"),
    "500": (Answer(b"", 500), "answers 500 .*; set DEERMEM_EVAL_UPSTREAM_URL"),
    "other": (Answer(b"other"), "with SHA-256 d9298a10.*it was not kept; set DEERMEM_EVAL_UPST"),
    "large": (Answer(b"x" * 5_000_001), "sends more than 5000000 bytes"),
    "cut": (Answer(b"x" * 50, cut_at=9), "broke off after 9 bytes; run it again"),
}


@pytest.mark.parametrize("answer", UPSTREAM_REFUSALS)
def test_each_failure_of_the_repository_is_said_with_its_remedy(study, answer):
    study.upstream.answers[UPSTREAM + "prompts/answer.txt"], said = UPSTREAM_REFUSALS[answer]
    assert re.search(said, study.refused())


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "file:///etc", "nowhere", "http://[::bad"])
def test_an_unusable_mirror_is_refused(study, url):
    assert "set DEERMEM_EVAL_UPSTREAM_URL to a mirror" in study.refused(
        DEERMEM_EVAL_UPSTREAM_URL=url
    )


def test_wrong_and_missing_local_copies_are_refused(study, small, tmp_path):
    assert "dataset.json does not exist" in study.refused("--dataset", tmp_path / "dataset.json")
    assert "is pinned; it was not kept; name the pinned file" in study.refused(
        "--dataset", small.prompt
    )
    shutil.rmtree(study.target)
    assert "small.yaml does not exist" in study.refused("--upstream", tmp_path)
    small.prompt.write_text("changed")
    assert "prompts/answer.txt comes a file with SHA-256" in study.refused(
        "--upstream", study.complete
    )


def test_a_full_disk_is_said(study):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))

    line = study.refused(prepare=limit, PYTHONDONTWRITEBYTECODE="1")
    assert "it cannot be stored: File too large; free the space, or name another" in line


def test_a_cache_that_cannot_be_written_is_said(study, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    done = study.fetch()
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "name another folder" in done.stderr


def test_a_place_that_no_file_system_offers_is_said(study):
    study.cache = Path("/proc/nowhere")
    done = study.fetch()
    assert done.returncode == 2
    assert "/proc/nowhere cannot be written" in done.stderr


def test_the_facts_themselves_are_never_fetched_over(study):
    line = study.refused("--cache-dir", study.facts.parent)
    assert "is the folder of the facts themselves; name another --cache-dir" in line


def test_what_lies_in_the_way_of_the_fetched_protocol_is_said(study):
    (study.target / "configs").mkdir(parents=True)
    (study.target / "configs" / "old.yaml").write_text("a: 1\n")
    done = study.fetch()
    assert done.returncode == 2
    assert "exactly one config in configs/, found old.yaml, small.yaml" in done.stderr


@pytest.mark.parametrize(
    ("endpoint", "may"),
    [
        ("https://huggingface.co", True),
        ("https://mirror.example", True),
        ("http://127.0.0.1:80", True),
        ("http://localhost", True),
        ("http://[::1]:8080", True),
        ("http://mirror.example", False),
        ("http://127.0.0.1.example", False),
    ],
)
def test_a_token_crosses_no_network_in_the_clear(endpoint, may):
    assert may_carry_a_token(endpoint) is may


def test_a_complete_protocol_needs_no_fetch(study):
    done = subprocess.run(
        [sys.executable, "-m", "deermem_eval", "fetch", "sample"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "protocol sample is complete as it is; there is nothing to fetch" in done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"published,../x,{'0' * 64}", "line 2: path '../x' leaves its folder"),
        (f"published,/x,{'0' * 64}", "line 2: path '/x' leaves its folder"),
        ("published,x,123", "line 2: sha256 '123' is not 64"),
        (f"letter,x,{'0' * 64}", "line 2: artifact 'letter' is not one of"),
        (f"published,x,{'0' * 64}", "names 0 files as config; name exactly one"),
    ],
)
def test_bad_sources_are_refused_by_line(study, line, said):
    (study.facts / "sources.csv").write_text(f"artifact,path,sha256\n{line}\n")
    with pytest.raises(DeermemEvalError, match=said):
        read_sources(load_protocol(study.facts))


def test_the_historical_sources_are_the_published_files(reference, historical):
    for source in read_sources(historical):
        folder, name = ("protocol", source.path)
        if source.artifact == "published":
            folder, name = ("published/run3", Path(source.path).name)
        assert sha256_hex((reference / folder / name).read_bytes()) == source.sha256
    marker = json.loads((reference / "published" / "run3" / "qa_run.json").read_text())
    assert upstream_identity(historical).as_dict() == marker["artifacts"]
