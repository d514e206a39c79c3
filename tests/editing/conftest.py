"""A small repository to open in an editor."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.editing.project import FIXTURES


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    shutil.copytree(FIXTURES / "project", folder)
    (folder / ".git").mkdir()
    return folder
