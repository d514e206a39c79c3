"""The files of a revision: where they are written, and what is never run, followed or unpacked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.workspace import revisions
from podplan.workspace.files import find_root
from podplan.workspace.revisions import FileChange, file_tree
from tests.git import AUTHOR, Git, commit, git_in


def test_the_files_of_a_revision_are_a_root_of_their_own(git: Git, tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to("../../etc/passwd")
    (tmp_path / "within").symlink_to("jobs")
    first = commit(git, "links")
    (tmp_path / "a.yaml").write_text("a: 2\n")
    with revisions.extract_tree(str(tmp_path), first) as folder:
        top = Path(folder)
        assert find_root(str(top / "jobs/b.yaml")) == folder
        assert sorted(path.name for path in top.iterdir()) == [
            ".git",
            "a.yaml",
            "jobs",
            "link.yaml",
            "within",
        ]
        assert (top / "a.yaml").read_text() == "a: 1\n"
        assert os.readlink(top / "link.yaml") == "../../etc/passwd"
        assert (top / "within/b.yaml").exists()
    assert not top.exists()


def test_a_submodule_and_a_repository_within_are_left_out(git: Git, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    inner = git_in(other)
    inner("init", "-q", "-b", "main")
    (other / "x.yaml").write_text("x: 1\n")
    sub = commit(inner, "inner")
    assert revisions.find_changes(str(tmp_path), "HEAD") == []
    git("update-index", "--add", "--cacheinfo", f"160000,{sub},other")
    git("commit", "-q", "-m", "submodule")
    with revisions.extract_tree(str(tmp_path), git("rev-parse", "HEAD")) as folder:
        assert not Path(folder, "other").exists()


def test_nothing_of_the_repository_is_run(git: Git, tmp_path: Path) -> None:
    """Filters, conversions, external diffs, hooks and monitors that the configuration names stay idle."""
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\ntouch "$(dirname "$0")/RAN"\ncat\n')
    program.chmod(0o755)
    (tmp_path / ".gitattributes").write_text("*.yaml filter=bad=name diff=bad\n")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "post-checkout", "reference-transaction"):
        (hooks / hook).symlink_to(program)
    first = commit(git, "attributes")
    for key in (
        "filter.bad=name.clean",
        "filter.bad=name.smudge",
        "filter.bad=name.process",
        "diff.bad.command",
        "diff.bad.textconv",
        "diff.external",
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.alternateRefsCommand",
    ):
        git("config", key, str(program))
    git("config", "filter.bad=name.required", "true")
    git("config", "core.hooksPath", str(hooks))
    (tmp_path / "a.yaml").write_text("a: 2\n")
    assert FileChange("modified", "a.yaml", "a.yaml") in revisions.find_changes(str(tmp_path), "HEAD")
    assert revisions.find_changes(str(tmp_path), "HEAD", "HEAD") == []
    revisions.find_present_files(str(tmp_path))
    with revisions.extract_tree(str(tmp_path), first) as folder:
        assert Path(folder, "a.yaml").read_text() == "a: 1\n"
    assert not (tmp_path / "RAN").exists()
    subprocess.run(
        ["git", "status"], cwd=tmp_path, env={**os.environ, **AUTHOR}, capture_output=True, check=False
    )
    assert (tmp_path / "RAN").exists()  # plain git runs them: the trap is a real one


@pytest.mark.parametrize(("number", "is_refused"), [(1_000, False), (1_001, True), (20_000, True)])
@pytest.mark.usefixtures("git")
def test_thousands_of_filters_are_refused(tmp_path: Path, number: int, is_refused: bool) -> None:
    """20,000 took seconds for each call of git, or more arguments than the system takes."""
    with (tmp_path / ".git" / "config").open("a") as config:
        config.writelines(f'[filter "f{one}"]\n\tclean = touch RAN\n' for one in range(number))
    if is_refused:
        with pytest.raises(LimitExceeded, match=rf"has {number:,} settings of filters, and at most 1,000"):
            revisions.find_changes(str(tmp_path), "HEAD")
    else:
        assert revisions.find_changes(str(tmp_path), "HEAD") == []


def test_a_tree_that_no_checkout_would_make_is_refused(git: Git, tmp_path: Path) -> None:
    blob = git("hash-object", "-w", "a.yaml")
    raw = bytes.fromhex(blob)
    for name in (b"..", b".git", b".GIT"):
        inner = _tree(git, b"100644 x.yaml\0" + raw)
        outer = _tree(git, b"40000 " + name + b"\0" + bytes.fromhex(inner))
        evil = git("commit-tree", "-m", "x", outer)
        with (
            pytest.raises(UsageError, match="no checkout would make"),
            revisions.extract_tree(str(tmp_path), evil),
        ):
            pass


def test_a_file_is_never_written_through_a_link(git: Git, tmp_path: Path) -> None:
    """A tree may have a link and a folder of one name; the file in the folder must not follow the link."""
    target = tmp_path / "elsewhere"
    target.mkdir()
    link = git("hash-object", "-w", "--stdin", given=str(target))
    blob = bytes.fromhex(git("hash-object", "-w", "a.yaml"))
    inner = _tree(git, b"100644 x.yaml\0" + blob)
    outer = _tree(git, b"120000 d\0" + bytes.fromhex(link) + b"40000 d\0" + bytes.fromhex(inner))
    evil = git("commit-tree", "-m", "x", outer)
    with pytest.raises(UsageError, match="cannot be written"), revisions.extract_tree(str(tmp_path), evil):
        pass
    assert not list(target.iterdir())


def _tree(git: Git, entries: bytes) -> str:
    """A tree object of bytes that git itself would not write."""
    here = git("rev-parse", "--show-toplevel")
    done = subprocess.run(
        ["git", "-C", here, "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        input=entries,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def test_a_revision_has_bounds(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tree, "MAX_REVISION_BYTES", 10)
    with (
        pytest.raises(LimitExceeded, match=r"bytes in files.*limit revision-bytes"),
        revisions.extract_tree(str(tmp_path), git("rev-parse", "HEAD")),
    ):
        pass
    monkeypatch.setattr(file_tree, "MAX_REVISION_FILES", 1)
    with (
        pytest.raises(LimitExceeded, match=r"2 files.*limit revision-files"),
        revisions.extract_tree(str(tmp_path), git("rev-parse", "HEAD")),
    ):
        pass


def test_folders_within_folders_have_a_bound(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_tree, "MAX_FOLDERS", 3)
    for depth, is_read in ((3, True), (4, False)):
        inner = _tree(git, b"100644 x.yaml\0" + bytes.fromhex(git("hash-object", "-w", "a.yaml")))
        for _ in range(depth):
            inner = _tree(git, b"40000 a\0" + bytes.fromhex(inner))
        commit = git("commit-tree", "-m", "x", inner)
        if is_read:
            with revisions.extract_tree(str(tmp_path), commit) as top:
                assert os.path.exists(os.path.join(top, *["a"] * depth, "x.yaml"))
        else:
            with (
                pytest.raises(LimitExceeded, match="4 folders within"),
                revisions.extract_tree(str(tmp_path), commit),
            ):
                pass
