"""What a step shows besides its annotations: the summary of the job, a report for a comment, its outputs."""

from __future__ import annotations

from podplan.checker.check import Result
from podplan.report import concise, diff_markdown, diff_text, markdown
from podplan.report.diff_words import impact_line
from podplan.report.priority import important_first
from podplan.tools.diff.model import Diff

MAX_COMMENT = 60_000  # characters; a comment takes 65,536, with its head and its fence
CUT = "…\nThe rest has no room in a comment; the summary of the job has more.\n"
COUNTS = ("errors", "warnings", "infos")


def summary(result: Result | None, diff: Diff | None, notice: str) -> str:
    """Markdown: the findings, the difference to the base, why there is none; None and "" are nothing."""
    parts = [
        result and markdown.render(result),
        diff and diff_markdown.render(diff),
        notice and f"{markdown.plain(notice)}\n",
    ]
    return "\n".join(part for part in parts if part)


def comment(result: Result | None, diff: Diff | None) -> str:
    """Plain text: the difference, then the findings, the most important first; at most MAX_COMMENT of it."""
    findings = result and concise.render(result._replace(findings=important_first(result.findings)))
    text = "\n".join(part for part in (diff and diff_text.render(diff), findings) if part)
    return text if len(text) <= MAX_COMMENT else text[: MAX_COMMENT - len(CUT)] + CUT


def told(result: Result | None, diff: Diff | None) -> dict[str, str]:
    """The outputs of the step by name: counts of findings, and the impact of the change."""
    values: dict[str, str] = {}
    if result is not None:
        values["findings"] = str(len(result.findings))
        values |= {name: str(getattr(result.summary, name)) for name in COUNTS}
    if diff is not None:
        values["impact"] = impact_line(diff)
    return values
