"""A plan for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.report import plan_words as words
from podplan.report.plan_groups import format_places, format_size, group_jobs, list_flavors, name_jobs
from podplan.report.sanitization import escape_text, escape_workflow_commands
from podplan.report.terminal_style import BLUE, PLAIN, RED, YELLOW, Style
from podplan.tools.plan.model import Plan, PlannedJob

SIGNS = {
    "admitted": "+",
    "pending": "!",
    "inadmissible": "x",
    "rejected": "x",
    words.REFUSED: "x",
    "ignored": "-",
    "unknown": "?",
}
_COLOURS = {"pending": YELLOW, "inadmissible": RED, "rejected": RED, words.REFUSED: RED}
_INDENT = " " * 15


def render(plan: Plan, style: Style = PLAIN, lists_jobs: bool = False) -> str:
    """Render the totals, the jobs in the order of their files, and their total requests by queue.

    Many jobs that are alike are one entry, unless it ``lists_jobs``.
    """
    head = [f"plan    {words.format_totals(plan)}"]
    if plan.base:
        head.append(escape_text(f"change  {words.format_changes(plan)}"))
    parts = ["\n".join(head)]
    jobs = words.select_jobs(plan)
    entries = [[job] for job in jobs] if lists_jobs else group_jobs(jobs)
    parts += ["\n".join(line for entry in entries for line in _render_entry(entry, style))] if jobs else []
    parts += _render_quotas(plan)
    return escape_workflow_commands("\n\n".join(parts)) + "\n"


def _render_entry(jobs: Sequence[PlannedJob], style: Style) -> list[str]:
    job = jobs[0]
    outcome = words.name_outcome(job)
    verdict = "removed" if job.change == "removed" else outcome
    mark = f"{SIGNS.get(verdict, '-')} {verdict:13}"
    queue = words.format_queue(job)
    change = "" if verdict == "removed" else words.describe_change(job)
    head = escape_text(
        name_jobs(jobs) + (f", queue {queue}" if queue else "") + (f" ({change})" if change else "")
    )
    lines = [style.paint(mark, _COLOURS.get(outcome, BLUE)) + head]
    flavors = [] if job.refused_by else list_flavors(jobs)
    details = [format_size(jobs), *flavors, words.explain(job)]
    details += [f"error: {message}" for message in job.errors if message != job.message]
    details.append(format_places(jobs, " (-v lists them)"))
    return lines + [_INDENT + escape_text(one) for one in details if one]


def _render_quotas(plan: Plan) -> list[str]:
    """Render a block for each ClusterQueue, with a line for each flavor and resource."""
    parts: list[str] = []
    for queue in dict.fromkeys(line.queue for line in plan.quotas):
        lines = [line for line in plan.quotas if line.queue == queue]
        flavor_width = max(len(line.flavor) + 2 if line.flavor else 0 for line in lines)
        width = max(len(line.resource) for line in lines)
        rows = [f"queue   {queue}: what its admitted jobs request together"]
        for line in lines:
            shortage = words.describe_shortage(line)
            quota = words.format_quota(line) + (f"; {shortage}" if shortage else "")
            rows.append(f"        {line.flavor:{flavor_width}}{line.resource:{width}}  {quota}")
        parts.append("\n".join(escape_text(row) for row in rows))
    return parts
