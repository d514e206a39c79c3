from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from podplan.core.errors import UsageError
from podplan.core.limits import MAX_FILE_BYTES, MAX_SEARCH_BYTES, LimitExceeded
from podplan.workspace import file_loader
from podplan.workspace.files import (
    OutsideRoot,
    PathNotFound,
    expand_paths,
    explain_invalid_path,
    file_contains_any,
    find_root,
    read_found_file,
    read_inside_root,
    relative_to_root,
    require_inside_repository,
    resolve_reference,
)
from tests.command import JOB, PROFILE, podplan
from tests.git import commit, git_in

DEEP = 1200  # folders within one another


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repo"
    for name in (
        "jobs/b.yaml",
        "jobs/a.yml",
        "jobs/.hidden/c.yaml",
        "jobs/notes.txt",
        "node_modules/x.yaml",
        ".git/d.yaml",
    ):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("a: 1\n")
    return top


def test_folders_give_their_yaml_files_sorted(repository: Path) -> None:
    assert list(expand_paths([str(repository)])) == [
        str(repository / "jobs/a.yml"),
        str(repository / "jobs/b.yaml"),
    ]


def test_each_file_once_and_files_as_given(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    assert list(expand_paths(["jobs/notes.txt", "jobs", "jobs/a.yml"])) == [
        "jobs/notes.txt",
        "jobs/a.yml",
        "jobs/b.yaml",
    ]
    assert list(expand_paths(["."])) == ["jobs/a.yml", "jobs/b.yaml"]


def test_exclude(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    assert list(expand_paths(["jobs"], ["*/a.yml"])) == ["jobs/b.yaml"]
    assert list(expand_paths(["."], ["jobs"])) == []


def test_no_such_path() -> None:
    with pytest.raises(PathNotFound, match="no such file or folder"):
        list(expand_paths(["not/there.yaml"]))


def test_the_root_is_the_git_top_level_else_the_folder(repository: Path, tmp_path: Path) -> None:
    assert find_root(str(repository / "jobs" / "b.yaml")) == str(repository)
    (tmp_path / "alone").mkdir()
    assert find_root(str(tmp_path / "alone" / "x.yaml")) == str(tmp_path / "alone")
    assert relative_to_root(str(repository / "jobs" / "b.yaml")) == "jobs/b.yaml"


def test_without_git_the_root_is_the_nearest_folder_with_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "a/b/jobs").mkdir(parents=True)
    (tmp_path / "podplan.toml").write_text("")
    assert find_root(str(tmp_path / "a/b/jobs")) == str(tmp_path)
    (tmp_path / "a/pyproject.toml").write_text("[project]\n")
    assert find_root(str(tmp_path / "a/b/jobs")) == str(tmp_path)
    (tmp_path / "a/pyproject.toml").write_text("[tool.podplan]\n")
    assert find_root(str(tmp_path / "a/b/jobs/job.yaml")) == str(tmp_path / "a")
    (tmp_path / ".git").mkdir()
    assert find_root(str(tmp_path / "a/b/jobs")) == str(tmp_path)


def test_without_git_and_configuration_the_root_is_the_current_folder_or_that_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here/jobs", "elsewhere/jobs"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert find_root("jobs") == find_root("jobs/job.yaml") == find_root(".") == str(tmp_path / "here")
    assert find_root("../elsewhere/jobs/job.yaml") == str(tmp_path / "elsewhere/jobs")


def test_installed_and_unpacked_packages_are_not_searched_unless_named(tmp_path: Path) -> None:
    """Those of podplan have an inventory and queues, which are not those of the user's cluster."""
    files = ("jobs/a.yaml", "venv/lib/b.yaml", "vendor/lib/podplan/c.yaml", "podplan-0.1.0/fixtures/d.yaml")
    markers = ("venv/pyvenv.cfg", "vendor/lib/podplan-0.1.0.dist-info/METADATA", "podplan-0.1.0/PKG-INFO")
    for name in (*files, *markers):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("kind: ClusterInventory\n")
    skipped: Counter[str] = Counter()
    found = list(expand_paths([str(tmp_path)], skipped=skipped))
    assert [os.path.relpath(file, tmp_path) for file in found] == ["jobs/a.yaml"]
    assert dict(skipped) == {
        "unpacked Python package": 1,
        "folder with installed Python packages": 1,
        "virtual environment": 1,
    }
    assert len(list(expand_paths([str(tmp_path / name) for name in ("venv", "vendor/lib")]))) == 2


def test_what_git_ignores_and_nested_repositories_are_not_searched_unless_named(tmp_path: Path) -> None:
    for name in ("a.yaml", "out/b.yaml", "out/kept.yaml", "c.tmp.yaml", "jobs/d.yaml", "clone/e.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a: 1\n")
    (tmp_path / "clone/.git").write_text("gitdir: elsewhere\n")

    def search(*paths: str) -> tuple[list[str], dict[str, int]]:
        skipped: Counter[str] = Counter()
        files = expand_paths([str(tmp_path / path) for path in paths], skipped=skipped)
        return [os.path.relpath(file, tmp_path) for file in files], dict(skipped)

    everything = ["a.yaml", "c.tmp.yaml", "clone/e.yaml", "jobs/d.yaml", "out/b.yaml", "out/kept.yaml"]
    assert search(".") == (everything, {})
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("out/\n*.tmp.yaml\n")
    skipped = {"ignored by git": 1, "ignored by git (folder)": 1, "nested repository": 1}
    assert search(".") == (["a.yaml", "jobs/d.yaml"], skipped)
    assert search("out", "c.tmp.yaml", "clone") == (
        ["out/b.yaml", "out/kept.yaml", "c.tmp.yaml", "clone/e.yaml"],
        {},
    )
    for folder in ("jobs", ":jobs[1]"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "mine.tmp.yaml").write_text("a: 1\n")
        (tmp_path / folder / "d.yaml").write_text("a: 1\n")
        assert search(folder) == ([f"{folder}/d.yaml"], {"ignored by git": 1})
    subprocess.run(["git", "-C", str(tmp_path), "add", "-f", "out/kept.yaml"], check=True)
    assert search(".")[0] == [":jobs[1]/d.yaml", "a.yaml", "jobs/d.yaml", "out/kept.yaml"]
    assert search("out")[0] == ["out/b.yaml", "out/kept.yaml"]


def test_nothing_outside_the_root_is_read(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("a: 1")
    link = repository / "jobs" / "link.yaml"
    link.symlink_to(tmp_path / "secret.yaml")
    inside = repository / "jobs" / "inside.yaml"
    inside.symlink_to("b.yaml")
    assert read_inside_root(str(repository), str(inside)) == b"a: 1\n"
    for path in (link, repository / ".." / "secret.yaml", Path("/etc/hostname")):
        with pytest.raises(OutsideRoot, match="leads out of the repository"):
            read_inside_root(str(repository), str(path))


def test_only_regular_files_are_read(repository: Path) -> None:
    fifo = repository / "jobs" / "fifo.yaml"
    os.mkfifo(fifo)
    with pytest.raises(OutsideRoot, match="not a regular file"):
        read_inside_root(str(repository), str(fifo))
    with pytest.raises(OutsideRoot):
        read_inside_root("/dev", "/dev/null")


def test_a_file_that_is_too_large(repository: Path) -> None:
    big = repository / "big.yaml"
    with big.open("wb") as stream:
        stream.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(LimitExceeded, match=r"big.yaml has 8,388,609 bytes"):
        read_inside_root(str(repository), str(big))


def test_a_file_that_was_found_is_read_as_any_other(repository: Path, tmp_path: Path) -> None:
    """The short way gives what the long one gives, and refuses what it refuses."""
    (tmp_path / "outside.yaml").write_text("a: 1\n")
    jobs = repository / "jobs"
    (jobs / "in.yaml").symlink_to("b.yaml")
    (jobs / "out.yaml").symlink_to(tmp_path / "outside.yaml")
    (jobs / "nowhere.yaml").symlink_to("nothing")
    (jobs / "empty.yaml").touch()
    (jobs / "folder.yaml").mkdir()
    os.mkfifo(jobs / "pipe.yaml")
    with open(jobs / "large.yaml", "wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)

    def answer(read: Callable[[str, str], bytes], name: str) -> bytes | tuple[type[Exception], str]:
        try:
            return read(str(repository), str(jobs / name))
        except (OSError, OutsideRoot, LimitExceeded) as error:
            return type(error), str(getattr(error, "strerror", error))

    names = [path.name for path in jobs.iterdir()] + ["gone.yaml"]
    answers = {name: answer(read_found_file, name) for name in names}
    assert answers == {name: answer(read_inside_root, name) for name in names}
    assert answers["b.yaml"] == answers["in.yaml"] == b"a: 1\n"
    assert answers["empty.yaml"] == b""
    assert sum(isinstance(given, tuple) for given in answers.values()) == 7


def test_what_can_be_no_path() -> None:
    assert explain_invalid_path("../bases/größe 1.yaml") == ""
    assert explain_invalid_path(os.fsdecode(b"\xff.yaml")) == ""  # a file may be called so
    assert explain_invalid_path("a\0b") == r"a path has no null character (\u0000)"
    assert explain_invalid_path("a\ud800b") == r"no path here has the character \ud800"


def test_references_are_relative_to_the_file() -> None:
    assert resolve_reference("jobs/a.yaml", "../bases/b.yaml") == "bases/b.yaml"
    assert resolve_reference("a.yaml", "b.yaml") == "b.yaml"


def test_a_file_that_is_too_large_is_searched_for_words(repository: Path) -> None:
    path = repository / "jobs" / "big.yaml"
    word = b"podplan/v"
    path.write_bytes(b"a" * (MAX_FILE_BYTES - 3) + word + b"a" * MAX_FILE_BYTES)
    assert file_contains_any(str(repository), str(path), [b"nothing", word]), (
        "across the border of two pieces"
    )
    assert not file_contains_any(str(repository), str(path), [b"nothing"])
    with path.open("ab") as stream:
        stream.truncate(MAX_SEARCH_BYTES + 1)
    assert file_contains_any(str(repository), str(path), [b"nothing"])


def test_a_file_that_is_taken_away_while_it_is_searched(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is too big is opened once more, to see whether it is ours; an editor may be saving it."""
    path, elsewhere = repository / "jobs" / "a.yml", tmp_path / "elsewhere"
    elsewhere.write_text("a: 1\n")

    def taken_away(*searched: Any) -> bool:
        path.unlink()
        return file_contains_any(*searched)

    def led_elsewhere(*searched: Any) -> bool:
        path.unlink()
        path.symlink_to(elsewhere)
        return file_contains_any(*searched)

    with path.open("ab") as stream:
        stream.truncate(MAX_FILE_BYTES + 1)
    big = path.read_bytes()
    monkeypatch.setattr(file_loader, "file_contains_any", taken_away)
    with pytest.raises(UsageError, match="no such file or directory"):
        file_loader.load_file(str(path))
    path.write_bytes(big)
    monkeypatch.setattr(file_loader, "file_contains_any", led_elsewhere)
    assert file_loader.load_file(str(path)) == file_loader.SkippedFile(
        str(path), "leads out of the repository"
    )


LINKS = {".#lock.yaml": "me@host.1234:99", "loop.yaml": "loop.yaml", "folder.yaml": ".hidden"}


def test_links_to_no_file_are_skipped_in_folders(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emacs locks a file that is edited by a link to nothing."""
    for name, target in LINKS.items():
        (repository / "jobs" / name).symlink_to(target)
    monkeypatch.chdir(repository)
    reasons = {
        one.file: one.reason
        for one in file_loader.load_files(expand_paths(["jobs"]))
        if isinstance(one, file_loader.SkippedFile)
    }
    assert reasons == {
        "jobs/.#lock.yaml": "link to a missing file",
        "jobs/loop.yaml": "link in a loop",
        "jobs/folder.yaml": "link to a folder",
    }
    for name, message in {".#lock.yaml": "no such file", "loop.yaml": "too many levels"}.items():
        with pytest.raises(UsageError, match=f"jobs/{name}: {message}"):
            list(expand_paths([f"jobs/{name}"]))


@pytest.mark.parametrize("command", ["check", "plan", "diff", "lower", "render", "fmt", "migrate"])
def test_links_to_no_file_stop_no_command(command: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "profile.yaml").write_text(PROFILE)
    for name in ("jobs", ".hidden"):
        (tmp_path / name).mkdir()
    for name, target in LINKS.items():
        (tmp_path / "jobs" / name).symlink_to(target)
    git = git_in(tmp_path)
    git("init", "-q")
    commit(git, "jobs")
    (tmp_path / "job.yaml").write_text(JOB.replace("replicas: 3", "replicas: 4"))
    run = podplan(command, ".", cwd=tmp_path)
    assert run.code == 0, run.err


def test_a_lock_of_emacs_is_no_policy(tmp_path: Path) -> None:
    (tmp_path / "podplan.toml").write_text('policies = ["policies"]\n')
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / ".#ORG001.yaml").symlink_to("me@host.1234:99")
    run = podplan("check", ".", cwd=tmp_path)
    assert run.err == 'podplan: podplan.toml:1: policies: there is no policy in "policies"\n'


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A folder with a YAML file in more folders within one another than Python has calls."""
    (tmp_path / ".git").mkdir()
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("a", dir_fd=here)
        here, above = os.open("a", os.O_RDONLY, dir_fd=here), here
        os.close(above)
    with open(os.open("x.yaml", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w", encoding="utf-8") as file:
        file.write("a: 1\n")
    os.close(here)
    yield tmp_path
    subprocess.run(["rm", "-r", str(tmp_path / "a")], check=True)  # pytest would do it by recursion


def test_a_file_in_a_thousand_folders_is_found_and_read(deep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(deep)
    (file,) = expand_paths(["."])
    assert file.count("/") == DEEP
    assert read_inside_root(find_root(file), file) == b"a: 1\n"


def test_the_way_to_a_file_is_looked_at_once(deep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    lstat = os.lstat
    monkeypatch.chdir(deep)
    (file,) = expand_paths(["."])

    def counted(path: str, **more: Any) -> os.stat_result:
        looked.append(path)
        return lstat(path, **more)

    monkeypatch.setattr(os, "lstat", counted)
    require_inside_repository(file)
    assert len(looked) <= 3 * DEEP
