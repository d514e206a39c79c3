"""What shells complete: asked as bash asks, and in the shells that are there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import podplan
from tests.golden_cases import FIXTURES

GALLERY = FIXTURES / "gallery"
SCRIPT = Path(sys.executable).with_name("podplan")


def words(*line: str, cwd: Path = GALLERY) -> list[str]:
    """What the last word of a line may become, as click hands it to bash: with its type."""
    environment = {
        **os.environ,
        "COMP_WORDS": " ".join(["podplan", *line]),
        "COMP_CWORD": str(len(line)),
        "_PODPLAN_COMPLETE": "bash_complete",
    }
    done = subprocess.run([SCRIPT], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "some"),
    [
        (["ch"], ["plain,check"]),
        (["jo"], ["file,jo"]),
        (["check", "--form"], ["plain,--format"]),
        (["check", "--format", "sar"], ["plain,sarif"]),
        (["check", "--output", "jun"], ["plain,junit="]),
        (["check", "--output", "junit=x"], ["file,junit=x"]),
        (["check", "--select", "dist00"], ["plain,DIST001", "plain,DIST002"]),
        (["check", "--ignore", "DIST001,SCHEMA00"], ["plain,DIST001,SCHEMA001"]),
        (["check", "jobs/resnet.yaml", "-e", ""], ["plain,all", "plain,dev", "plain,prod"]),
        (["jobs/resnet.yaml", "-e", "p"], ["plain,prod"]),
        (["render", "-e", ""], ["plain,all"]),
        (["why", "mist"], ["file,mist"]),
        (["check", "--config", "x"], ["file,x"]),
        (["explain", "idle"], ["plain,idle-gpus"]),
        (["explain", "DIST00"], ["plain,DIST001"]),
        (["explain", "JobProfile.spec.sh"], ["plain,JobProfile.spec.shm"]),
        (["explain", "spec.sh"], ["plain,spec.shm"]),
        (["completion", ""], ["plain,bash", "plain,zsh", "plain,fish"]),
    ],
    ids=str,
)
def test_bash_gets(line: list[str], some: list[str]) -> None:
    assert set(some) <= set(words(*line))


@pytest.mark.parametrize("text", ["", "\0", "a: *b", "kind: [", "spec: {environments: [1, {}]}", "é" * 9])
def test_a_file_that_cannot_be_read_completes_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_bytes(text.encode("utf-16" if text.startswith("é") else "utf-8"))
    (tmp_path / "folder").mkdir()
    assert words("check", "job.yaml", "folder", "none", "-e", "", cwd=tmp_path) == ["plain,all"]


def test_a_big_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("a: b\n" * 200_000)
    assert words("check", "job.yaml", "-e", "", cwd=tmp_path) == ["plain,all"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed(shell: str) -> None:
    done = podplan("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert f"_PODPLAN_COMPLETE={shell}_complete" in done.out


def test_no_other_shell() -> None:
    assert podplan("completion", "tcsh").code == 2


def _asked(shell: str, program: str) -> str:
    """What a shell says that has read the script, and stands in the gallery."""
    found = shutil.which(shell)
    if found is None:
        if os.environ.get("PODPLAN_REQUIRE_SHELLS"):
            pytest.fail(f"{shell} is not there")
        pytest.skip(f"{shell} is not there")
    path = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [found, "-c", program],
        cwd=GALLERY,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bash_completes() -> None:
    program = (
        'eval "$(podplan completion bash)"\n'
        "complete -p podplan\n"
        "COMP_WORDS=(podplan check jobs/resnet.yaml -e p) COMP_CWORD=4\n"
        "_podplan_completion podplan\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    first, reply = _asked("bash", program).splitlines()
    assert "-F _podplan_completion podplan" in first
    assert reply == "prod"


def test_zsh_completes() -> None:
    program = (
        "autoload -U compinit; compinit -u -D\n"
        'eval "$(podplan completion zsh)"\n'
        "print -r -- ${_comps[podplan]}\n"
        "compadd() { print -r -- added }\n"
        "_describe() { print -rl -- ${(P)3} }\n"
        "words=(podplan check --format sar) CURRENT=4\n"
        "_podplan_completion\n"
    )
    said = _asked("zsh", program)
    assert said.startswith("_podplan_completion\n")
    assert "sarif" in said or "added" in said


def test_fish_completes() -> None:
    said = _asked("fish", "podplan completion fish | source\ncomplete -C 'podplan check --format sar'\n")
    assert said.split()[0] == "sarif"
