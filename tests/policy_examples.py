"""Runs the examples of the bundled policies, together with the default rules."""

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
    """Return the findings of an example, with the default rules and the rule that it is an example of."""
    return examples.find_violations(example, select_with(code))


@cache
def select_with(*codes: str) -> tuple[Policy, ...]:
    """Return the default rules and more, as the same tuple each time: what applies is cached by it."""
    selected = tuple(select_policies(load_builtin_policies(), RuleSelection(extend_select=codes)))
    return select_with() if codes and selected == select_with() else selected


def nagging(found: list[Finding]) -> list[str]:
    """Format errors and warnings as lines for the message of a failed test."""
    return [f"{one.rule}: {one.message}" for one in found if one.severity >= Severity.WARNING]
