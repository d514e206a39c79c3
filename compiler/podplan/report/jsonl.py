"""JSON Lines: findings as in the format json, one object per line, the summary last."""

from __future__ import annotations

from podplan.checker.check import CheckResult
from podplan.report.json import FORMAT_VERSION, build_finding, build_summary, encode_json


def render(result: CheckResult) -> str:
    """Render a line ``{"format": 1, "finding": …}`` for each finding, and a line ``{"format": 1,
    "summary": …}``."""
    lines = [{"format": FORMAT_VERSION, "finding": build_finding(found)} for found in result.all_findings]
    lines.append({"format": FORMAT_VERSION, "summary": build_summary(result)})
    return "".join(encode_json(line) + "\n" for line in lines)
