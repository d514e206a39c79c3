"""The number of findings of each rule."""

from __future__ import annotations

from collections import Counter

from podplan.checker.check import CheckResult
from podplan.report.summary import format_summary


def render(result: CheckResult) -> str:
    """Render a line for each rule, the most frequent first, and the summary."""
    counts = Counter((found.rule, found.name, str(found.severity)) for found in result.findings)
    width = max((len(str(number)) for number in counts.values()), default=1)
    lines = [
        f"{number:>{width}}  {severity:7}  {rule:10} {name}"
        for (rule, name, severity), number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return "\n".join([*lines, format_summary(result)]) + "\n"
