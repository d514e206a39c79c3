"""What is said where git, a commit or a part of a clone is missing; nothing is fetched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from podplan.core.errors import UsageError
from podplan.workspace import revisions
from podplan.workspace.revisions import FileChange
from tests.git import Git, commit, git_in


@pytest.mark.usefixtures("git")
def test_no_such_revision_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r'no revision "nowhere".*git fetch origin nowhere'):
        revisions.resolve_commit(str(tmp_path), "nowhere")


def test_a_folder_without_git_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a git repository.*compare two folders"):
        revisions.resolve_commit(str(tmp_path), "HEAD")
    (tmp_path / ".git").mkdir()
    with pytest.raises(UsageError, match="not a git repository"):
        revisions.resolve_commit(str(tmp_path), "HEAD")


def test_a_repository_without_commits_says_so(tmp_path: Path) -> None:
    git_in(tmp_path)("init", "-q")
    with pytest.raises(UsageError, match="no commits yet"):
        revisions.find_changes(str(tmp_path), "HEAD")


@pytest.mark.usefixtures("git")
def test_git_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="git is not installed"):
        revisions.resolve_commit(str(tmp_path), "HEAD")


@pytest.mark.usefixtures("git")
def test_a_repository_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.run(
        ["sh", "-c", "command -v git"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/git"
    script.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {real} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    with pytest.raises(UsageError, match=r"another user owns it.*safe.directory"):
        revisions.resolve_commit(str(tmp_path), "HEAD")


@pytest.fixture
def clone(git: Git, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Callable[[int], Path]:
    """Shallow clones of a repository whose HEAD merges topic into main, as actions/checkout has it."""
    git("checkout", "-q", "-b", "topic")
    (tmp_path / "c.yaml").write_text("c: 1\n")
    commit(git, "topic")
    git("checkout", "-q", "main")
    (tmp_path / "a.yaml").write_text("a: 2\n")
    commit(git, "main")
    git("merge", "-q", "--no-ff", "-m", "merge", "topic")

    def make(depth: int) -> Path:
        folder = tmp_path_factory.mktemp("clone")
        git("clone", "-q", f"--depth={depth}", f"file://{tmp_path}", str(folder / "clone"))
        return folder / "clone"

    return make


def test_a_clone_of_one_commit_says_how_to_get_the_base(clone: Callable[[int], Path]) -> None:
    folder = clone(1)
    with pytest.raises(UsageError, match=r"shallow clone; fetch it .*fetch-depth: 2 and the base HEAD\^1"):
        revisions.find_changes(str(folder), "HEAD^1")
    git_in(folder)("fetch", "-q", "--depth=1", "origin", "topic")
    with pytest.raises(UsageError, match=r"no common commit in what this shallow clone has.*FETCH_HEAD\.\."):
        revisions.find_changes(str(folder), "FETCH_HEAD")
    assert revisions.find_changes(str(folder), "FETCH_HEAD..")


def test_a_clone_of_two_commits_has_the_base(clone: Callable[[int], Path]) -> None:
    assert revisions.find_changes(str(clone(2)), "HEAD^1") == [FileChange("added", "c.yaml", None)]


def test_a_partial_clone_fetches_nothing(
    git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    git("config", "uploadpack.allowFilter", "true")
    first = git("rev-parse", "HEAD")
    git("mv", "jobs/b.yaml", "moved.yaml")
    (tmp_path / "moved.yaml").write_text("b: 1\n" * 19)
    commit(git, "second")
    folder = tmp_path_factory.mktemp("partial") / "clone"
    git("clone", "-q", "--filter=blob:none", f"file://{tmp_path}", str(folder))
    ways = {change.change_type for change in revisions.find_changes(str(folder), first)}
    assert ways == {"added", "deleted"}  # what it takes to see a rename is not here
    with (
        pytest.raises(UsageError, match=r"not all in this clone.*--no-filter"),
        revisions.extract_tree(str(folder), first),
    ):
        pass


def test_a_worktree_and_a_sparse_checkout(git: Git, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("trees") / "linked"
    git("worktree", "add", "-q", str(folder), "-b", "other")
    (folder / "a.yaml").write_text("a: 3\n")
    assert revisions.find_changes(str(folder), "main") == [FileChange("modified", "a.yaml", "a.yaml")]
    git_in(folder)("sparse-checkout", "set", "--no-cone", "/a.yaml")
    assert revisions.find_present_files(str(folder)) == {"a.yaml"}
    assert revisions.find_changes(str(folder), "main") == [FileChange("modified", "a.yaml", "a.yaml")]
