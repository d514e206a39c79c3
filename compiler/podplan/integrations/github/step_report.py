"""The output of a step besides annotations: the job summary, a report for a comment, its outputs."""

from __future__ import annotations

from podplan.checker.check import CheckResult
from podplan.report import concise, diff_markdown, diff_text, markdown
from podplan.report.diff_words import format_impact
from podplan.report.priority import sort_by_severity
from podplan.tools.diff.model import Diff

MAX_COMMENT_LENGTH = 60_000  # characters; a comment takes 65,536, with its head and its fence
COMMENT_TRUNCATION_NOTE = "…\nThe rest has no room in a comment; the summary of the job has more.\n"
COUNT_OUTPUTS = ("errors", "warnings", "infos")


def render_summary(
    result: CheckResult | None,
    shown: CheckResult | None,
    diff: Diff | None,
    notice: str,
    pictures: str = "",
    plan: str = "",
) -> str:
    """Render Markdown: plan, findings with those to show first, diff, pictures of changed jobs and notice.

    None and "" are omitted.
    """
    parts = [
        plan,
        result and shown and markdown.render_selected(result, shown.findings),
        diff and diff_markdown.render(diff),
        pictures,
        notice and f"{markdown.escape_markdown(notice)}\n",
    ]
    return "\n".join(part for part in parts if part)


def render_comment(result: CheckResult | None, diff: Diff | None, shown: CheckResult | None = None) -> str:
    """Render plain text of at most MAX_COMMENT_LENGTH characters: the diff, then the findings by severity,
    those to show first."""
    findings = ""
    if result is not None:
        shown_ids = {id(one) for one in (shown or result).findings}
        ordered = sorted(sort_by_severity(result.findings), key=lambda one: id(one) not in shown_ids)
        findings = concise.render(result._replace(findings=ordered))
    text = "\n".join(part for part in (diff and diff_text.render(diff), findings) if part)
    return (
        text
        if len(text) <= MAX_COMMENT_LENGTH
        else text[: MAX_COMMENT_LENGTH - len(COMMENT_TRUNCATION_NOTE)] + COMMENT_TRUNCATION_NOTE
    )


def build_outputs(result: CheckResult | None, diff: Diff | None) -> dict[str, str]:
    """Return the outputs of the step by name: counts of findings, and the impact of the change."""
    values: dict[str, str] = {}
    if result is not None:
        values["findings"] = str(len(result.findings))
        values |= {name: str(getattr(result.summary, name)) for name in COUNT_OUTPUTS}
    if diff is not None:
        values["impact"] = format_impact(diff)
    return values
