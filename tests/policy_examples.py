"""Running the examples of the policies that podplan ships, with the default rules beside them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from podplan.core.findings import Finding, Severity
from podplan.lint.policy import Policy
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.tools.repository_tests import examples
from podplan.tools.repository_tests.examples import build_inventory, fix_example, list_violation_paths

__all__ = ["build_inventory", "findings", "fix_example", "list_violation_paths", "nagging"]


def findings(example: Mapping[str, Any], code: str) -> list[Finding]:
    """What podplan says of an example, with the default rules and the rule that it is an example of."""
    return examples.find_violations(example, select_with(code))


@cache
def select_with(code: str) -> list[Policy]:
    """The default rules and one more."""
    return select_policies(load_builtin_policies(), RuleSelection(extend_select=(code,)))


def nagging(found: list[Finding]) -> list[str]:
    """What is an error or a warning, as lines to read in a failed test."""
    return [f"{one.rule}: {one.message}" for one in found if one.severity >= Severity.WARNING]
