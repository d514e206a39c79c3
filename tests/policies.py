"""Running the examples of the policies that podplan ships, with the default rules beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podplan.core.findings import Finding, Severity
from podplan.lint.registry import ours
from podplan.lint.rule_selection import Selection, selected
from podplan.tools.repository_tests import examples
from podplan.tools.repository_tests.examples import inventory, mended, places

__all__ = ["findings", "inventory", "mended", "nagging", "places"]


def findings(example: Mapping[str, Any], code: str) -> list[Finding]:
    """What podplan says of an example, with the default rules and the rule that it is an example of."""
    return examples.findings(example, selected(ours(), Selection(extend_select=(code,))))


def nagging(found: list[Finding]) -> list[str]:
    """What is an error or a warning, as lines to read in a failed test."""
    return [f"{one.rule}: {one.message}" for one in found if one.severity >= Severity.WARNING]
