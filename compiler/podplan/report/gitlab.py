"""The Code Quality report of GitLab: a JSON list that merge requests show.

Source: docs/evidence/report-formats.md#gitlab-code-quality.
"""

from __future__ import annotations

from podplan.checker.check import Result
from podplan.core.findings import Severity
from podplan.report.fingerprint import fingerprints
from podplan.report.json import json_text
from podplan.report.sanitization import cut
from podplan.workspace.files import from_root

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(result: Result) -> str:
    """A JSON list with an entry for each finding."""
    entries = [
        {
            "description": cut(found.message),
            "check_name": found.rule,
            "fingerprint": fingerprint,
            "severity": SEVERITIES[found.severity],
            "location": {"path": from_root(found.location.file), "lines": {"begin": found.location.line}},
        }
        for found, fingerprint in zip(
            result.findings, fingerprints(result.findings, result.texts), strict=True
        )
    ]
    return json_text(entries, indent=2) + "\n"
