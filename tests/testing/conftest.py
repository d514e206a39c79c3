"""A repository with tests: a policy with examples, a profile with a golden file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import podplan
from tests.testing.repository import POLICY, PROFILE, VAP, VAP_TEST


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with one policy and one profile, both with tests that pass."""
    (tmp_path / ".git").mkdir()
    for name, text in (("podplan.toml", 'policies = ["rules"]\n'), ("rules/own.yaml", POLICY)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_text(PROFILE)
    assert podplan("test", "--update", "--all", cwd=tmp_path).code == 0
    return tmp_path


@pytest.fixture
def admission(folder: Path) -> Path:
    """The repository with an additional admission policy of Kubernetes, and examples of it."""
    (folder / "rules" / "no-host-network.yaml").write_text(VAP)
    (folder / "rules" / "no-host-network.test.yaml").write_text(VAP_TEST)
    return folder
