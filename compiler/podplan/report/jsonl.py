"""The format for streams: a JSON object in each line, findings as in the format json, the summary last."""

from __future__ import annotations

from podplan.checker.check import Result
from podplan.report.json import FORMAT, finding, json_text, summary


def render(result: Result) -> str:
    """A line ``{"format": 1, "finding": …}`` for each finding, and a line ``{"format": 1, "summary": …}``."""
    lines = [{"format": FORMAT, "finding": finding(found)} for found in result.with_suppressed]
    lines.append({"format": FORMAT, "summary": summary(result)})
    return "".join(json_text(line) + "\n" for line in lines)
