"""Revisions by their names, and what has changed since."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from podplan.core.errors import UsageError
from podplan.workspace import revisions
from podplan.workspace.revisions import FileChange
from tests.git import Git, commit, git_in


def test_names_of_commits(git: Git, tmp_path: Path) -> None:
    first = git("rev-parse", "HEAD")
    git("tag", "-a", "v1", "-m", "v1")
    assert {
        revisions.resolve_commit(str(tmp_path), ref) for ref in ("main", "HEAD", "v1", first, first[:8])
    } == {first}


@pytest.mark.usefixtures("git")
@pytest.mark.parametrize(
    "ref", ["--output=x", "-", "", " ", "a\0b", "main\n", "x" * 2000, "main..v1", "a...b"]
)
def test_names_that_are_none(tmp_path: Path, ref: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be the name of a revision|is a range"):
        revisions.resolve_commit(str(tmp_path), ref)
    assert not (tmp_path / "x").exists()


def test_a_commit_by_its_message(git: Git, tmp_path: Path) -> None:
    first = git("rev-parse", "HEAD")
    (tmp_path / "a.yaml").write_text("a: 7\n")
    commit(git, "a change of words")
    said = git("log", "-1", "--format=%s", first)
    assert revisions.resolve_commit(str(tmp_path), f":/{said}") == first


def test_what_is_no_commit_is_said_to_be_what_it_is(git: Git, tmp_path: Path) -> None:
    for name, kind in (("HEAD^{tree}", "tree"), ("HEAD:a.yaml", "blob")):
        found = git("rev-parse", name)
        for ref in (name, found):
            with pytest.raises(UsageError, match=f"is a {kind} of this repository"):
                revisions.resolve_commit(str(tmp_path), ref)


@pytest.mark.usefixtures("git")
@pytest.mark.parametrize("ref", ["HEAD~9", "@{u}", "main;ls", "a b"])
def test_only_a_plain_name_is_one_to_fetch(tmp_path: Path, ref: str) -> None:
    with pytest.raises(UsageError) as found:
        revisions.resolve_commit(str(tmp_path), ref)
    assert "git fetch" not in str(found.value)


def test_the_base_is_where_head_left_it(git: Git, tmp_path: Path) -> None:
    root, first = str(tmp_path), git("rev-parse", "HEAD")
    git("checkout", "-q", "-b", "topic")
    (tmp_path / "c.yaml").write_text("c: 1\n")
    commit(git, "topic")
    git("checkout", "-q", "main")
    (tmp_path / "a.yaml").write_text("a: 2\n")
    second = commit(git, "main")
    git("checkout", "-q", "topic")
    assert revisions.resolve_base(root, "main") == revisions.resolve_base(root, "main...") == first
    assert revisions.resolve_base(root, "main..") == second
    assert revisions.resolve_base(root, "topic", "main") == first
    assert revisions.find_changes(root, "main") == [FileChange("added", "c.yaml", None)]
    assert [change.path for change in revisions.find_changes(root, "main..")] == ["a.yaml", "c.yaml"]
    assert revisions.find_changes(root, "main..", "main") == []


def test_what_changed_tells_each_way_apart(git: Git, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").unlink()
    git("mv", "jobs/b.yaml", "jobs/moved.yaml")
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/x.yaml").write_text("x: 1\n")
    (tmp_path / "new file.yaml").write_text("x: 1\n")
    expected = [
        FileChange("added", ".gitignore", None),
        FileChange("deleted", "a.yaml", "a.yaml"),
        FileChange("renamed", "jobs/moved.yaml", "jobs/b.yaml"),
        FileChange("added", "new file.yaml", None),
        FileChange("modified", "train.py", "train.py"),
    ]
    assert revisions.find_changes(str(tmp_path), "HEAD") == expected
    assert revisions.find_present_files(str(tmp_path)) >= {"new file.yaml", "jobs/moved.yaml"}
    assert "out/x.yaml" not in revisions.find_present_files(str(tmp_path))
    before = git("rev-parse", "HEAD")
    commit(git, "all")
    assert revisions.find_changes(str(tmp_path), before, "HEAD") == expected
    assert revisions.find_changes(str(tmp_path), "HEAD") == []


@pytest.mark.parametrize(
    "name", ["with space.yaml", "line\nend.yaml", "-leading.yaml", "\udcff.yaml", "ü.yaml", "a\tb.yaml"]
)
def test_names_of_files_of_any_kind(git: Git, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x: 1\n")
    assert revisions.find_changes(str(tmp_path), "HEAD") == [FileChange("added", name, None)]
    made = commit(git, "name")
    (tmp_path / name).write_text("x: 2\n")
    assert revisions.find_changes(str(tmp_path), "HEAD") == [FileChange("modified", name, name)]
    with revisions.extract_tree(str(tmp_path), made) as folder:
        assert Path(folder, name).read_text() == "x: 1\n"


@pytest.mark.usefixtures("git")
def test_the_environment_of_a_hook_leads_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/nowhere/diff")
    monkeypatch.setenv("LC_ALL", "xx_YY")
    assert revisions.find_changes(str(tmp_path), "HEAD") == []


def test_a_change_in_the_moment_of_the_commit_is_seen(git: Git, tmp_path: Path) -> None:
    """Of the size and time of what is committed: only the time of the index tells that it may be another."""
    git("config", "core.trustctime", "false")  # nobody can set that time
    path = tmp_path / "a.yaml"
    path.write_text("a: 3\n")
    os.utime(path, (10**9, 10**9))
    commit(git, "then")
    os.utime(tmp_path / ".git/index", (10**9, 10**9))
    path.write_text("a: 4\n")
    os.utime(path, (10**9, 10**9))
    assert revisions.find_changes(str(tmp_path), "HEAD") == [FileChange("modified", "a.yaml", "a.yaml")]


@pytest.mark.usefixtures("git")
def test_the_index_is_left_as_it_is(tmp_path: Path) -> None:
    os.utime(tmp_path / "a.yaml", (1, 1))
    before = (tmp_path / ".git/index").read_bytes()
    assert revisions.find_changes(str(tmp_path), "HEAD") == []
    assert (tmp_path / ".git/index").read_bytes() == before


def test_the_index_of_the_commit_that_a_hook_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``git commit PATH`` makes an index of its own; one of another repository is no business of ours."""
    top, other = tmp_path / "top", tmp_path / "other"
    for folder in (top, other):
        folder.mkdir()
        (folder / "a.yaml").write_text("a: 1\n")
        git_in(folder)("init", "-q")
        git_in(folder)("add", "a.yaml")
    (top / "b.yaml").write_text("b: 1\n")
    shutil.copy(top / ".git/index", top / ".git/next-index-1.lock")
    git_in(top)("add", "b.yaml")
    assert revisions.find_tracked_files(str(top), str(top)) == {"a.yaml", "b.yaml"}
    for told in (".git/next-index-1.lock", str(top / ".git/next-index-1.lock")):
        monkeypatch.setenv("GIT_INDEX_FILE", told)
        assert revisions.find_tracked_files(str(top), str(top)) == {"a.yaml"}
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    assert revisions.find_tracked_files(str(top), str(top)) == {"a.yaml", "b.yaml"}
