"""Findings in the order of importance, for reports with little room."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Finding


def sort_by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Errors, then warnings, then infos; within each, as they are."""
    return sorted(findings, key=lambda found: -found.severity)
