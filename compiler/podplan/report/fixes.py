"""Repairs as text: the difference they make, and what was done."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Edit, Fix
from podplan.core.text_diff import unified
from podplan.core.typing import TYPE_CHECKING, NamedTuple
from podplan.report.code_frame import near, reach
from podplan.report.sanitization import unheard, visible
from podplan.report.terminal_style import PLAIN, Style
from podplan.yaml import read, redact_source

if TYPE_CHECKING:
    from podplan.tools.fixer import Repaired

ADDED, REMOVED, HUNK = "32", "31", "36"


class Changed(NamedTuple):
    """A line that goes ("-") or comes ("+"), its 1-based number in the file as it is, and the offset in it of
    what changes."""

    sign: str
    number: int
    line: str
    at: int


def diff(repaired: Repaired, style: Style = PLAIN) -> str:
    """A unified diff of all files that would change and may be shown; secrets in it are stars."""
    before = {file: texts[0] for file, texts in repaired.shown.items()}
    return difference(before, {file: texts[1] for file, texts in repaired.shown.items()}, style)


def difference(before: Mapping[str, str], after: Mapping[str, str], style: Style = PLAIN) -> str:
    """A unified diff between texts of files; ``after`` has those that changed."""
    return "".join(
        _ended(line, style)
        for file in sorted(after)
        for line in unified(_lines(before[file]), _lines(after[file]), (file, file))
    )


def redacted_difference(before: Mapping[str, str], after: Mapping[str, str], style: Style) -> str:
    """The same with stars for secrets; none of a file that holds a Secret, and nothing that is obeyed."""
    old = {file: read(before[file].encode(), file) for file in after}
    new = {file: read(text.encode(), file) for file, text in after.items() if not old[file].holds_secret}
    return unheard(
        difference(
            {file: redact_source(old[file]) for file in new},
            {file: redact_source(source) for file, source in new.items()},
            style,
        )
    )


def _lines(text: str) -> list[str]:
    """As ``patch`` takes them: a line ends with a line feed and with nothing else."""
    *ended, last = text.split("\n")
    return [*(f"{line}\n" for line in ended), *([last] if last else [])]


def _ended(line: str, style: Style) -> str:
    text = line.rstrip("\r\n")
    ending = line[len(text) :] or "\n\\ No newline at end of file\n"
    return style.paint(visible(text), _colour(line)) + ending


def _colour(line: str) -> str:
    return {"+": ADDED, "-": REMOVED, "@": HUNK}.get(line[:1], "")


def told(repaired: Repaired, written: bool) -> str:
    """Such as "fixed 3 findings in 2 files", a line for each file not shown, and each fix withdrawn."""
    number, files = len(repaired.fixed), len(repaired.texts)
    verb = "fixed" if written else "would fix"
    counted = f"{number} finding{'' if number == 1 else 's'} in {files} file{'' if files == 1 else 's'}"
    lines = [f"{verb} {counted}" if number else "nothing to fix"]
    hidden = [] if written else sorted(repaired.texts.keys() - repaired.shown.keys())
    lines += [
        visible(f"{file} would change; its lines are not shown, since it holds a Secret") for file in hidden
    ]
    for found, reason in repaired.withdrawn:
        where = found.location
        place = f"{where.file}:{where.line}:{where.column}"
        lines.append(visible(f"{place}: {found.rule} is not fixed: {reason}"))
    return "\n".join(lines) + "\n"


def preview(fix: Fix, texts: Mapping[str, list[str]], room: int) -> list[Changed]:
    """The lines that a fix changes, as much of each as could be shown in ``room`` columns.

    Nothing for edits in files that are not at hand.
    """
    shown: list[Changed] = []
    for edit in fix.edits:
        lines = texts.get(edit.file, [])
        if edit.end_line <= len(lines):
            shown += _changed(edit, lines, room)
    return shown


def _changed(edit: Edit, lines: list[str], room: int) -> list[Changed]:
    old = lines[edit.line - 1 : edit.end_line]
    end = edit.end_column - 1
    behind = old[-1][end : end + reach(room)]
    old[0], start = near(
        old[0], edit.column - 1, room
    )  # a line may be megabytes, and have thousands of fixes
    new = (old[0][:start] + edit.text + behind).splitlines()
    number = edit.line
    while old and new and old[0] == new[0]:
        old, new, number = old[1:], new[1:], number + 1
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return [
        Changed(sign, number + offset, line, start)
        for sign, side in (("-", old), ("+", new))
        for offset, line in enumerate(side)
    ]
