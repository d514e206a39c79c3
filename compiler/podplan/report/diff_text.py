"""A diff for a terminal: the impact, the effect on each job, and each change with its location."""

from __future__ import annotations

from textwrap import wrap

from podplan.core.structural_diff import ABSENT
from podplan.report import diff_changes as changes
from podplan.report import diff_words as words
from podplan.report.sanitization import escape_workflow_commands
from podplan.report.terminal_style import BLUE, BOLD, PLAIN, RED, YELLOW, Style
from podplan.tools.diff.model import Diff, Difference

LINE_WIDTH = 80  # within which a change is written on one line
GREEN = "32"
_COLOURS = {
    **dict.fromkeys(("created", "mended"), GREEN),
    **dict.fromkeys(("removed", "broken"), RED),
    **dict.fromkeys(("re-create", "renamed"), YELLOW),
}
_JOB_INDENT = 12  # columns of a sign and an action


def render(diff: Diff, style: Style = PLAIN) -> str:
    """Render the text; "no change" if there is none."""
    parts = [style.paint(words.format_title(diff), BOLD)]
    if diff.is_empty:
        parts.append(words.format_no_change(diff))
    else:
        impact_lines = _wrap_sentence(f"impact  {words.format_impact(diff)}", 8)
        if sentence := words.format_recreation(diff):
            impact_lines += _wrap_sentence(f"{' ' * 8}{sentence}", 8)
        for queue in words.select_queues(diff):
            impact_lines += _wrap_sentence(f"queue   {words.format_queue(queue)}", 8)
        parts.append("\n".join(impact_lines))
        parts += _render_jobs(diff, style)
        parts += _render_changes(diff, style)
    notes = [line for note in diff.notes for line in _wrap_sentence(f"note    {note}", 8)]
    parts += ["\n".join(notes)] if notes else []
    return escape_workflow_commands("\n\n".join(parts)) + "\n"


def _render_jobs(diff: Diff, style: Style) -> list[str]:
    lines = []
    groups = words.group_jobs(diff)
    for group in groups:
        action = words.name_action(group.first)
        job_count = len(group.names)
        count_prefix = f"{job_count} " if job_count > 1 else ""
        kind = words.pluralize(group.first.kind, job_count)
        head, *continuation = _wrap_sentence(
            f"{words.ACTION_SIGNS[action]} {action:{_JOB_INDENT - 2}}"
            f"{count_prefix}{kind} {words.format_list(group.names)}",
            _JOB_INDENT,
        )
        colour = _COLOURS.get(action, BLUE)
        lines += [style.paint(head[:_JOB_INDENT], colour) + head[_JOB_INDENT:], *continuation]
        size = words.format_sizes(group)
        file_line = f"{' ' * _JOB_INDENT}{words.format_list(group.files)}" + (f": {size}" if size else "")
        fields = words.format_changed_fields(group)
        lines += _wrap_sentence(file_line + (f"; {fields}" if fields else ""), _JOB_INDENT + 2)
        for error in words.format_errors(group):
            lines += _wrap_sentence(" " * _JOB_INDENT + error, _JOB_INDENT + 2)
    reason_lines = [
        line for reason in words.explain_effects(groups) for line in _wrap_sentence(f"why     {reason}", 8)
    ]
    return ["\n".join(part) for part in (lines, reason_lines) if part]


def _render_changes(diff: Diff, style: Style) -> list[str]:
    names = words.name_jobs(diff)
    return [_render_change(change, names, style) for change in changes.order_changes(diff)]


def _render_change(change: Difference, names: list[str], style: Style) -> str:
    location = changes.format_location(change)
    extent_lines = "\n".join(
        _wrap_sentence(
            f"    in {changes.describe_extent(change, names)}" + (f", {location}" if location else ""), 4
        )
    )
    head = f"{change.kind} {changes.format_path(change)}".rstrip()
    value_lines = changes.format_change_lines(change)
    if not change.part:
        sign, name = ("-", change.before) if change.after is ABSENT else ("+", change.after)
        return f"{_paint_line(f'{sign} {change.kind} {changes.format_value(name)}', style)}\n{extent_lines}"
    if len(value_lines) <= 2 and len(value_lines) == sum(
        side is not ABSENT for side in (change.before, change.after)
    ):
        joined_values = " → ".join(line[2:] for line in value_lines)
        change_note = "" if len(value_lines) == 2 else "(removed) " if change.after is ABSENT else "(new) "
        line = f"{head}: {change_note}{joined_values}"
        if len(line) <= LINE_WIDTH:
            return f"{style.paint(head, BOLD)}{line[len(head) :]}\n{extent_lines}"
    framed_lines = (f"|{line[1:]}" if line.startswith(" ") else line for line in value_lines)
    shown = (f"    {_paint_line(line, style)}" for line in framed_lines)
    return "\n".join([style.paint(head, BOLD), *shown, extent_lines])


def _wrap_sentence(text: str, indent: int) -> list[str]:
    """Wrap a sentence at ``LINE_WIDTH``; longer words are not broken."""
    leading_blanks = text[: len(text) - len(text.lstrip())]
    return wrap(
        text.lstrip(),
        LINE_WIDTH,
        initial_indent=leading_blanks,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _paint_line(line: str, style: Style) -> str:
    return style.paint(line, {"-": RED, "+": GREEN}.get(line[:1], ""))
