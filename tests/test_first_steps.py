"""docs/first-steps.md has the output of its commands; --force-regen writes it anew."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests import transcripts
from tests.golden_cases import FIXTURES

PAGE = FIXTURES.parent / "docs" / "first-steps.md"
HAS_KUSTOMIZE = bool(shutil.which("kustomize") or shutil.which("kubectl"))


@pytest.mark.long
@pytest.mark.skipif(
    not HAS_KUSTOMIZE and not os.environ.get("PODPLAN_REQUIRE_KUBECTL"), reason="needs kustomize"
)
def test_the_page_has_the_output_of_its_commands(
    tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    assert HAS_KUSTOMIZE, "PODPLAN_REQUIRE_KUBECTL is set, and neither kustomize nor kubectl is installed"
    folder = tmp_path / "jobs of a team"
    shutil.copytree(FIXTURES / "first-steps", folder)
    page = transcripts.rerun(PAGE.read_text("utf-8"), folder)
    file_regression.check(page, fullpath=PAGE, encoding="utf-8", newline="")
