"""What `make demo` prints: mistakes before YAML, jobs without any, and the path of a picture at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "fixtures" / "gallery" / "demo.sh"


@pytest.mark.long
def test_demo_shows_mistakes_then_a_job_then_the_path_of_its_picture(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["sh", DEMO, tmp_path], env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, "")

    lines = run.stdout.splitlines()
    commands = [line for line in lines if line.startswith("$ ")]
    assert commands[0] == "$ podplan check --format concise mistakes"
    assert lines.index("---") < 40, "40 lines at most before the first YAML"

    clean = lines[lines.index("$ podplan check jobs bases clusters") + 1]
    assert "error" not in clean
    assert "warning" not in clean

    picture = Path(lines[-1].rpartition(" ")[2])
    assert picture.parent == tmp_path
    assert picture.read_text("utf-8").startswith("<svg")
