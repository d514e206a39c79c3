"""The format for streams: a JSON object in each line, findings as in the format json, the summary last."""

from __future__ import annotations

import json

from podplan.check import Result
from podplan.report.json import FORMAT, finding, summary


def render(result: Result) -> str:
    """A line ``{"format": 1, "finding": …}`` for each finding, and a line ``{"format": 1, "summary": …}``."""
    lines = [{"format": FORMAT, "finding": finding(found)} for found in result.with_suppressed]
    lines.append({"format": FORMAT, "summary": summary(result)})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
