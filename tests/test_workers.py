"""Files shared among processes: what is said is the same, whatever becomes of the processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from podplan.checker import check, pool, run_state, worker_result
from podplan.checker.check import CheckResult
from podplan.checker.workers import count_usable_processors, run_in_workers
from podplan.cli import check_run as command
from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.workspace.dependencies import DependencyRecord, record_dependencies
from podplan.workspace.loader import Loader
from podplan.yaml.writer import emit_documents
from tests.command import podplan
from tests.test_together import CLUSTER, FILES
from tests.thoroughness import mark_long

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")

BASE = """\
apiVersion: podplan/v1
kind: JobProfileBase
metadata: {name: common}
spec:
  image: registry.example.com/train  # podplan: ignore[IMG] -- it is moved on purpose
  env: {PASSWORD: swordfish}
"""
DERIVED = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: derived, namespace: vision}
spec:
  extends: [../bases/common.yaml]
  job: PyTorchTrainingJob
  run: [train.py]
  replicas: 2
  data: [{name: data, pvc: data, mount: /data}]
"""
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {key: swordfish, key: other}\n"
TEXTS = {
    "derived.yaml": DERIVED,
    "broken.yaml": "apiVersion: podplan/v1\nkind: JobProfile\n  metadata: [\n",
    "not-ours.yaml": "{{ if .Values.a }}\n",
    "secret.yaml": SECRET,
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of files that have something to do with one another, and few enough for each process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pool, "MIN_FILES_FOR_WORKERS", 2)
    monkeypatch.setattr(pool, "FILES_BEFORE_FORK", 1)
    monkeypatch.setattr(pool, "FILES_PER_TASK", 2)
    for folder in (".git", "bases", "jobs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bases" / "common.yaml").write_text(BASE)
    (tmp_path / "inventory.yaml").write_text(emit_documents([CLUSTER.data]))
    for name, docs in FILES.items():
        (tmp_path / "jobs" / name).write_text(emit_documents(docs))
    for name, text in TEXTS.items():
        (tmp_path / "jobs" / name).write_text(text)
    return tmp_path


def checked(workers: int, path: str = "jobs") -> tuple[CheckResult, DependencyRecord]:
    with record_dependencies() as trace:
        asked = command.resolve_check_settings([path])
        return check.check_files([path], asked.settings, Loader(), workers=workers), trace


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("workers", mark_long([2, 3, 20], short=[2]))
def test_workers_say_what_one_process_says(workers: int) -> None:
    alone, trace = checked(1)
    shared, other = checked(workers)
    assert shared == alone
    assert sorted(other.files) == sorted(trace.files) != []
    assert alone.summary.suppressed
    assert {found.location.file for found in alone.findings} >= {"bases/common.yaml", "jobs/a.yaml"}
    assert {"NAME002", "SCHED012", "YAML001"} <= {found.rule for found in alone.findings}
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [1, 3])
def test_an_inventory_is_called_as_seen_from_the_first_file(workers: int, tree: Path) -> None:
    """Files that are named in several ways are checked by several workers."""
    (tree / "more").mkdir()
    for number in range(8):
        (tree / "jobs" / f"0{number}.yaml").write_text("kind: ConfigMap\n")
        (tree / "more" / f"{number}.yaml").write_text(emit_documents(FILES["a.yaml"]))
    asked = command.resolve_check_settings(["jobs"])
    paths = ["jobs/00.yaml", *(str(path) for path in (tree / "more", tree / "jobs"))]
    assert check.check_files(paths, asked.settings, Loader(), workers=workers).inventories == {
        "inventory.yaml"
    }


@pytest.mark.usefixtures("tree")
def test_what_a_worker_does_not_bring_back_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, _ = checked(1)
    main = os.getpid()
    part_of = worker_result.check_share

    def killed(
        whole: run_state.CheckRun, one: Callable[[str, run_state.CheckRun], None], files: Sequence[str]
    ) -> worker_result.WorkerResult:
        if "jobs/last.yaml" in files:
            os.kill(os.getpid(), signal.SIGKILL)
        return part_of(whole, one, files)

    monkeypatch.setattr(worker_result, "check_share", killed)
    shared, _ = checked(2)
    assert shared == alone
    assert os.getpid() == main


@pytest.mark.usefixtures("tree")
def test_more_objects_than_there_may_be_are_given_up_where_one_process_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (run_state, worker_result):
        monkeypatch.setattr(module, "MAX_OBJECTS", 11)
    alone, _ = checked(1)
    assert alone.limit_hits
    assert checked(2)[0] == alone


def test_a_link_to_a_missing_file_is_counted_as_by_one_process(tree: Path) -> None:
    (tree / "jobs" / "nowhere.yaml").symlink_to("nothing.yaml")
    alone, _ = checked(1)
    assert "link to a missing file" in str(alone)
    assert checked(3)[0] == alone
    assert not multiprocessing.active_children()


def test_files_that_are_too_big_are_told_as_by_one_process(tree: Path) -> None:
    for name in ("a", "last"):
        path = tree / "jobs" / f"{name}.yaml"
        path.write_text(path.read_text() + "a: &a [1]\nb: [" + "*a, " * 1001 + "]\n")
    alone, _ = checked(1)
    assert alone.limit_hits[0].message.count("(and 1 more such file)") == 1
    assert checked(3)[0] == alone


def test_a_file_that_changes_meanwhile_is_refused(tree: Path) -> None:
    changed = tree / "jobs" / "a.yaml"

    def watch(files: Iterable[str], _: int) -> Iterator[str]:
        yield from files
        changed.write_text(changed.read_text() + "# changed\n")

    asked = command.resolve_check_settings(["jobs"])
    with pytest.raises(UsageError, match=r"jobs/a.yaml was changed while it was checked"):
        check.check_files(["jobs"], asked.settings, Loader(), watch=watch)


def test_a_base_that_changes_meanwhile_is_refused_before_its_secrets_are_shown(tree: Path) -> None:
    base = tree / "bases" / "common.yaml"

    def watch(files: Iterable[str], _: int) -> Iterator[str]:
        yield from files
        base.write_text(BASE.replace("spec:", "spec:\n  # a line more"))

    asked = command.resolve_check_settings(["jobs"])
    with pytest.raises(UsageError, match=r"bases/common.yaml was changed while it was checked"):
        check.check_files(["jobs"], asked.settings, Loader(), watch=watch, workers=2)


def test_workers_that_read_different_texts_of_a_base_are_not_believed(tree: Path) -> None:
    path = str(tree / "bases" / "common.yaml")
    one, other = Loader(), Loader()
    one.load_source(str(tree), path)
    (tree / "bases" / "common.yaml").write_text(BASE + "  workingDir: /app\n")
    other.load_source(str(tree), path)
    run_of_both = Loader()
    run_of_both.merge_references(one.take_references())
    with pytest.raises(UsageError, match="was changed while it was checked"):
        run_of_both.merge_references(other.take_references())


def test_what_is_made_comes_in_the_order_of_the_tasks() -> None:
    tasks = list(range(50))
    assert list(run_in_workers(tasks, lambda task: task * "x", 3)) == [task * "x" for task in tasks]
    assert not multiprocessing.active_children()


def test_more_than_a_pipe_holds_comes_whole() -> None:
    big = list(run_in_workers([3_000_000, 5_000_000, 10], lambda task: b"x" * task, 2))
    assert [one and len(one) for one in big] == [3_000_000, 5_000_000, 10]


def test_a_worker_that_fails_brings_nothing_more_and_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def work(task: int) -> int:
        if task == 2:
            raise LimitExceeded("too much")
        return task

    assert list(run_in_workers(range(6), work, 2)) == [0, 1, None, 3, None, 5]
    assert capfd.readouterr() == ("", "")


def test_where_no_worker_can_be_had_nothing_is_brought_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(24, "too many open files")

    monkeypatch.setattr(os, "fork", refused)
    assert list(run_in_workers(range(5), lambda task: task, 2)) == [None] * 5
    monkeypatch.setattr(os, "pipe", refused)
    assert list(run_in_workers(range(5), lambda task: task, 2)) == [None] * 5


def test_workers_end_once_nobody_wants_more_of_them() -> None:
    with closing(run_in_workers(range(100), lambda task: b"x" * (4_000_000 + task), 2)) as made:
        next(made)
    assert not multiprocessing.active_children()


def test_no_worker_is_forked_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    forks: list[None] = []
    fork = os.fork

    def counted() -> int:
        forks.append(None)
        return fork()

    monkeypatch.setattr(os, "fork", counted)
    assert list(run_in_workers([1, 2], lambda task: task, 2000)) == [1, 2]
    assert len(forks) == 2


def test_there_are_as_many_workers_as_processors_and_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(3)))
    assert count_usable_processors() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert count_usable_processors() == 8
    monkeypatch.setattr(sys, "platform", "darwin")
    assert count_usable_processors() == 1


@pytest.mark.long
def test_the_command_says_the_same_with_any_number_of_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MIN_FILES_FOR_WORKERS", 40)
    (tmp_path / ".git").mkdir()
    for number in range(pool.MIN_FILES_FOR_WORKERS + 10):
        name = f"job-{number % pool.MIN_FILES_FOR_WORKERS}"
        text = emit_documents([{**FILES["a.yaml"][0], "metadata": {"name": name, "namespace": "vision"}}])
        (tmp_path / f"{number}.yaml").write_text(text)
    said = {podplan("check", "--no-cache", "-j", jobs, ".", cwd=tmp_path) for jobs in ("1", "2", "5", "0")}
    [one] = said
    assert one.code == 1
    assert "NAME002" in one.out
    refused = podplan("check", "-j", "-1", ".", cwd=tmp_path)
    assert refused.code == 2
