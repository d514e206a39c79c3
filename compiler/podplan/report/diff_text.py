"""What differs, for a terminal: the impact, what becomes of each job, and each change with where it is."""

from __future__ import annotations

from textwrap import wrap

from podplan.report import diff_changes as changes
from podplan.report import diff_words as words
from podplan.report.sanitization import unheard
from podplan.report.terminal_style import BLUE, BOLD, PLAIN, RED, YELLOW, Style
from podplan.tools.diff.model import ABSENT, Diff, Difference

WIDTH = 80  # within which a change is told in one line
GREEN = "32"
_COLOURS = {"created": GREEN, "mended": GREEN, "removed": RED, "broken": RED, "re-run": YELLOW}


def render(diff: Diff, style: Style = PLAIN) -> str:
    """The text; "no change" where there is none."""
    parts = [style.paint(words.title(diff), BOLD)]
    if diff.is_empty:
        parts.append(words.NO_CHANGE)
    else:
        told = _wrapped(f"impact  {words.impact_line(diff)}", 8)
        for queue in words.queues(diff):
            told += _wrapped(f"queue   {words.queue_line(queue)}", 8)
        parts.append("\n".join(told))
        parts += _jobs(diff, style)
        parts += _changes(diff, style)
    notes = [line for note in diff.notes for line in _wrapped(f"note    {note}", 8)]
    parts += ["\n".join(notes)] if notes else []
    return unheard("\n\n".join(parts)) + "\n"


def _jobs(diff: Diff, style: Style) -> list[str]:
    lines = []
    groups = words.grouped(diff)
    for group in groups:
        what = words.action(group.first)
        number = len(group.names)
        many = f"{number} " if number > 1 else ""
        kind = words.plural(group.first.kind, number)
        head, *more = _wrapped(f"{words.SIGNS[what]} {what:9}{many}{kind} {words.listed(group.names)}", 11)
        lines += [style.paint(head[:11], _COLOURS.get(what, BLUE)) + head[11:], *more]
        size = words.sizes(group)
        told = f"{' ' * 11}{words.listed(group.files)}" + (f": {size}" if size else "")
        fields = words.fields(group)
        lines += _wrapped(told + (f"; {fields}" if fields else ""), 13)
        for error in words.errors(group):
            lines += _wrapped(" " * 11 + error, 13)
    why = [line for reason in words.reasons(groups) for line in _wrapped(f"why     {reason}", 8)]
    return ["\n".join(part) for part in (lines, why) if part]


def _changes(diff: Diff, style: Style) -> list[str]:
    names = words.called(diff)
    return [_change(change, names, style) for change in changes.ordered(diff)]


def _change(change: Difference, names: list[str], style: Style) -> str:
    where = changes.place(change)
    around = "\n".join(
        _wrapped(f"    in {changes.extent(change, names)}" + (f", {where}" if where else ""), 4)
    )
    head = f"{change.kind} {changes.part(change)}".rstrip()
    told = changes.lines(change)
    if not change.part:
        sign, name = ("-", change.before) if change.after is ABSENT else ("+", change.after)
        return f"{_painted(f'{sign} {change.kind} {changes.value(name)}', style)}\n{around}"
    if len(told) <= 2 and len(told) == sum(side is not ABSENT for side in (change.before, change.after)):
        short = " → ".join(line[2:] for line in told)
        gone = "" if len(told) == 2 else "(removed) " if change.after is ABSENT else "(new) "
        line = f"{head}: {gone}{short}"
        if len(line) <= WIDTH:
            return f"{style.paint(head, BOLD)}{line[len(head) :]}\n{around}"
    around_them = (f"|{line[1:]}" if line.startswith(" ") else line for line in told)
    shown = (f"    {_painted(line, style)}" for line in around_them)
    return "\n".join([style.paint(head, BOLD), *shown, around])


def _wrapped(text: str, indent: int) -> list[str]:
    """A sentence in lines of at most ``WIDTH``, where its words are not longer."""
    kept = text[: len(text) - len(text.lstrip())]
    return wrap(
        text.lstrip(),
        WIDTH,
        initial_indent=kept,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _painted(line: str, style: Style) -> str:
    return style.paint(line, {"-": RED, "+": GREEN}.get(line[:1], ""))
