"""Findings by severity, for reports with limited space."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Finding


def sort_by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by severity: errors, then warnings, then infos; the order within each is kept."""
    return sorted(findings, key=lambda found: -found.severity)
