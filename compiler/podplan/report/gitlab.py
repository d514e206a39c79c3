"""The Code Quality report of GitLab: a JSON list that merge requests show.

Source: docs/evidence/report-formats.md#gitlab-code-quality.
"""

from __future__ import annotations

from podplan.checker.check import CheckResult
from podplan.core.findings import Severity
from podplan.report.fingerprint import compute_fingerprints
from podplan.report.json import encode_json
from podplan.report.sanitization import truncate_text
from podplan.workspace.files import relative_to_root

GITLAB_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(result: CheckResult) -> str:
    """Render a JSON list with an entry for each finding."""
    entries = [
        {
            "description": truncate_text(found.message),
            "check_name": found.rule,
            "fingerprint": fingerprint,
            "severity": GITLAB_SEVERITIES[found.severity],
            "location": {
                "path": relative_to_root(found.location.file),
                "lines": {"begin": found.location.line},
            },
        }
        for found, fingerprint in zip(
            result.findings, compute_fingerprints(result.findings, result.redacted_texts), strict=True
        )
    ]
    return encode_json(entries, indent=2) + "\n"
