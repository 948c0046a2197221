import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deermem_eval import files
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import json_document, json_lines, publish_folder, write_file


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_write_file_replaces_the_content_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "new" / "row.json"
    write_file(path, b"old")
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(path.parent) == ["row.json"]


def test_write_file_replaces_a_link_instead_of_following_it(tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"untouched")
    link = tmp_path / "row.json"
    link.symlink_to(outside)
    write_file(link, b"new")
    assert outside.read_bytes() == b"untouched"
    assert link.read_bytes() == b"new"
    assert not link.is_symlink()


def full_disk(_descriptor):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "row.json"
    write_file(path, b"old")
    monkeypatch.setattr(files.os, "fsync", full_disk)
    with pytest.raises(DeermemEvalError, match=r"row\.json cannot be written: No space left"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["row.json"]


def test_a_full_disk_leaves_no_part_of_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "fsync", full_disk)
    with pytest.raises(DeermemEvalError, match="No space left"):
        publish_folder(tmp_path / "run", {"a": b"1", "b": b"2"})
    assert names(tmp_path) == []


def test_a_refused_folder_leaves_no_new_parents(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()

    monkeypatch.setattr(files, "_write_new", lambda path, content: full_disk(path))
    with pytest.raises(DeermemEvalError, match="No space left"):
        publish_folder(tmp_path / "there" / "a" / "b" / "run", {"f": b"1"})
    assert names(tmp_path) == ["there"]
    assert names(tmp_path / "there") == []


def test_a_parent_that_somebody_else_uses_stays_and_the_reason_is_told(tmp_path, monkeypatch):
    def use_and_fail(path, content):
        (path.parent.parent / "theirs").touch()
        full_disk(path)

    monkeypatch.setattr(files, "_write_new", use_and_fail)
    with pytest.raises(DeermemEvalError, match="No space left"):
        publish_folder(tmp_path / "a" / "run", {"f": b"1"})
    assert names(tmp_path / "a") == ["theirs"]


def test_interrupting_a_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "row.json"
    write_file(path, b"old")

    def interrupt(_descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["row.json"]


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_killed_at_any_step_a_folder_is_absent_or_whole(tmp_path, step):
    program = f"""
import os, pathlib, signal
from deermem_eval.files import publish_folder
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if {step!r} == "fsync":
    os.fsync = die
else:
    pathlib.Path.rename = die
publish_folder(pathlib.Path({str(tmp_path / "run")!r}), {{"a": b"1", "b": b"2"}})
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "run").exists()
    (leftover,) = tmp_path.iterdir()
    assert leftover.name.endswith(".partial")
    publish_folder(tmp_path / "run", {"a": b"1", "b": b"2"})
    assert names(tmp_path / "run") == ["a", "b"]


def test_a_folder_that_holds_anything_is_refused_untouched(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DeermemEvalError, match="nothing is ever overwritten"):
        publish_folder(tmp_path, {"a": b"1"})
    assert names(tmp_path) == ["notes.txt"]


def test_an_empty_folder_is_taken(tmp_path):
    publish_folder(tmp_path / "run", {"a": b"1"})
    (tmp_path / "empty").mkdir()
    publish_folder(tmp_path / "empty", {"a": b"1"})
    assert names(tmp_path / "empty") == ["a"]


def test_paths_with_dots_name_what_they_lead_to(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(DeermemEvalError, match="is the folder you stand in"):
        publish_folder(Path(), {"a": b"1"})
    write_file(Path("../other/../row.json"), b"2")
    publish_folder(Path("../x/../run"), {"a": b"1"})
    assert names(tmp_path) == ["empty", "row.json", "run"]
    assert names(tmp_path / "empty") == []


def test_a_link_to_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    publish_folder(tmp_path / "link", {"a": b"1"})
    assert names(tmp_path / "real") == ["a"]


def test_dots_behind_a_link_lead_where_the_system_leads(tmp_path):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    write_file(tmp_path / "link" / ".." / "row.json", b"1")
    assert names(tmp_path / "far") == ["away", "row.json"]


def test_no_name_leads_out_of_a_published_folder(tmp_path):
    with pytest.raises(ValueError, match="not a plain file name"):
        publish_folder(tmp_path / "run", {"../escape": b"1"})
    assert names(tmp_path) == []


def test_what_is_written_but_not_durable_is_said_so(tmp_path, monkeypatch):
    def fail(folder):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(files, "_sync_folder", fail)
    with pytest.raises(
        DeermemEvalError, match="is written but not yet durable: Input/output error"
    ):
        write_file(tmp_path / "row.json", b"new")
    assert (tmp_path / "row.json").read_bytes() == b"new"


def test_a_published_folder_is_synced_inside_and_above(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files, "_sync_folder", synced.append)
    publish_folder(tmp_path / "run", {"a": b"1"})
    assert [folder.name.endswith(".partial") for folder in synced] == [True, False]
    assert synced[-1] == tmp_path


def test_every_new_folder_on_the_way_is_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files, "_sync_folder", synced.append)
    write_file(tmp_path / "a" / "b" / "row.json", b"1")
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DeermemEvalError, match="is a file; name a new folder"):
        publish_folder(tmp_path / "file", {"a": b"1"})
    with pytest.raises(DeermemEvalError, match="cannot be written: Not a directory|File exists"):
        write_file(tmp_path / "file" / "row.json", b"1")


def test_documents_have_the_published_form():
    assert json_document({"b": 1, "a": "é"}) == '{\n  "a": "é",\n  "b": 1\n}\n'.encode()
    assert json_lines([{"b": 1, "a": [2.0]}, {}]) == b'{"a": [2.0], "b": 1}\n{}\n'
    assert json.loads(json_document([0.1])) == [0.1]
