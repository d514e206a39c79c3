"""Fixtures of all tests. Every run tries the same examples, so that results are reproducible."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from hypothesis import settings

from tests.applications import with_base
from tests.command import BAD_JOB, JOB

MANY = 100  # jobs, whose report is longer than the buffer of a pipe

settings.register_profile("all", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("fifth", settings.get_profile("all"), max_examples=20)

os.environ["PODPLAN_NO_CACHE"] = "1"  # tests must compute their results; tests/caching has a cache
# Python is started hundreds of times: without cached bytecode each start would compile podplan again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Otherwise jsonschema would build 38 grammars at import, for formats that no test needs.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


def pytest_addoption(parser: pytest.Parser) -> None:
    thorough = "run what is marked long, and all examples of each property"
    parser.addoption("--thorough", action="store_true", help=thorough)
    parser.addoption("--every-step", action="store_true", help="inject faults and signals at every step")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes long, and runs with --thorough only")
    settings.load_profile("all" if config.getoption("--thorough") else "fifth")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--thorough"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one valid job."""
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file whose report is long."""
    folder = tmp_path_factory.mktemp("many")
    jobs = [BAD_JOB.replace("name: count", f"name: count-{number}") for number in range(MANY)]
    (folder / "jobs.yaml").write_text("---\n".join(jobs))
    (folder / "bad.yaml").write_text(BAD_JOB)
    return folder


@pytest.fixture(autouse=True, scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty current folder: texts under relative names would search this repository for an inventory."""
    with chdir(tmp_path_factory.mktemp("elsewhere")):
        yield


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of Applications, as Argo CD copies it: profiles in apps/train, and their base."""
    return with_base(tmp_path / "repository")
