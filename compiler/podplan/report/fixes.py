"""Fixes as text: diffs and the summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from podplan.core.findings import Edit, Finding, Fix
from podplan.core.text_diff import iter_unified_diff
from podplan.core.typing import TYPE_CHECKING, NamedTuple
from podplan.report.code_frame import clip_line, compute_reach
from podplan.report.sanitization import escape_text, escape_workflow_commands, truncate_text
from podplan.report.terminal_style import PLAIN, Style
from podplan.yaml import parse_yaml, redact_source

if TYPE_CHECKING:
    from podplan.tools.fixer import FixResult

MAX_LISTED_FIXES = 50
ADDED_STYLE, REMOVED_STYLE, HUNK_STYLE = "32", "31", "36"


class ChangedLine(NamedTuple):
    """A removed ("-") or added ("+") line, its 1-based number in the current file, and the offset of the
    change."""

    sign: str
    line_number: int
    line: str
    offset: int


def render_fix_diff(fix_result: FixResult, style: Style = PLAIN) -> str:
    """Render a unified diff of all changed files that may be shown, with secrets redacted."""
    before = {file: texts[0] for file, texts in fix_result.shown.items()}
    return render_diff(before, {file: texts[1] for file, texts in fix_result.shown.items()}, style)


def render_diff(before: Mapping[str, str], after: Mapping[str, str], style: Style = PLAIN) -> str:
    """Render a unified diff between texts of files; ``after`` has the changed ones."""
    return "".join(
        _render_line(line, style)
        for file in sorted(after)
        for line in iter_unified_diff(_split_lines(before[file]), _split_lines(after[file]), (file, file))
    )


def render_redacted_diff(before: Mapping[str, str], after: Mapping[str, str], style: Style) -> str:
    """Render a diff with secrets redacted, without files that contain a Secret, and without control
    characters."""
    old = {file: parse_yaml(before[file].encode(), file) for file in after}
    new = {file: parse_yaml(text.encode(), file) for file, text in after.items() if not old[file].has_secret}
    return escape_workflow_commands(
        render_diff(
            {file: redact_source(old[file]) for file in new},
            {file: redact_source(source) for file, source in new.items()},
            style,
        )
    )


def _split_lines(text: str) -> list[str]:
    """Split a text as ``patch`` does: only a line feed ends a line."""
    *full_lines, last = text.split("\n")
    return [*(f"{line}\n" for line in full_lines), *([last] if last else [])]


def _render_line(line: str, style: Style) -> str:
    text = line.rstrip("\r\n")
    ending = line[len(text) :] or "\n\\ No newline at end of file\n"
    return style.paint(escape_text(text), _select_colour(line)) + ending


def _select_colour(line: str) -> str:
    return {"+": ADDED_STYLE, "-": REMOVED_STYLE, "@": HUNK_STYLE}.get(line[:1], "")


def format_fix_summary(fix_result: FixResult, written: bool) -> str:
    """Return "fixed 3 findings in 2 files", a line for each of them if they are written, for each file not
    shown, and for each withdrawn fix."""
    fixed_count, file_count = len(fix_result.fixed), len(fix_result.texts)
    verb = "fixed" if written else "would fix"
    count_text = (
        f"{fixed_count} finding{'' if fixed_count == 1 else 's'} in {file_count}"
        f" file{'' if file_count == 1 else 's'}"
    )
    lines = [f"{verb} {count_text}" if fixed_count else "nothing to fix"]
    if written:
        lines += _list_fixes(fix_result.fixed)
    hidden = [] if written else sorted(fix_result.texts.keys() - fix_result.shown.keys())
    lines += [
        escape_text(f"{file} would change; its lines are not shown, since it holds a Secret")
        for file in hidden
    ]
    for finding, reason in fix_result.withdrawn:
        location = finding.location
        location_text = f"{location.file}:{location.line}:{location.column}"
        lines.append(escape_text(f"{location_text}: {finding.rule} is not fixed: {reason}"))
    return "\n".join(lines) + "\n"


def _list_fixes(fixed: Sequence[Finding]) -> list[str]:
    """Return a line for each fix: FILE:LINE, the rule, and what the fix did."""
    listed = sorted(fixed, key=lambda finding: (finding.location.file, finding.location.line))
    lines = [
        escape_text(f"{one.location.file}:{one.location.line} {one.rule} {truncate_text(one.fix.title)}")
        for one in listed[:MAX_LISTED_FIXES]
        if one.fix is not None
    ]
    more = len(listed) - MAX_LISTED_FIXES
    return [*lines, f"… and {more} more"] if more > 0 else lines


def preview_fix(fix: Fix, texts: Mapping[str, list[str]], width: int) -> list[ChangedLine]:
    """Return the lines that a fix changes, clipped around the change to what fits into ``width`` columns.

    Empty if the text of a file is not available.
    """
    changed_lines: list[ChangedLine] = []
    for edit in _join_edits(fix.edits, texts, width):
        lines = texts.get(edit.file, [])
        if edit.end_line <= len(lines):
            changed_lines += _compute_changed_lines(edit, lines, width)
    return changed_lines


def _join_edits(edits: Iterable[Edit], texts: Mapping[str, list[str]], width: int) -> list[Edit]:
    """Join edits that meet on a line, so that it is shown once as it will be.

    Edits that are too far apart for one preview stay apart.
    """
    joined: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.file, edit.start, edit.end)):
        last = joined[-1] if joined else None
        lines = texts.get(edit.file, [])
        if (
            last is not None
            and last.file == edit.file
            and last.end_line == edit.line <= len(lines)
            and edit.start - last.end <= compute_reach(width)
        ):
            between = lines[edit.line - 1][last.end_column - 1 : edit.column - 1]
            joined[-1] = last._replace(
                end_line=edit.end_line,
                end_column=edit.end_column,
                end=edit.end,
                text=f"{last.text}{between}{edit.text}",
            )
        else:
            joined.append(edit)
    return joined


def _compute_changed_lines(edit: Edit, lines: list[str], width: int) -> list[ChangedLine]:
    old = lines[edit.line - 1 : edit.end_line]
    end = edit.end_column - 1
    text_after = old[-1][end : end + compute_reach(width)]
    old[0], start = clip_line(
        old[0], edit.column - 1, width
    )  # a line may have megabytes, and thousands of fixes
    new = (old[0][:start] + edit.text + text_after).splitlines()
    number = edit.line
    while old and new and old[0] == new[0]:
        old, new, number = old[1:], new[1:], number + 1
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return [
        ChangedLine(sign, number + offset, line, start)
        for sign, side in (("-", old), ("+", new))
        for offset, line in enumerate(side)
    ]
