"""Revisions: what git is asked, what it is never made to do, and what is said where something is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from podplan import revisions
from podplan.limits import BoundExceeded
from podplan.reading.files import root_of
from podplan.requests import RequestError
from podplan.revisions import Change, trees
from tests.git import AUTHOR, Git, commit, git_in


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """A repository with one commit on main that has ``a.yaml`` and ``jobs/b.yaml``."""
    git = git_in(tmp_path)
    git("init", "-q", "-b", "main")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "a.yaml").write_text("a: 1\n")
    (tmp_path / "jobs/b.yaml").write_text("b: 1\n" * 20)
    (tmp_path / "train.py").write_text("print()\n")
    commit(git, "first")
    return git


def test_names_of_commits(git: Git, tmp_path: Path) -> None:
    first = git("rev-parse", "HEAD")
    git("tag", "-a", "v1", "-m", "v1")
    assert {revisions.commit_of(str(tmp_path), ref) for ref in ("main", "HEAD", "v1", first, first[:8])} == {
        first
    }


@pytest.mark.usefixtures("git")
@pytest.mark.parametrize(
    "ref", ["--output=x", "-", "", " ", "a\0b", "main\n", "x" * 2000, "main..v1", "a...b"]
)
def test_names_that_are_none(tmp_path: Path, ref: str) -> None:
    with pytest.raises(RequestError, match=r"cannot be the name of a revision|is a range"):
        revisions.commit_of(str(tmp_path), ref)
    assert not (tmp_path / "x").exists()


def test_a_commit_by_its_message(git: Git, tmp_path: Path) -> None:
    first = git("rev-parse", "HEAD")
    (tmp_path / "a.yaml").write_text("a: 7\n")
    commit(git, "a change of words")
    said = git("log", "-1", "--format=%s", first)
    assert revisions.commit_of(str(tmp_path), f":/{said}") == first


def test_what_is_no_commit_is_said_to_be_what_it_is(git: Git, tmp_path: Path) -> None:
    for name, kind in (("HEAD^{tree}", "tree"), ("HEAD:a.yaml", "blob")):
        found = git("rev-parse", name)
        for ref in (name, found):
            with pytest.raises(RequestError, match=f"is a {kind} of this repository"):
                revisions.commit_of(str(tmp_path), ref)


@pytest.mark.usefixtures("git")
@pytest.mark.parametrize("ref", ["HEAD~9", "@{u}", "main;ls", "a b"])
def test_only_a_plain_name_is_one_to_fetch(tmp_path: Path, ref: str) -> None:
    with pytest.raises(RequestError) as found:
        revisions.commit_of(str(tmp_path), ref)
    assert "git fetch" not in str(found.value)


@pytest.mark.usefixtures("git")
def test_no_such_revision_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r'no revision "nowhere".*git fetch origin nowhere'):
        revisions.commit_of(str(tmp_path), "nowhere")


def test_the_base_is_where_head_left_it(git: Git, tmp_path: Path) -> None:
    root, first = str(tmp_path), git("rev-parse", "HEAD")
    git("checkout", "-q", "-b", "topic")
    (tmp_path / "c.yaml").write_text("c: 1\n")
    commit(git, "topic")
    git("checkout", "-q", "main")
    (tmp_path / "a.yaml").write_text("a: 2\n")
    second = commit(git, "main")
    git("checkout", "-q", "topic")
    assert revisions.base_of(root, "main") == revisions.base_of(root, "main...") == first
    assert revisions.base_of(root, "main..") == second
    assert revisions.base_of(root, "topic", "main") == first
    assert revisions.changed(root, "main") == [Change("added", "c.yaml", None)]
    assert [change.path for change in revisions.changed(root, "main..")] == ["a.yaml", "c.yaml"]
    assert revisions.changed(root, "main..", "main") == []


def test_what_changed_tells_each_way_apart(git: Git, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").unlink()
    git("mv", "jobs/b.yaml", "jobs/moved.yaml")
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/x.yaml").write_text("x: 1\n")
    (tmp_path / "new file.yaml").write_text("x: 1\n")
    expected = [
        Change("added", ".gitignore", None),
        Change("deleted", "a.yaml", "a.yaml"),
        Change("renamed", "jobs/moved.yaml", "jobs/b.yaml"),
        Change("added", "new file.yaml", None),
        Change("modified", "train.py", "train.py"),
    ]
    assert revisions.changed(str(tmp_path), "HEAD") == expected
    assert revisions.present(str(tmp_path)) >= {"new file.yaml", "jobs/moved.yaml"}
    assert "out/x.yaml" not in revisions.present(str(tmp_path))
    before = git("rev-parse", "HEAD")
    commit(git, "all")
    assert revisions.changed(str(tmp_path), before, "HEAD") == expected
    assert revisions.changed(str(tmp_path), "HEAD") == []


@pytest.mark.parametrize(
    "name", ["with space.yaml", "line\nend.yaml", "-leading.yaml", "\udcff.yaml", "ü.yaml", "a\tb.yaml"]
)
def test_names_of_files_of_any_kind(git: Git, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x: 1\n")
    assert revisions.changed(str(tmp_path), "HEAD") == [Change("added", name, None)]
    made = commit(git, "name")
    (tmp_path / name).write_text("x: 2\n")
    assert revisions.changed(str(tmp_path), "HEAD") == [Change("modified", name, name)]
    with revisions.tree(str(tmp_path), made) as folder:
        assert Path(folder, name).read_text() == "x: 1\n"


def test_the_files_of_a_revision_are_a_root_of_their_own(git: Git, tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to("../../etc/passwd")
    (tmp_path / "within").symlink_to("jobs")
    first = commit(git, "links")
    (tmp_path / "a.yaml").write_text("a: 2\n")
    with revisions.tree(str(tmp_path), first) as folder:
        top = Path(folder)
        assert root_of(str(top / "jobs/b.yaml")) == folder
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
    assert revisions.changed(str(tmp_path), "HEAD") == []
    git("update-index", "--add", "--cacheinfo", f"160000,{sub},other")
    git("commit", "-q", "-m", "submodule")
    with revisions.tree(str(tmp_path), git("rev-parse", "HEAD")) as folder:
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
    assert Change("modified", "a.yaml", "a.yaml") in revisions.changed(str(tmp_path), "HEAD")
    assert revisions.changed(str(tmp_path), "HEAD", "HEAD") == []
    revisions.present(str(tmp_path))
    with revisions.tree(str(tmp_path), first) as folder:
        assert Path(folder, "a.yaml").read_text() == "a: 1\n"
    assert not (tmp_path / "RAN").exists()
    subprocess.run(
        ["git", "status"], cwd=tmp_path, env={**os.environ, **AUTHOR}, capture_output=True, check=False
    )
    assert (tmp_path / "RAN").exists()  # plain git runs them: the trap is a real one


@pytest.mark.usefixtures("git")
def test_the_environment_of_a_hook_leads_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/nowhere/diff")
    monkeypatch.setenv("LC_ALL", "xx_YY")
    assert revisions.changed(str(tmp_path), "HEAD") == []


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
    assert revisions.changed(str(tmp_path), "HEAD") == [Change("modified", "a.yaml", "a.yaml")]


@pytest.mark.usefixtures("git")
def test_the_index_is_left_as_it_is(tmp_path: Path) -> None:
    os.utime(tmp_path / "a.yaml", (1, 1))
    before = (tmp_path / ".git/index").read_bytes()
    assert revisions.changed(str(tmp_path), "HEAD") == []
    assert (tmp_path / ".git/index").read_bytes() == before


def test_a_tree_that_no_checkout_would_make_is_refused(git: Git, tmp_path: Path) -> None:
    blob = git("hash-object", "-w", "a.yaml")
    raw = bytes.fromhex(blob)
    for name in (b"..", b".git", b".GIT"):
        inner = _tree(git, b"100644 x.yaml\0" + raw)
        outer = _tree(git, b"40000 " + name + b"\0" + bytes.fromhex(inner))
        evil = git("commit-tree", "-m", "x", outer)
        with pytest.raises(RequestError, match="no checkout would make"), revisions.tree(str(tmp_path), evil):
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
    with pytest.raises(RequestError, match="cannot be written"), revisions.tree(str(tmp_path), evil):
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
    monkeypatch.setattr(trees, "MAX_REVISION_BYTES", 10)
    with (
        pytest.raises(BoundExceeded, match=r"bytes in files.*limit revision-bytes"),
        revisions.tree(str(tmp_path), git("rev-parse", "HEAD")),
    ):
        pass
    monkeypatch.setattr(trees, "MAX_REVISION_FILES", 1)
    with (
        pytest.raises(BoundExceeded, match=r"2 files.*limit revision-files"),
        revisions.tree(str(tmp_path), git("rev-parse", "HEAD")),
    ):
        pass


def test_folders_within_folders_have_a_bound(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "MAX_FOLDERS", 3)
    for depth, is_read in ((3, True), (4, False)):
        inner = _tree(git, b"100644 x.yaml\0" + bytes.fromhex(git("hash-object", "-w", "a.yaml")))
        for _ in range(depth):
            inner = _tree(git, b"40000 a\0" + bytes.fromhex(inner))
        commit = git("commit-tree", "-m", "x", inner)
        if is_read:
            with revisions.tree(str(tmp_path), commit) as top:
                assert os.path.exists(os.path.join(top, *["a"] * depth, "x.yaml"))
        else:
            with (
                pytest.raises(BoundExceeded, match="4 folders within"),
                revisions.tree(str(tmp_path), commit),
            ):
                pass


def test_a_folder_without_git_says_so(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"not a git repository.*compare two folders"):
        revisions.commit_of(str(tmp_path), "HEAD")
    (tmp_path / ".git").mkdir()
    with pytest.raises(RequestError, match="not a git repository"):
        revisions.commit_of(str(tmp_path), "HEAD")


def test_a_repository_without_commits_says_so(tmp_path: Path) -> None:
    git_in(tmp_path)("init", "-q")
    with pytest.raises(RequestError, match="no commits yet"):
        revisions.changed(str(tmp_path), "HEAD")


@pytest.mark.usefixtures("git")
def test_git_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(RequestError, match="git is not installed"):
        revisions.commit_of(str(tmp_path), "HEAD")


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
    assert revisions.tracked(str(top), str(top)) == {"a.yaml", "b.yaml"}
    for told in (".git/next-index-1.lock", str(top / ".git/next-index-1.lock")):
        monkeypatch.setenv("GIT_INDEX_FILE", told)
        assert revisions.tracked(str(top), str(top)) == {"a.yaml"}
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    assert revisions.tracked(str(top), str(top)) == {"a.yaml", "b.yaml"}


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
    with pytest.raises(RequestError, match=r"another user owns it.*safe.directory"):
        revisions.commit_of(str(tmp_path), "HEAD")


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
    with pytest.raises(RequestError, match=r"shallow clone; fetch it .*fetch-depth: 2 and the base HEAD\^1"):
        revisions.changed(str(folder), "HEAD^1")
    git_in(folder)("fetch", "-q", "--depth=1", "origin", "topic")
    with pytest.raises(
        RequestError, match=r"no common commit in what this shallow clone has.*FETCH_HEAD\.\."
    ):
        revisions.changed(str(folder), "FETCH_HEAD")
    assert revisions.changed(str(folder), "FETCH_HEAD..")


def test_a_clone_of_two_commits_has_the_base(clone: Callable[[int], Path]) -> None:
    assert revisions.changed(str(clone(2)), "HEAD^1") == [Change("added", "c.yaml", None)]


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
    ways = {change.how for change in revisions.changed(str(folder), first)}
    assert ways == {"added", "deleted"}  # what it takes to see a rename is not here
    with (
        pytest.raises(RequestError, match=r"not all in this clone.*--no-filter"),
        revisions.tree(str(folder), first),
    ):
        pass


def test_a_worktree_and_a_sparse_checkout(git: Git, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("trees") / "linked"
    git("worktree", "add", "-q", str(folder), "-b", "other")
    (folder / "a.yaml").write_text("a: 3\n")
    assert revisions.changed(str(folder), "main") == [Change("modified", "a.yaml", "a.yaml")]
    git_in(folder)("sparse-checkout", "set", "--no-cone", "/a.yaml")
    assert revisions.present(str(folder)) == {"a.yaml"}
    assert revisions.changed(str(folder), "main") == [Change("modified", "a.yaml", "a.yaml")]
