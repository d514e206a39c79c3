"""A plan for a comment in a pull request or a job summary; text from files is escaped."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.report import plan_words as words
from podplan.report.markdown import escape_markdown, format_code
from podplan.report.plan_groups import format_places, format_size, group_jobs, list_flavors, name_jobs
from podplan.tools.plan.model import Plan, PlannedJob, QuotaLine

MAX_CHARACTERS = 65_000  # a comment may have 65,536
MARKS = {
    "admitted": "✅",
    "pending": "⏳",
    "inadmissible": "❌",
    "rejected": "❌",
    words.REFUSED: "❌",
    "ignored": "⚪",
    "unknown": "❔",
}
_TABLE = "\n| | job | queue | size | why |\n|---|---|---|---|---|\n"
_QUOTA_TABLE = "\n| queue | flavor | resource | requested of quota | |\n|---|---|---|---|---|\n"


def render(plan: Plan, max_length: int = MAX_CHARACTERS) -> str:
    """Render the totals, a table of jobs, those that wait first, and a table of quotas.

    Many jobs that are alike have one row.
    """
    text = f"### podplan plan: {escape_markdown(words.format_totals(plan))}\n"
    if plan.base:
        text += f"\n**{escape_markdown(words.format_changes(plan))}**\n"
    quotas = "".join(_render_quota(line) for line in plan.quotas)
    if len(quotas) > max_length // 2:
        quotas = "".join(_render_quota(line) for line in plan.quotas if words.describe_shortage(line))
    end = _QUOTA_TABLE + quotas[: max_length // 2] if quotas else ""
    remaining = max_length - len(text) - len(end) - 200
    order = {name: number for number, name in enumerate(_ORDER)}
    jobs = sorted(words.select_jobs(plan), key=lambda job: order[words.name_outcome(job)])
    shown = 0
    rows: list[str] = []
    for entry in group_jobs(jobs):
        row = _render_entry(entry)
        remaining -= len(row)
        if remaining < 0:
            rows.append(f"\n{len(jobs) - shown} more have no room here\n")
            break
        rows.append(row)
        shown += len(entry)
    return text + _TABLE + "".join(rows) + end


_ORDER = ("rejected", words.REFUSED, "inadmissible", "pending", "unknown", "admitted", "ignored")


def _render_entry(jobs: Sequence[PlannedJob]) -> str:
    job = jobs[0]
    flavors = "<br>".join(map(escape_markdown, list_flavors(jobs)))
    outcome = words.name_outcome(job)
    why = flavors if outcome == "admitted" else escape_markdown(words.explain(job))
    errors = "".join(f"<br>error: {escape_markdown(one)}" for one in job.errors if one != job.message)
    change = words.describe_change(job)
    cells = [
        f"{MARKS[outcome]} {outcome}" + (f"<br>{change}" if change else ""),
        format_code(name_jobs(jobs)) + f"<br>{escape_markdown(format_places(jobs))}",
        escape_markdown(words.format_queue(job)),
        format_size(jobs),
        why + errors,
    ]
    return f"| {' | '.join(cells)} |\n"


def _render_quota(line: QuotaLine) -> str:
    names = [format_code(one) if one else "" for one in (line.queue, line.flavor, line.resource)]
    cells = [*names, words.format_quota(line), words.describe_shortage(line)]
    return f"| {' | '.join(cells)} |\n"
