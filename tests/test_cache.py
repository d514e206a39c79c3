"""The cache: a run says what it would say without one, and nothing is believed that is not an entry."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podplan.cli import cache, checking
from podplan.cli.checking import FEWEST_FILES, NO_FLAGS, check_and_report
from podplan.cli.reporting import FORMATS, reports
from tests.command import BAD_JOB, INVENTORY, JOB, PROFILE, podplan

FIXTURES = Path(__file__).parent.parent / "fixtures"
Run = Callable[..., "Said"]
POLICY = """\
id: ORG001
name: team-label
severity: error
basis: documented
summary: Every job says which team it belongs to.
why: Costs are charged to teams; a job without a team is charged to everybody.
scope: {level: cr}
schema: {properties: {metadata: {required: [labels]}}}
message: the job has no labels
examples:
- {name: none, verdict: bad, object: {apiVersion: v1, kind: Pod}}
"""


class Said:
    """What a run printed, its exit code, and whether it checked anything or looked it up."""

    def __init__(self, code: int, out: bytes, checked: bool) -> None:
        self.code, self.out, self.checked = code, out, checked


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with enough files, where one stands."""
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    (top / "jobs").mkdir()
    for number in range(FEWEST_FILES):
        (top / "jobs" / f"job{number}.yaml").write_text(JOB.replace("name: count", f"name: count-{number}"))
    (top / "base.yaml").write_text(PROFILE.replace("JobProfile", "JobProfileBase"))
    (top / "jobs" / "profile.yaml").write_text(
        "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: short}\nspec: {extends: [../base.yaml]}\n"
    )
    monkeypatch.chdir(top)
    monkeypatch.delenv(cache.OFF)
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
    return top


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Checks in this process."""
    calls: list[Any] = []
    run = checking.run

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return run(*arguments)

    def check(*paths: str, format_: str = "json", cached: str | None = "", **flags: Any) -> Said:
        calls.clear()
        into = reports(format_, (), False, "never")
        code = check_and_report(paths or ("jobs",), {**NO_FLAGS, **flags}, into, cached)
        return Said(code, capfdbinary.readouterr().out, bool(calls))

    monkeypatch.setattr(checking, "run", counted)
    return check


def entries(tree: Path) -> list[Path]:
    return sorted((tree.parent / "cache").glob("*"))


def test_a_second_run_looks_up_what_the_first_one_said(tree: Path, check: Run) -> None:
    (tree / "jobs" / "job1.yaml").write_text(BAD_JOB)
    first, second = check(), check()
    assert (first.checked, second.checked) == (True, False)
    assert (first.code, first.out) == (second.code, second.out)
    assert first.code == 1
    assert check(cached=None).out == first.out
    assert len(entries(tree)) == 1


def overwrite(tree: Path) -> None:
    (tree / "jobs" / "job3.yaml").write_text(BAD_JOB)


def add(tree: Path) -> None:
    (tree / "jobs" / "more.yaml").write_text(BAD_JOB)


def remove(tree: Path) -> None:
    (tree / "jobs" / "job3.yaml").unlink()


def touch_base(tree: Path) -> None:
    (tree / "base.yaml").write_text((tree / "base.yaml").read_text().replace("replicas: 2", "replicas: 3"))


def lose_base(tree: Path) -> None:
    (tree / "base.yaml").unlink()


def add_inventory(tree: Path) -> None:
    (tree / "clusters").mkdir()
    (tree / "clusters" / "inventory.yaml").write_text(INVENTORY)


def add_configuration(tree: Path) -> None:
    (tree / "podplan.toml").write_text('preset = "strict"\n')


def add_pyproject(tree: Path) -> None:
    (tree / "jobs" / "pyproject.toml").write_text('[tool.podplan]\npreset = "strict"\n')


def lose_repository(tree: Path) -> None:
    (tree / ".git").rmdir()


def split_repository(tree: Path) -> None:
    (tree / "jobs" / ".git").mkdir()


def add_folder(tree: Path) -> None:
    (tree / "jobs" / "more").mkdir()
    (tree / "jobs" / "more" / "job.yaml").write_text(BAD_JOB)


def make_golden(tree: Path) -> None:
    (tree / "jobs" / "job3.yaml").rename(tree / "jobs" / "job2.golden.yaml")


@pytest.mark.parametrize(
    "change",
    [
        *(overwrite, add, remove, touch_base, lose_base, add_inventory, add_configuration, add_pyproject),
        *(lose_repository, split_repository, add_folder, make_golden),
    ],
)
def test_a_change_is_seen(tree: Path, check: Run, change: Callable[[Path], None]) -> None:
    check()
    change(tree)
    changed = check()
    assert changed.checked
    assert changed.out == check(cached=None).out


def test_a_link_that_points_elsewhere_is_seen(tree: Path, check: Run) -> None:
    (tree / "good.txt").write_text(JOB)
    (tree / "bad.txt").write_text(BAD_JOB)
    link = tree / "jobs" / "link.yaml"
    link.symlink_to("../good.txt")
    check()
    link.unlink()
    link.symlink_to("../bad.txt")
    assert check().code == 1
    named = (*(f"jobs/job{number}.yaml" for number in range(FEWEST_FILES - 1)), "jobs/link.yaml")
    assert (check(*named).code, check(*named).checked) == (1, False)
    link.unlink()
    link.symlink_to("../good.txt")
    assert check(*named).code == 0


STRICT = 'preset = "strict"\nfail-on = "info"\n'
IGNORING = STRICT + '[[paths]]\nmatch = ["jobs/**"]\nignore = ["ALL"]\n'


def relink(link: Path, target: str) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def test_a_configuration_that_is_a_link_to_another_one_is_another(tree: Path, check: Run) -> None:
    """The inventory is named: else the whole repository is listed, and every link in it is seen."""
    flags = {"inventory": str(tree.parent / "inventory.yaml"), "config": "link.toml"}
    (tree.parent / "inventory.yaml").write_text(INVENTORY)
    (tree / "a.toml").write_text('fail-on = "error"\n')
    (tree / "b.toml").write_text(STRICT)
    relink(tree / "link.toml", "a.toml")
    assert check(**flags).code == 0
    relink(tree / "link.toml", "b.toml")
    assert check(**flags).code == 1


def test_patterns_for_paths_go_by_where_a_linked_configuration_lies(tree: Path, check: Run) -> None:
    flags = {"inventory": str(tree.parent / "inventory.yaml")}
    (tree.parent / "inventory.yaml").write_text(INVENTORY)
    (tree / "other").mkdir()
    for name in ("a.toml", "other/a.toml"):
        (tree / name).write_text(IGNORING)
    relink(tree / "podplan.toml", "a.toml")
    assert check(**flags).code == 0
    relink(tree / "podplan.toml", "other/a.toml")
    assert check(**flags).out == check(cached=None, **flags).out


def test_another_reason_why_a_base_is_not_read_is_another_answer(tree: Path, check: Run) -> None:
    flags = {"inventory": str(tree.parent / "inventory.yaml")}
    (tree.parent / "inventory.yaml").write_text(INVENTORY)
    (tree / "base.yaml").unlink()
    os.mkfifo(tree / "base.yaml")
    assert b"not a regular file" in check(**flags).out
    relink(tree / "base.yaml", "/etc/hostname")
    assert b"leads out of the repository" in check(**flags).out


def test_what_goes_while_a_run_begins_is_not_taken_for_there(
    tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request was one with a configuration, and the run one without."""
    flags = {"inventory": str(tree.parent / "inventory.yaml")}
    (tree.parent / "inventory.yaml").write_text(INVENTORY)
    (tree / "podplan.toml").write_text(STRICT)
    request = checking.checking

    def late(*arguments: Any, **flags: Any) -> Any:
        (tree / "podplan.toml").unlink()
        return request(*arguments, **flags)

    with monkeypatch.context() as patch:
        patch.setattr(checking, "checking", late)
        assert check(**flags).code == 0
    (tree / "podplan.toml").write_text(STRICT)
    assert check(**flags).code == 1


def test_configuration_that_changes_is_seen(tree: Path, check: Run) -> None:
    add_configuration(tree)
    check()
    (tree / "podplan.toml").write_text('preset = "audit"\n')
    assert check().checked
    assert not check().checked
    (tree / ".podplan.toml").write_text('preset = "audit"\n')
    assert check().checked


def test_policies_of_the_repository_are_part_of_the_answer(tree: Path, check: Run) -> None:
    (tree / "own").mkdir()
    (tree / "own" / "ORG001.yaml").write_text(POLICY)
    (tree / "podplan.toml").write_text('policies = ["own"]\n')
    assert check().code == 1
    assert not check().checked
    (tree / "own" / "ORG001.yaml").write_text(POLICY.replace("severity: error", "severity: info"))
    assert check().code == 0
    (tree / "own" / "ORG002.yaml").write_text(POLICY.replace("ORG001", "ORG002").replace("team-", "a-"))
    assert check().code == 1


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    "flags", [{"k8s_version": "1.30"}, {"select": ("SEC",)}, {"format_": "sarif"}, {"fail_on": "info"}]
)
def test_another_request_is_another_run(check: Run, flags: dict[str, Any]) -> None:
    check()
    asked = check(**flags)
    assert asked.checked
    assert (asked.code, asked.out) == ((again := check(**flags)).code, again.out)
    assert not again.checked


def test_another_folder_version_day_or_limit_is_another_run(
    tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    with monkeypatch.context() as patch:
        patch.setattr(cache, "__version__", "9.9.9")
        assert check().checked
    with monkeypatch.context() as patch:
        patch.setattr("time.gmtime", lambda: (2031, 1, 2, 3, 4, 5, 0, 2, 0))
        assert check().checked
    with monkeypatch.context() as patch:
        patch.setenv("PODPLAN_LIMITS", "documents=9999")
        assert check().checked
    with monkeypatch.context() as patch:
        patch.chdir(tree / "jobs")
        assert check(".").checked
    assert not check().checked


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("name", "value"), [("version", "3.99.0"), ("getfilesystemencoding", lambda: "iso8859-1")]
)
def test_another_python_or_encoding_of_names_is_another_run(
    check: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: Any
) -> None:
    check()
    monkeypatch.setattr(cache.sys, name, value)  # type: ignore[attr-defined]
    assert check().checked


@pytest.mark.usefixtures("tree")
def test_an_extra_that_is_installed_is_another_run(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """cel_expr_python is a package without a file of its own."""
    check()
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name.startswith("cel") else find(name)
    )
    assert check().checked


@pytest.mark.usefixtures("tree")
def test_other_code_is_another_run(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    files = cache._files
    monkeypatch.setattr(cache, "_files", lambda top: ([*one[:2], one[2] + 1] for one in files(top)))
    assert check().checked


def damage_end(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def damage_text(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"code": 0', b'"code": 1'))


def empty(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def open_to_others(path: Path, _: Path) -> None:
    path.chmod(0o666)


def link_elsewhere(path: Path, other: Path) -> None:
    path.rename(other)
    path.symlink_to(other)


def pipe(path: Path, _: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def wrong_shape(path: Path, _: Path) -> None:
    for body in (b"[]", b'{"code": true, "texts": ["x"], "trace": {}}', b"[" * 100_000):
        path.write_bytes(cache._checksum(path.stem, body).encode() + b"\n" + body)


def of_another_request(path: Path, _: Path) -> None:
    body = path.read_bytes().partition(b"\n")[2]
    path.write_bytes(cache._checksum("0" * 40, body).encode() + b"\n" + body)


@pytest.mark.parametrize(
    "damage",
    [damage_end, damage_text, empty, open_to_others, link_elsewhere, pipe, wrong_shape, of_another_request],
)
def test_what_is_no_entry_is_not_believed(
    tree: Path, check: Run, damage: Callable[[Path, Path], None]
) -> None:
    first = check()
    damage(entries(tree)[0], tree.parent / "other")
    second = check()
    assert second.checked
    assert (second.code, second.out) == (first.code, first.out)
    assert not check().checked


def test_no_secret_is_kept(tree: Path, check: Run) -> None:
    secret = "hunter2-hunter2"
    (tree / "jobs" / "secret.yaml").write_text(
        f"apiVersion: v1\nkind: Secret\nmetadata: {{nmae: x}}\nstringData: {{password: {secret}}}\n---\n"
        + JOB.replace("args: [", f"env: [{{name: DB_PASSWORD, value: {secret}}}]\n          args: [")
    )
    for format_ in FORMATS:
        check(format_=format_)
    kept = b"".join(path.read_bytes() for path in entries(tree))
    assert b"DB_PASSWORD" in kept
    assert secret.encode() not in kept


def refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["os.replace", "os.makedirs", "tempfile.mkstemp", "json.dumps"])
def test_what_cannot_be_kept_fails_no_run(
    tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    first = check(cached=None)
    with monkeypatch.context() as patch:
        patch.setattr(step, refuse)
        if step == "json.dumps":
            patch.setattr(cache, "key", lambda *_: "0" * 40)
        second = check(format_="json" if step != "json.dumps" else "concise")
    assert second.checked
    assert second.code == first.code
    assert entries(tree) == []


def test_a_folder_that_is_none_fails_no_run(tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree.parent / "file").write_text("")
    monkeypatch.setenv(cache.FOLDER, str(tree.parent / "file"))
    assert check().out == check(cached=None).out


def test_the_oldest_make_place(tree: Path) -> None:
    folder = tree.parent / "cache"
    folder.mkdir()
    for number in range(10):
        path = folder / f"{number}{cache.SUFFIX}"
        path.write_bytes(b"x" * 10)
        os.utime(path, (number, number))
    (folder / "of somebody else").write_text("x" * 100)
    assert cache.evict(str(folder), 8, 10**6) == 2
    assert cache.evict(str(folder), 8, 55) == 3
    assert [path.name for path in entries(tree)] == [
        *(f"{number}{cache.SUFFIX}" for number in range(5, 10)),
        "of somebody else",
    ]


def test_many_runs_leave_few_entries(tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_ENTRIES", 2)
    for version in ("1.30", "1.31", "1.32", "1.33"):
        check(k8s_version=version)
    assert len(entries(tree)) == 2
    assert not check(k8s_version="1.33").checked


def test_where_the_cache_is(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tree.parent / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tree.parent / "xdg"))
    assert cache.folder(str(tree.parent / "flag"), ["jobs"]) == str(tree.parent / "flag")
    assert cache.folder("", ["jobs"]) == str(tree.parent / "cache")
    monkeypatch.delenv(cache.FOLDER)
    assert cache.folder("", ["jobs"]) == str(tree.parent / "xdg" / "podplan")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache.folder("", ["jobs"]) == str(home / ".cache" / "podplan")
    monkeypatch.setenv(cache.OFF, "1")
    assert cache.folder("", ["jobs"]) == ""


def test_nothing_in_the_repository_is_believed(tree: Path, check: Run) -> None:
    for folder in (tree, tree / ".cache", tree / "jobs" / ".." / ".cache"):
        assert cache.folder(str(folder), ["jobs"]) == ""
    (tree.parent / "link").symlink_to(tree / ".cache")
    assert cache.folder(str(tree.parent / "link"), ["jobs"]) == ""
    assert check(cached=str(tree / ".cache")).checked
    assert not (tree / ".cache").exists()


def test_nothing_in_an_archive_is_believed(
    tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody knows where it begins: beside what is checked, and below where one stands, may be of it."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    (tree / ".git").rmdir()
    for folder in (tree / "cache", tree / "jobs" / "cache", tree / "jobs" / ".." / ".cache" / "podplan"):
        assert cache.folder(str(folder), ["jobs"]) == ""
    assert cache.folder(str(tmp_path / "cache"), ["jobs"]) == str(tmp_path / "cache")
    assert check(cached=str(tree / "cache")).checked
    assert not (tree / "cache").exists()
    monkeypatch.delenv(cache.FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tree))
    assert cache.folder("", ["jobs"]) == ""
    monkeypatch.chdir("/")
    assert cache.folder(str(tree / "cache"), [str(tree / "jobs")]) == ""
    assert cache.folder(str(tmp_path / "cache"), [str(tree / "jobs")]) == str(tmp_path / "cache")


def test_a_home_is_no_archive(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who can write there has other ways than a cache."""
    (tree / ".git").rmdir()
    monkeypatch.setenv("HOME", str(tree))
    monkeypatch.delenv(cache.FOLDER)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.folder("", ["jobs"]) == str(tree / ".cache" / "podplan")


def test_configuration_does_not_say_where(tree: Path) -> None:
    (tree / "podplan.toml").write_text('cache-dir = "/tmp/elsewhere"\n')
    said = podplan("check", "jobs", cwd=tree)
    assert said.code == 2
    assert "cache-dir" in said.err


@pytest.mark.parametrize(
    "arguments",
    [["--no-cache"], ["--fix"], ["--diff"], ["--show-settings"], ["--stdin-filename", "a.yaml", "-"]],
)
def test_some_runs_keep_nothing(tree: Path, arguments: list[str]) -> None:
    podplan("check", *arguments, *([] if "-" in arguments else ["jobs"]), cwd=tree, stdin=JOB.encode())
    assert entries(tree) == []


def test_few_files_are_not_worth_it(tree: Path, check: Run) -> None:
    check("jobs/job0.yaml")
    shutil.rmtree(tree / "jobs")
    check(".")
    assert entries(tree) == []


def test_a_run_that_reached_a_limit_is_not_kept(tree: Path, check: Run) -> None:
    (tree / "jobs" / "big.yaml").write_text(JOB + "#" * (8 * 1024 * 1024))
    with pytest.raises(Exception, match="at most"):
        check()
    assert entries(tree) == []


def test_two_runs_at_once(tree: Path) -> None:
    """Each says what it says alone, and one entry is left, and it is whole."""
    command = [sys.executable, "-m", "podplan", "check", "jobs", "--format", "json"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    said = {run.communicate()[0] for run in runs}
    assert len(said) == 1
    assert len(entries(tree)) == 1
    assert subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout in said


def test_what_a_killed_run_left_is_no_entry_and_goes(
    tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tree.parent / "cache"
    folder.mkdir()
    left = folder / f"tmphalf{cache.SUFFIX}"
    left.write_bytes(b"half")
    os.utime(left, (1, 1))
    monkeypatch.setattr(cache, "MAX_ENTRIES", 1)
    assert check().checked
    assert not left.exists()
    assert not check().checked


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_says_the_same(tree: Path, check: Run, format_: str) -> None:
    for name in ("cr_schema", "environments"):
        shutil.copytree(FIXTURES / "findings" / name, tree / "jobs" / name)
    without = check(format_=format_, cached=None)
    first, second = check(format_=format_), check(format_=format_)
    assert not second.checked
    assert (without.code, without.out) == (first.code, first.out) == (second.code, second.out)


@pytest.mark.parametrize(
    "name", sorted(path.name for path in (FIXTURES / "findings").iterdir() if path.is_dir())
)
def test_all_mistakes_are_found_again(tree: Path, check: Run, name: str) -> None:
    shutil.copytree(FIXTURES / "findings" / name, tree / "jobs", dirs_exist_ok=True)
    inventories = sorted(tree.glob("jobs/*/clusters/*.yaml"))
    flags = {"inventory": str(inventories[0])} if inventories else {}
    without, first, second = check(cached=None, **flags), check(**flags), check(**flags)
    assert (without.code, without.out) == (first.code, first.out) == (second.code, second.out)
    assert json.loads(second.out)["format"] == 1
