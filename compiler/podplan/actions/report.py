"""What a step shows besides its annotations: the summary of the job, and a report for a comment."""

from __future__ import annotations

from podplan.check import Result
from podplan.report import concise, markdown
from podplan.report.order import important_first

MAX_COMMENT = 60_000  # characters; a comment takes 65,536, with its head and its fence
CUT = "…\nThe rest has no room in a comment; the summary of the job has more.\n"


def summary(result: Result | None, difference: str, notice: str) -> str:
    """Markdown: the findings, the difference to the base, why there is none; "" stands for nothing."""
    parts = [markdown.render(result) if result is not None else "", difference, notice and f"{notice}\n"]
    return "\n".join(part for part in parts if part)


def comment(result: Result | None, difference: str) -> str:
    """Plain text: the difference, then the findings, the most important first."""
    listed = result and concise.render(result._replace(findings=important_first(result.findings)))
    text = "\n".join(part for part in (difference, listed) if part)
    return text if len(text) <= MAX_COMMENT else text[: MAX_COMMENT - len(CUT)] + CUT
