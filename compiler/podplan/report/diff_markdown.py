"""A diff for a comment in a pull request or a job summary; text from files is escaped."""

from __future__ import annotations

import re

from podplan.core.structural_diff import ABSENT
from podplan.report import diff_changes as changes
from podplan.report import diff_words as words
from podplan.report.markdown import escape_markdown, format_code
from podplan.tools.diff.model import Diff, Difference

MAX_CHARACTERS = 65_000  # a comment may have 65,536
MAX_ROWS = 50
ACTION_MARKS = {
    "broken": "❌",
    "created": "🟢",
    "removed": "🔴",
    "re-create": "🔁",
    "renamed": "🔁",
    "on merge": "🟡",
    "relabel": "🏷️",
    "mended": "✅",
    "same CR": "⚪",
    "changed": "🟡",
}


def render(diff: Diff, max_length: int = MAX_CHARACTERS) -> str:
    """Render the impact, then the jobs, then each change, collapsed; at most ``max_length`` characters."""
    text = f"### podplan diff: {escape_markdown(words.format_title(diff))}\n\n"
    if diff.is_empty:
        text += f"{words.format_no_change(diff)}\n"
    else:
        text += f"**{escape_markdown(words.format_impact(diff))}**\n"
        if sentence := words.format_recreation(diff):
            text += f"\n{escape_markdown(sentence)}\n"
        queues = words.select_queues(diff)
        text += "".join(f"\n- queue {escape_markdown(words.format_queue(queue))}" for queue in queues) + (
            "\n" if queues else ""
        )
    notes = "".join(f"\n> {escape_markdown(note)}\n" for note in diff.notes)
    max_length -= len(text) + len(notes) + 300
    jobs = _render_jobs(diff, max_length)
    return text + jobs + _render_changes(diff, max_length - len(jobs)) + notes


def _render_jobs(diff: Diff, max_length: int) -> str:
    rows: list[str] = []
    groups = words.group_jobs(diff)
    for number, group in enumerate(groups):
        action = words.name_action(group.first)
        job_count = len(group.names)
        count_prefix = f"{job_count} " if job_count > 1 else ""
        rest = job_count - words.MAX_NAMES
        shown_names = ", ".join(map(format_code, group.names[: words.MAX_NAMES])) + (
            f" and {rest} more" if rest > 0 else ""
        )
        cells = [
            f"{ACTION_MARKS[action]} {action}",
            f"{count_prefix}{escape_markdown(words.pluralize(group.first.kind, job_count))} {shown_names}",
            words.format_sizes(group),
            format_code(words.format_list(group.files)),
            "<br>".join(
                map(
                    escape_markdown,
                    words.format_errors(group) or [words.format_changed_fields(group).removeprefix("for ")],
                )
            ),
        ]
        row = f"| {' | '.join(cells)} |\n"
        if number == MAX_ROWS or max_length < len(row) + 200:
            rows.append(f"\n{len(groups) - number} more have no room here\n")
            break
        rows.append(row)
        max_length -= len(row)
    if not rows:
        return ""
    reason_lines = "".join(f"\n- {escape_markdown(reason)}" for reason in words.explain_effects(groups))
    head = "\n| | job | size | file | why |\n|---|---|---|---|---|\n"
    return head + "".join(rows) + (f"{reason_lines}\n" if reason_lines else "")


def _render_changes(diff: Diff, max_length: int) -> str:
    """Render the changes as one code block with removed and added lines."""
    names = words.name_jobs(diff)
    blocks: list[str] = []
    ordered_changes = changes.order_changes(diff)
    remaining = len(ordered_changes)
    for change in ordered_changes:
        block = _render_change(change, names)
        if max_length < len(block) + 200:
            break
        max_length -= len(block)
        remaining -= 1
        blocks.append(block)
    if not ordered_changes:
        return ""
    body = "\n".join(blocks)
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    count = len(ordered_changes)
    head = f"<details><summary>{count} change{'' if count == 1 else 's'}</summary>"
    tail = f"\n{remaining} more changes have no room here; podplan diff shows them all\n" if remaining else ""
    shown = f"\n{fence}diff\n{body}{fence}\n" if blocks else ""
    return f"\n{head}\n{shown}{tail}\n</details>\n"


def _render_change(change: Difference, names: list[str]) -> str:
    location = changes.format_location(change)
    extent = changes.describe_extent(change, names) + (f", {location}" if location else "")
    if not change.part:
        sign, name = ("-", change.before) if change.after is ABSENT else ("+", change.after)
        return f"@@ {change.kind}: {extent} @@\n{sign} {changes.format_value(name)}\n"
    head = f"@@ {change.kind} {changes.format_path(change)}: {extent} @@"
    return "\n".join([head, *changes.format_change_lines(change)]) + "\n"
