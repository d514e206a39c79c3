"""The machine that the action runs on: which python it takes and how, and a job that is cancelled."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.command import ENVIRONMENTS
from tests.github_action import ROOT, machine, run
from tests.github_runner import run_action, run_steps

PYTHON = """\
#!/bin/sh
[ "$1" = -I ] || echo "$@" >> {log}
case "$*" in *"-m venv"*) for temp; do :; done; mkdir -p "$temp/bin" && cp "$0" "$temp/bin/python";; esac
"""


def test_every_python_of_the_action_is_isolated_from_the_checkout(workspace: Path, tmp_path: Path) -> None:
    """With a stand-in for python; `make integration` installs the action for real in such a checkout."""
    job = machine(workspace, tmp_path / "temp")
    python = Path(job.environ["PATH"].split(":")[0]) / "python3"
    python.unlink()
    python.write_text(PYTHON.format(log=tmp_path / "not-isolated"))
    python.chmod(0o755)
    ran = run_action(ROOT, {}, job)
    assert ran.success, ran.log
    assert (tmp_path / "temp" / "podplan" / "bin" / "python").exists()
    assert not (tmp_path / "not-isolated").exists(), (tmp_path / "not-isolated").read_text()
    run_steps([{"run": "python3 -m pip --version"}], job)
    assert (tmp_path / "not-isolated").read_text() == "-m pip --version\n"


def test_a_python_that_is_too_old_or_missing_is_told_in_a_sentence(workspace: Path, tmp_path: Path) -> None:
    old = tmp_path / "temp" / "bin" / "python3"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    ran = run_action(ROOT, {}, machine(workspace, tmp_path / "temp"))
    assert [step.outcome for step in ran.steps] == ["failure", "skipped"]
    assert ran.steps[0].code == 2
    assert "python3 of at least 3.11" in ran.of("error")[0].data


def test_a_machine_without_python_is_told_the_same(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bash").symlink_to("/bin/bash")
    bare = machine(workspace, tmp_path / "temp", {"PATH": str(tmp_path / "bin")})
    ran = run_action(ROOT, {}, bare)
    assert ran.steps[0].code == 2
    assert "python3 of at least 3.11" in ran.of("error")[0].data


@pytest.mark.long
def test_a_run_that_takes_too_long_leaves_nothing_half_done(workspace: Path) -> None:
    matrix = f"  matrix: {{axes: {{seed: {list(range(300))}}}, maxInstances: 1000}}\n"
    for number in range(20):
        profile = ENVIRONMENTS.replace("name: resnet", f"name: r{number}")
        (workspace / f"{number}.yaml").write_text(profile + matrix)
    wanted = {"sarif-file": "podplan.sarif"}
    cancelled = run(workspace, wanted, timeout=2)
    assert cancelled.steps[-1].code in (130, -signal.SIGINT)
    given_up = run(workspace, wanted, {"PODPLAN_LIMITS": "seconds=1"})
    assert given_up.steps[-1].code == 4
    assert "PODPLAN_LIMITS=seconds=N" in given_up.of("error")[0].data
    for ran in (cancelled, given_up):
        assert not list(workspace.glob("*.sarif*"))
        assert not list(workspace.glob(".podplan-*"))
        assert "Traceback" not in ran.log
        assert ran.steps[-1].outputs == {}
