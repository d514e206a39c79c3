"""The format for people: each finding with the lines that it is about."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.check import Result
from podplan.findings import Finding, Location, Severity, pointer
from podplan.report.frame import underlined
from podplan.report.style import BLUE, BOLD, PLAIN, SEVERITIES, Style
from podplan.report.summary import summary_line
from podplan.report.visible import visible
from podplan.source.places import LINE_BREAK

MAX_VARIANTS_NAMED = 3


def render(result: Result, style: Style = PLAIN) -> str:
    """Errors and warnings with their source frames, infos in a line each, and a line that sums up."""
    lines = {
        file: LINE_BREAK.split(text.removeprefix("\ufeff").removesuffix("\n"))
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
    return f"{_head(found, style)}: {place}: {visible(found.message)}"


def _head(found: Finding, style: Style) -> str:
    return style.paint(f"{found.severity}[{found.rule} {found.name}]", SEVERITIES[found.severity])


def _finding(found: Finding, lines_of: Mapping[str, list[str]], style: Style) -> str:
    shown = [(found.location, "")]
    shown += [(related.location, related.message) for related in found.related]
    gutter = max(len(str(where.line)) for where, _ in shown)
    lines = [f"{_head(found, style)}{style.paint(': ' + visible(found.message), BOLD)}"]
    for number, (where, label) in enumerate(shown):
        arrow = style.paint("-->" if number == 0 else ":::", BLUE)
        place = visible(f"{where.file}:{where.line}:{where.column}")
        lines.append(f"{' ' * gutter}{arrow} {place}")
        colour = SEVERITIES[found.severity] if number == 0 else BLUE
        mark = "^" if number == 0 else "-"
        lines += _frame(where, visible(label), lines_of.get(where.file, []), gutter, mark, style, colour)
    lines += [f"{' ' * gutter} {style.paint('=', BLUE)} {visible(note)}" for note in _notes(found)]
    return "\n".join(lines)


def _frame(
    where: Location, label: str, lines: list[str], gutter: int, mark: str, style: Style, colour: str
) -> list[str]:
    """The line of a place with what it is about underlined; nothing for a text that is not at hand."""
    bar = style.paint("|", BLUE)
    if where.line > len(lines):
        return [f"{' ' * gutter} {bar} {label}"] if label else []
    text, underline = underlined(where, lines[where.line - 1], style.width - gutter - 3, mark)
    number = style.paint(f"{where.line:>{gutter}}", BLUE)
    below = style.paint(underline.lstrip() + (f" {label}" if label else ""), colour)
    return [
        f"{' ' * gutter} {bar}",
        f"{number} {bar} {text}",
        f"{' ' * gutter} {bar} {' ' * (len(underline) - len(underline.lstrip()))}{below}",
    ]


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
    return notes


def _lowered_name(found: Finding) -> str:
    """Such as Pod/bert-worker-{0..31}."""
    lowered = found.lowered
    assert lowered is not None
    first, _, last = lowered.indexes.partition("-")
    if not last or "," in lowered.indexes:
        return f"{lowered.kind}/{lowered.name}"
    return f"{lowered.kind}/{lowered.name.removesuffix(first)}{{{first}..{last}}}"
