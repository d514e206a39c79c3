"""docs/first-steps.md has the output of its commands; --force-regen writes it anew."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.golden_cases import FIXTURES

PAGE = FIXTURES.parent / "docs" / "first-steps.md"
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)


HAS_KUSTOMIZE = bool(shutil.which("kustomize") or shutil.which("kubectl"))


@pytest.mark.skipif(
    not HAS_KUSTOMIZE and not os.environ.get("PODPLAN_REQUIRE_KUBECTL"), reason="needs kustomize"
)
def test_the_page_has_the_output_of_its_commands(
    tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    assert HAS_KUSTOMIZE, "PODPLAN_REQUIRE_KUBECTL is set, and neither kustomize nor kubectl is installed"
    folder = tmp_path / "jobs of a team"
    shutil.copytree(FIXTURES / "first-steps", folder)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))

    def run(command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path, "PODPLAN_NO_CACHE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return f"$ {command}\n{done.stdout}"

    def rerun(block: re.Match[str]) -> str:
        commands = [line.removeprefix("$ ") for line in block[0].splitlines() if line.startswith("$ ")]
        return "\n".join(map(run, commands))

    page = CONSOLE.sub(rerun, PAGE.read_text("utf-8"))
    file_regression.check(page, fullpath=PAGE, encoding="utf-8", newline="")
