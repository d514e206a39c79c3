"""Folders and files that the user may not read: they are skipped and counted, and end no command."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podplan.core.provenance import TracedDocument
from podplan.workspace.loader import Loader
from tests.command import INVENTORY, JOB, PODPLAN, PROFILE, Run
from tests.editor import Editor
from tests.thoroughness import mark_others

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
SAID = "1 folder could not be read (locked)"
SAID_OF_ALL = "1 folder and 2 files could not be read (locked, closed/a.yaml, denied.yaml)"


def give_up_rights() -> None:
    """Root may read anything, but not without these capabilities (prctl(2), PR_CAPBSET_DROP)."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(24, capability)


def podplan(tree: Path, *arguments: str) -> Run:
    done = subprocess.run(
        [sys.executable, *PODPLAN[1:], *arguments],
        cwd=tree,
        capture_output=True,
        preexec_fn=give_up_rights,
        timeout=60,
        check=False,
    )
    run = Run(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "internal error" not in run.err, run.err
    return run


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    """A profile and a job beside a folder that cannot be listed, one that cannot be entered, and a file."""
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "job.yaml").write_text(JOB)
    modes = {"locked": 0o000, "closed": 0o444, "denied.yaml": 0o000}
    for name in ("locked", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.yaml").write_text(PROFILE.replace("resnet", name))
        (tmp_path / name / "link.txt").symlink_to("a.yaml")
    (tmp_path / "denied.yaml").write_text(PROFILE.replace("resnet", "denied"))
    for name, mode in modes.items():
        (tmp_path / name).chmod(mode)
    yield tmp_path
    for name in modes:
        (tmp_path / name).chmod(0o755)


ONE_FILE = [
    ("check", "job.yaml"),
    ("check", "--isolated", "profile.yaml"),
    ("render", "profile.yaml"),
    ("lower", "job.yaml"),
    ("why", "job.yaml", "metadata.name"),
    ("graph", "job.yaml"),
    ("fmt", "profile.yaml"),
    ("migrate", "job.yaml"),
    ("import", "job.yaml"),
    ("status", "job.yaml"),
    ("test", "profile.yaml"),
    ("baseline", "create", "job.yaml"),
]


@pytest.mark.parametrize("command", mark_others(ONE_FILE, every=3), ids=" ".join)
def test_one_file_beside_an_unreadable_folder(tree: Path, command: tuple[str, ...]) -> None:
    run = podplan(tree, *command)
    assert run.code in (0, 3), run.err
    assert "could not be read" not in run.err


def test_in_a_repository_the_inventory_is_looked_for_where_it_can_be(tree: Path) -> None:
    (tree / ".git").mkdir()
    (tree / "sibling").mkdir()
    (tree / "sibling" / "inventory.yaml").write_text(INVENTORY)
    run = podplan(tree, "check", "job.yaml")
    assert (run.code, "rules that need an inventory" in run.out) == (0, False)


FOLDER = [
    ("render", "."),
    ("lower", "."),
    ("fmt", "--check", "."),
    ("migrate", "--check", "."),
]


@pytest.mark.parametrize("command", mark_others(FOLDER, every=3), ids=" ".join)
def test_commands_for_a_folder_say_what_they_skip(tree: Path, command: tuple[str, ...]) -> None:
    run = podplan(tree, *command)
    assert run.code == 0, run.err
    assert SAID_OF_ALL in run.err


def test_a_check_counts_what_it_skips(tree: Path) -> None:
    run = podplan(tree, "check", ".")
    assert run.code == 0
    rules = "13 × rules that need an inventory (podplan rules --needs inventory)"
    said = f"2 × permission denied, {rules}; {SAID}\n"
    assert run.out.endswith(said)
    summary = json.loads(podplan(tree, "check", "--format", "json", ".").out)["summary"]
    assert summary["unreadableFolders"] == 1
    assert summary["notChecked"]["permission denied"] == 2
    again = podplan(tree, "check", ".")
    assert again == run, "from the cache"
    (tree / "locked").chmod(0o755)
    assert SAID not in podplan(tree, "check", ".").out


def test_a_diff_says_it_in_json_too(tree: Path) -> None:
    run = podplan(tree, "diff", ".", "--base-tree", ".", "--format", "json")
    assert SAID_OF_ALL in "".join(json.loads(run.out)["notes"])


@pytest.mark.parametrize("command", [("check",), ("render",), ("lower",), ("fmt",), ("migrate",)])
def test_a_path_that_somebody_names_must_be_readable(tree: Path, command: tuple[str, ...]) -> None:
    run = podplan(tree, *command, "locked")
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith("podplan: locked: this folder cannot be read")
    run = podplan(tree, *command, "denied.yaml")
    assert (run.code, run.err) == (2, "podplan: denied.yaml: permission denied\n")


def test_golden_renders_that_cannot_be_read_are_no_success(tree: Path) -> None:
    run = podplan(tree, "test", ".")
    assert run.code == 1
    assert SAID in run.err
    assert "denied.yaml:1:1: golden: it cannot be read: permission denied" in run.out


def test_a_baseline_keeps_what_it_knows_of_an_unreadable_folder(tree: Path) -> None:
    (tree / ".git").mkdir()
    (tree / "podplan.toml").write_text('extend-select = ["SEC015"]\n')
    (tree / "locked").chmod(0o755)
    (tree / "locked" / "a.yaml").write_text(PROFILE.replace("resnet", "locked"))
    podplan(tree, "baseline", "create", ".")
    known = (tree / "podplan-baseline.json").read_text()
    assert "locked/a.yaml" in known
    (tree / "locked").chmod(0o000)
    run = podplan(tree, "baseline", "prune", ".")
    assert (tree / "podplan-baseline.json").read_text() == known
    assert SAID in run.err


@pytest.mark.long
def test_nothing_is_handed_to_argo_cd_where_a_part_is_missing(tree: Path) -> None:
    assert podplan(tree, "cmp", "discover").out == "profile.yaml\n"
    assert podplan(tree, "cmp", "parameters").code == 0
    for name in ("denied.yaml", "closed", "locked"):
        run = podplan(tree, "cmp", "generate", "--manifests", "ignore")
        assert (run.code, run.out) == (2, "")
        assert "denied" in run.err or "locked: this folder cannot be read" in run.err
        (tree / name).chmod(0o755)


@pytest.mark.long
def test_an_editor_beside_an_unreadable_folder(tree: Path) -> None:
    (tree / "profile.yaml").write_text(PROFILE.replace("replicas: 2", "replicas: two"))
    with Editor(tree, prepare=give_up_rights) as editor:
        editor.start()
        editor.open("profile.yaml")
        found = editor.diagnostics("profile.yaml")
        assert [one["code"] for one in found if one["severity"] == 1] == ["PROF001"]
        assert editor.at("profile.yaml", 1, 2) is not None
        assert editor.end() == (0, "")


def test_without_a_repository_the_inventory_is_looked_for_in_the_folder_alone(tmp_path: Path) -> None:
    """A file in the folder for temporary files had all that lies below searched."""
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "inventory.yaml").write_text(INVENTORY)
    job = TracedDocument(str(tmp_path / "job.yaml"), {})
    assert Loader().find_unique_inventory(job) is None
    (tmp_path / "inventory.yaml").write_text(INVENTORY)
    assert Loader().find_unique_inventory(job) is not None
    (tmp_path / "inventory.yaml").unlink()
    (tmp_path / ".git").mkdir()
    assert Loader().find_unique_inventory(job) is not None
