"""The small repository of fixtures/lsp: the names of its files, and the codes of their findings."""

from __future__ import annotations

from pathlib import Path

from tests.editor import Message

FIXTURES = Path(__file__).parents[2] / "fixtures" / "lsp"
JOB, BASE, CR, INVENTORY = "jobs/bert.yaml", "bases/training.yaml", "jobs/count.yaml", "clusters/main.yaml"


def codes(found: list[Message]) -> list[str]:
    return [str(one.get("code")) for one in found]
