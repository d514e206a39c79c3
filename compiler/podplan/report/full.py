"""The format for people: each finding with the lines that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from unicodedata import combining, east_asian_width

from podplan.check import Result
from podplan.findings import Finding, Location, Severity, pointer
from podplan.report.summary import summary_line
from podplan.source.places import LINE_BREAK

TAB = "    "
MAX_UNDERLINED = 120
MAX_VARIANTS_NAMED = 3


def render(result: Result) -> str:
    """Errors and warnings with their source frames, infos in a line each, and a line that sums up."""
    lines = {file: LINE_BREAK.split(text.removesuffix("\n")) for file, text in result.texts.items() if text}
    blocks = [_finding(found, lines) for found in result.findings if found.severity > Severity.INFO]
    infos = [_line(found) for found in result.findings if found.severity <= Severity.INFO]
    if infos:
        blocks.append("\n".join(infos))
    return "\n\n".join([*blocks, summary_line(result)]) + "\n"


def _line(found: Finding) -> str:
    """An info in one line: there are many, and they keep nothing from running."""
    where = found.location
    place = f"{where.file}:{where.line}:{where.column}"
    return f"{found.severity}[{found.rule} {found.name}]: {place}: {found.message}"


def _finding(found: Finding, lines_of: Mapping[str, list[str]]) -> str:
    shown = [(found.location, "")]
    shown += [(related.location, related.message) for related in found.related]
    width = max(len(str(where.line)) for where, _ in shown)
    lines = [f"{found.severity}[{found.rule} {found.name}]: {found.message}"]
    for number, (where, label) in enumerate(shown):
        arrow = "-->" if number == 0 else ":::"
        lines.append(f"{' ' * width}{arrow} {where.file}:{where.line}:{where.column}")
        lines += _frame(where, label, lines_of.get(where.file, []), width, "^" if number == 0 else "-")
    lines += [f"{' ' * width} = {note}" for note in _notes(found)]
    return "\n".join(lines)


def _frame(where: Location, label: str, lines: list[str], width: int, mark: str) -> list[str]:
    """The line of a place with what it is about underlined; nothing for a text that is not at hand."""
    if where.line > len(lines):
        return [f"{' ' * width} | {label}"] if label else []
    line = lines[where.line - 1]
    end = where.end_column if where.end_line == where.line else len(line.rstrip()) + 1
    before, marked = line[: where.column - 1], line[where.column - 1 : end - 1]
    length = max(1, min(_columns(marked), MAX_UNDERLINED))
    gutter, shown = " " * width, line.replace("\t", TAB)
    underline = f"{' ' * _columns(before)}{mark * length}{' ' + label if label else ''}"
    return [
        f"{gutter} |",
        f"{where.line:>{width}} | {shown}",
        f"{gutter} | {underline}",
    ]


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if character == "\t":
        return len(TAB)
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


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
