"""The format for people: each finding with the lines that it is about."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.checker.check import Result
from podplan.core.findings import Finding, Fix, Location, Severity, pointer
from podplan.core.typing import NamedTuple
from podplan.report.code_frame import CUT, columns, near, shown_line, underlined, window
from podplan.report.fixes import ADDED, REMOVED, preview
from podplan.report.sanitization import cut, visible
from podplan.report.summary import summary_line
from podplan.report.terminal_style import BLUE, BOLD, PLAIN, SEVERITIES, Style
from podplan.yaml.positions import LINE_BREAK

MAX_VARIANTS_NAMED = 3
MAX_CHANGED = 6  # lines of a fix


def render(result: Result, style: Style = PLAIN) -> str:
    """Errors and warnings with their source frames, infos in a line each, and a line that sums up."""
    lines = {
        file: LINE_BREAK.split(text.lstrip("\ufeff").removesuffix("\n"))
        for file, text in result.texts.items()
        if text
    }
    blocks = [_finding(found, lines, style) for found in result.findings if found.severity > Severity.INFO]
    infos = [_line(found, style) for found in result.findings if found.severity <= Severity.INFO]
    if infos:
        blocks.append("\n".join(infos))
    return "\n\n".join([*blocks, summary_line(result)]) + "\n"


def _line(found: Finding, style: Style) -> str:
    """An info in one line: there are many, and they keep nothing from running."""
    where = found.location
    place = visible(f"{where.file}:{where.line}:{where.column}")
    head = f"{found.severity}[{found.rule} {found.name}]"
    told = style.lines(f": {place}: {visible(cut(found.message))}", len(head), 2)
    return "\n".join([style.paint(head, SEVERITIES[found.severity]) + told[0], *told[1:]])


def _head(found: Finding, style: Style) -> list[str]:
    head = f"{found.severity}[{found.rule} {found.name}]"
    first, *more = style.lines(f": {visible(cut(found.message))}", len(head), 2)
    painted = style.paint(head, SEVERITIES[found.severity]) + style.paint(first, BOLD)
    return [painted, *(style.paint(line, BOLD) for line in more)]


class Mark(NamedTuple):
    """A place to underline, with its label; ``main`` is what the finding is about."""

    where: Location
    label: str
    main: bool


def _finding(found: Finding, lines_of: Mapping[str, list[str]], style: Style) -> str:
    marks = [Mark(found.location, "", main=True)]
    marks += [Mark(related.location, visible(cut(related.message)), main=False) for related in found.related]
    gutter = max(len(str(mark.where.line)) for mark in marks)
    lines = _head(found, style)
    for number, file in enumerate(dict.fromkeys(mark.where.file for mark in marks)):
        of_file = [mark for mark in marks if mark.where.file == file]
        first = of_file[0].where
        arrow = style.paint("-->" if number == 0 else ":::", BLUE)
        lines.append(f"{' ' * gutter}{arrow} {visible(f'{file}:{first.line}:{first.column}')}")
        lines += _frame(of_file, lines_of.get(file, []), gutter, style, SEVERITIES[found.severity])
    for note in _notes(found):
        first_line, *more = style.lines(visible(cut(note)), gutter + 3, gutter + 5)
        lines += [f"{' ' * gutter} {style.paint('=', BLUE)} {first_line}", *more]
    if found.fix is not None:
        lines += _preview(found.fix, lines_of, gutter, style)
    return "\n".join(lines)


def _preview(fix: Fix, lines_of: Mapping[str, list[str]], gutter: int, style: Style) -> list[str]:
    """The lines that a fix changes, where they are few."""
    room = style.width - gutter - 3
    changed = preview(fix, lines_of, room)
    if not changed or len(changed) > MAX_CHANGED:
        return []
    return [
        style.paint(f"{number:>{gutter}} {sign} {_around(line, at, room)}", ADDED if sign == "+" else REMOVED)
        for sign, number, line, at in changed
    ]


def _around(line: str, at: int, room: int) -> str:
    """The part of a line with the offset ``at`` that there is room for."""
    line, start = near(line, at, room)
    return window(shown_line(line), columns(shown_line(line[:start])), 1, room)[0]


def _frame(marks: list[Mark], lines: list[str], gutter: int, style: Style, colour: str) -> list[str]:
    """The lines of places in one file, with what is meant underlined; only labels for a text not at hand."""
    bar = style.paint("|", BLUE)
    if any(mark.where.line > len(lines) for mark in marks):
        return [f"{' ' * gutter} {bar} {mark.label}" for mark in marks if mark.label]
    shown = [f"{' ' * gutter} {bar}"]
    last = 0
    for mark in sorted(marks, key=lambda mark: (mark.where.line, mark.where.column)):
        where = mark.where
        sign = "^" if mark.main else "-"
        text, underline = underlined(where, lines[where.line - 1], style.width - gutter - 3, sign)
        if where.line != last or CUT in text:
            shown.append(f"{style.paint(f'{where.line:>{gutter}}', BLUE)} {bar} {text}")
        last = where.line
        indent, signs = " " * (len(underline) - len(underline.lstrip())), underline.lstrip()
        told = f"{signs} {mark.label}" if mark.label else signs
        shown.append(f"{' ' * gutter} {bar} {indent}{style.paint(told, colour if mark.main else BLUE)}")
    return shown


def _notes(found: Finding) -> list[str]:
    notes = []
    if found.lowered is not None:
        notes.append(f"lowered: {_lowered_name(found)} {pointer(found.lowered.path)}")
    if found.instances is not None:
        hit, of, ids = found.instances
        named = ", ".join(ids[:MAX_VARIANTS_NAMED]) + (", …" if len(ids) > MAX_VARIANTS_NAMED else "")
        notes.append(f"in {hit} of {of} instances ({named})")
    if found.help:
        notes.append(f"help: {found.help}")
    if found.fix is not None and not found.fix.refused:
        notes.append(f"fix: {found.fix.title} ({'--fix' if found.fix.safe else '--fix --unsafe-fixes'})")
    elif found.fix is not None:
        notes.append(f"no fix: {found.fix.refused}")
    return notes


def _lowered_name(found: Finding) -> str:
    """Such as Pod/bert-worker-{0..31}."""
    lowered = found.lowered
    assert lowered is not None
    first, _, last = lowered.indexes.partition("-")
    if not last or "," in lowered.indexes:
        return f"{lowered.kind}/{lowered.name}"
    return f"{lowered.kind}/{lowered.name.removesuffix(first)}{{{first}..{last}}}"
