"""A command line of paths alone is read without click, and means what click would read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from podplan.cli import _parse_plain_paths
from podplan.cli.check import command
from podplan.cli.command_names import COMMANDS
from tests.command import podplan


def test_no_flag_means_what_it_means_to_click() -> None:
    """A flag that nobody gives is empty, so that leaving it out says the same; two say how to report."""
    flags = command.make_context("check", ["job.yaml"]).params
    assert {key: value for key, value in flags.items() if value} == {
        "paths": ("job.yaml",),
        "format_": "full",
        "color": "auto",
    }


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        (["check", "a.yaml", "b"], ["a.yaml", "b"]),
        (["a.yaml"], ["a.yaml"]),
        (["check"], []),
        ([], []),
        (["-"], []),
        (["check", "-"], []),
        (["a.yaml", "--format", "json"], []),
        (["check", "--", "a.yaml"], []),
        *(([name, "a.yaml"], []) for name in COMMANDS if name != "check"),
    ],
    ids=str,
)
def test_only_paths_are_read_without_click(args: list[str], paths: list[str]) -> None:
    assert _parse_plain_paths(args) == paths


def test_a_shell_that_asks_is_answered_by_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_PODPLAN_COMPLETE", "bash_complete")
    assert _parse_plain_paths(["check", "a.yaml"]) == []


def test_both_ways_print_the_same(folder: Path) -> None:
    (folder / "job.yaml").write_text((folder / "job.yaml").read_text().replace("kind:", "knid:"))
    said = podplan("check", "job.yaml", cwd=folder)
    assert said.code == 1
    assert said == podplan("check", "--color", "auto", "job.yaml", cwd=folder)
    assert said == podplan("job.yaml", cwd=folder)


@pytest.mark.parametrize("args", [["gone.yaml"], ["gone.yaml", "--color", "never"]])
def test_a_path_that_is_not_there(folder: Path, args: list[str]) -> None:
    said = podplan("check", *args, cwd=folder)
    assert (said.code, said.err) == (3, "podplan: gone.yaml: no such file or folder\n")


def test_standard_error_may_be_closed(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "podplan", "check", "gone.yaml"],
        cwd=folder,
        stdout=subprocess.PIPE,
        check=False,
        preexec_fn=lambda: os.close(2),
    )
    assert (done.returncode, done.stdout) == (3, b"")
