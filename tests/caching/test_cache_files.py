"""A change to any file that a run reads, or could have read, is seen: jobs, bases, folders, links."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podplan.cli import check_run
from podplan.workspace.dependencies import MIN_FILES_FOR_CACHE
from tests.caching.runs import Run
from tests.command import BAD_JOB, INVENTORY, JOB
from tests.test_organisation import OWN


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
    named = (*(f"jobs/job{number}.yaml" for number in range(MIN_FILES_FOR_CACHE - 1)), "jobs/link.yaml")
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
    request = check_run.resolve_check_settings

    def late(*arguments: Any, **flags: Any) -> Any:
        (tree / "podplan.toml").unlink()
        return request(*arguments, **flags)

    with monkeypatch.context() as patch:
        patch.setattr(check_run, "resolve_check_settings", late)
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
    (tree / "own" / "ORG001.yaml").write_text(OWN)
    (tree / "podplan.toml").write_text('policies = ["own"]\n')
    assert check().code == 1
    assert not check().checked
    (tree / "own" / "ORG001.yaml").write_text(OWN.replace("severity: error", "severity: info"))
    assert check().code == 0
    (tree / "own" / "ORG002.yaml").write_text(OWN.replace("ORG001", "ORG002").replace("team-", "a-"))
    assert check().code == 1
