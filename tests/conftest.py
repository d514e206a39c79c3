"""What all tests share. Every run tries the same examples, so that green means green for everybody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.command import JOB

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

os.environ["PODPLAN_NO_CACHE"] = "1"  # what a test sees is worked out in it; tests/test_cache.py has a cache


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="faults at every step, and many rounds of each")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one job that is as it should be."""
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path
