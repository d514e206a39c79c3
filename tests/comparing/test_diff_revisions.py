"""Which revisions podplan diff compares, in clones and work trees of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.cli.diff import compare_paths
from podplan.core.errors import UsageError
from tests.comparing.repository import job, names, podplan
from tests.git import Git, commit, git_in


def test_the_base_is_where_the_branch_left(git: Git, tmp_path: Path) -> None:
    git("checkout", "-q", "-b", "topic")
    (tmp_path / "two.yaml").write_text(job("two", 3))
    commit(git, "topic")
    git("checkout", "-q", "main")
    (tmp_path / "three.yaml").write_text(job("three"))
    commit(git, "main goes on")
    git("checkout", "-q", "topic")
    assert names(base="main") == [("changed", "two", "two.yaml")]
    assert names(base="main..") == [("changed", "two", "two.yaml"), ("removed", "three", "three.yaml")]
    assert compare_paths((), base="main..").base.startswith("main (")


def test_shallow_clones(git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (tmp_path / "two.yaml").write_text(job("two", 3))
    commit(git, "second")
    folders = {depth: tmp_path_factory.mktemp("clones") / str(depth) for depth in (1, 2)}
    for depth, folder in folders.items():
        git("clone", "-q", f"--depth={depth}", f"file://{tmp_path}", str(folder))
    assert names(str(folders[2]), base="HEAD^1") == [("changed", "two", str(folders[2] / "two.yaml"))]
    said = podplan("diff", "--base", "HEAD^1", cwd=folders[1])
    assert said.code == 2
    assert "fetch-depth: 2" in said.err


def test_worktrees_and_sparse_checkouts(git: Git, tmp_path_factory: pytest.TempPathFactory) -> None:
    linked = tmp_path_factory.mktemp("trees") / "linked"
    git("worktree", "add", "-q", str(linked), "-b", "other")
    (linked / "two.yaml").write_text(job("two", 3))
    expected = [("changed", "two", str(linked / "two.yaml"))]
    assert names(str(linked), base="main") == expected
    git_in(linked)("sparse-checkout", "set", "--no-cone", "/two.yaml")
    assert not (linked / "jobs").exists()
    assert names(str(linked), base="main") == expected  # what is not checked out is not removed


def test_each_side_has_its_own_configuration_and_inventory(git: Git, tmp_path: Path) -> None:
    (tmp_path / "podplan.toml").write_text('exclude = ["jobs/*"]\n')
    assert names() == [("removed", "one", "jobs/one.yaml")]
    assert names(isolated=True) == []
    (tmp_path / "podplan.toml").write_text("exclude = 3\n")
    commit(git, "broken configuration")
    (tmp_path / "podplan.toml").write_text("# mended\nexclude = 3\n")
    with pytest.raises(UsageError, match=r"^at HEAD: podplan\.toml:1: "):
        compare_paths(())
