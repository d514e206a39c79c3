"""Findings as blocks of text with code frames, for the default format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.checker.check import CheckResult
from podplan.checker.jobs import EXTENDS_LABEL
from podplan.core.findings import Finding, Fix, Location, Severity, to_json_pointer
from podplan.core.typing import NamedTuple
from podplan.report.code_frame import (
    ELLIPSIS,
    clip_line,
    clip_to_width,
    count_columns,
    sanitize_line,
    underline_location,
)
from podplan.report.fixes import ADDED_STYLE, REMOVED_STYLE, preview_fix
from podplan.report.sanitization import escape_text, truncate_text
from podplan.report.terminal_style import BLUE, BOLD, SEVERITY_STYLES, Style
from podplan.report.users import find_user_files, group_by_message, name_some
from podplan.yaml.positions import LINE_BREAK

MAX_LISTED_INSTANCES = 3
MAX_LISTED_REPETITIONS = 5
MAX_PREVIEW_LINES = 6  # lines of a fix


def format_findings(result: CheckResult, style: Style) -> list[str]:
    """Return a block for each error and warning, and one for all infos, which take a line each."""
    lines = {
        file: LINE_BREAK.split(text.lstrip("\ufeff").removesuffix("\n"))
        for file, text in result.redacted_texts.items()
        if text
    }
    listed = [found for found in result.findings if found.severity > Severity.INFO]
    mistakes = [_merge_users(group) for group in group_by_message(listed)]
    blocks = [
        _format_finding(first, lines, style, folded, repetitions)
        for first, folded, repetitions in _fold_repetitions(_fold_findings(mistakes, lines), lines)
    ]
    infos = [_format_info_line(found, style) for found in result.findings if found.severity <= Severity.INFO]
    return [*blocks, "\n".join(infos)] if infos else blocks


def _fold_findings(
    findings: Sequence[Finding], lines_of: Mapping[str, list[str]]
) -> Iterator[tuple[Finding, list[Finding]]]:
    """Yield findings with those that are folded under them: less severe ones about the same value.

    A finding about a mapping is about what is missing in it, so others there have another cause; and one with
    a fix or further locations has more to show. Locations of profiles that extend a base are no reason to
    list findings of the same profiles one by one.
    """
    groups: dict[object, list[Finding]] = {}
    for number, found in enumerate(findings):
        can_fold = found.fix is None and _is_value(found.location, lines_of)
        can_fold &= all(one.message == EXTENDS_LABEL for one in found.related)
        key = (found.location, *find_user_files(found)) if can_fold else number
        groups.setdefault(key, []).append(found)
    for group in groups.values():
        first = max(group, key=lambda found: found.severity)
        yield first, [found for found in group if found is not first]


def _fold_repetitions(
    groups: Iterable[tuple[Finding, list[Finding]]], lines_of: Mapping[str, list[str]]
) -> Iterator[tuple[Finding, list[Finding], list[Finding]]]:
    """Yield each group with the findings that repeat its first one elsewhere in the same object.

    A mistake that is copied to the template of another replica type is one mistake: rule, message and text
    are the same. One with a fix shows its lines, so it is not folded.
    """
    repeated: dict[object, tuple[Finding, list[Finding], list[Finding]]] = {}
    for number, (first, folded) in enumerate(groups):
        findings = [first, *folded]
        key: object = number
        if first.object is not None and all(found.fix is None for found in findings):
            key = (
                first.location.file,
                tuple(sorted((name, str(value)) for name, value in first.object.items())),
                _find_first_line(first.location, lines_of),
                *(
                    (found.rule, found.severity, found.message, found.help, found.instances)
                    for found in findings
                ),
            )
        if key in repeated:
            repeated[key][2].append(first)
        else:
            repeated[key] = (first, folded, [])
    yield from repeated.values()


def _find_first_line(location: Location, lines_of: Mapping[str, list[str]]) -> str:
    """Return what a location underlines of its first line."""
    lines = lines_of.get(location.file, [])
    if location.line > len(lines):
        return ""
    text = lines[location.line - 1][location.column - 1 :]
    return text[: location.end_column - location.column] if location.line == location.end_line else text


def _is_value(location: Location, lines_of: Mapping[str, list[str]]) -> bool:
    """Whether a location is one value, and not the start of a mapping."""
    lines = lines_of.get(location.file, [])
    if location.line != location.end_line or location.line > len(lines):
        return False
    text = lines[location.line - 1][location.column - 1 :]
    width = location.end_column - location.column
    return ":" not in text[:width] and not text[width:].startswith(":")


def _merge_users(equal: list[Finding]) -> Finding:
    """Return the first of several equal findings, with the profiles of all and a few of their lines."""
    if len(equal) == 1:
        return equal[0]
    files = dict.fromkeys(file for finding in equal for file in finding.subject_files)
    related = dict.fromkeys(one for finding in equal[:MAX_LISTED_INSTANCES] for one in finding.related)
    return equal[0]._replace(related=tuple(related), subject_files=tuple(files), instances=None)


def _format_info_line(finding: Finding, style: Style) -> str:
    """Format an info on one line: there are many, and none prevents a job from running."""
    location = finding.location
    location_text = escape_text(f"{location.file}:{location.line}:{location.column}")
    head = f"{finding.severity}[{finding.rule} {finding.name}]"
    wrapped = style.wrap_text(
        f": {location_text}: {escape_text(truncate_text(finding.message))}", len(head), 2
    )
    return "\n".join([style.paint(head, SEVERITY_STYLES[finding.severity]) + wrapped[0], *wrapped[1:]])


def _format_head(finding: Finding, style: Style) -> list[str]:
    head = f"{finding.severity}[{finding.rule} {finding.name}]"
    first, *continuation = style.wrap_text(f": {escape_text(truncate_text(finding.message))}", len(head), 2)
    painted = style.paint(head, SEVERITY_STYLES[finding.severity]) + style.paint(first, BOLD)
    return [painted, *(style.paint(line, BOLD) for line in continuation)]


class FrameLabel(NamedTuple):
    """A location to underline, with its label; ``is_primary`` for the location of the finding."""

    location: Location
    label: str
    is_primary: bool


def _format_finding(
    finding: Finding,
    lines_of: Mapping[str, list[str]],
    style: Style,
    folded: Sequence[Finding],
    repetitions: Sequence[Finding],
) -> str:
    labels = [FrameLabel(finding.location, "", is_primary=True)]
    labels += [
        FrameLabel(related.location, escape_text(truncate_text(related.message)), is_primary=False)
        for related in finding.related
    ]
    gutter = max(len(str(mark.location.line)) for mark in labels)
    lines = _format_head(finding, style)
    for number, file in enumerate(dict.fromkeys(mark.location.file for mark in labels)):
        file_labels = [mark for mark in labels if mark.location.file == file]
        first_location = file_labels[0].location
        arrow = style.paint("-->" if number == 0 else ":::", BLUE)
        lines.append(
            f"{' ' * gutter}{arrow} {escape_text(f'{file}:{first_location.line}:{first_location.column}')}"
        )
        lines += _format_frame(
            file_labels, lines_of.get(file, []), gutter, style, SEVERITY_STYLES[finding.severity]
        )
    also = [f"also: {one.severity}[{one.rule} {one.name}]: {one.message}" for one in folded]
    for note in (*_format_notes(finding), *also, *_format_repetitions(repetitions)):
        first_line, *continuation = style.wrap_text(escape_text(truncate_text(note)), gutter + 3, gutter + 5)
        lines += [f"{' ' * gutter} {style.paint('=', BLUE)} {first_line}", *continuation]
    if finding.fix is not None:
        lines += _format_fix_preview(finding.fix, lines_of, gutter, style)
    return "\n".join(lines)


def _format_repetitions(repetitions: Sequence[Finding]) -> Iterator[str]:
    more = len(repetitions) - MAX_LISTED_REPETITIONS
    for finding in repetitions[:MAX_LISTED_REPETITIONS] if more > 1 else repetitions:
        location, lowered = finding.location, finding.lowered
        object_name = f" ({lowered.kind}/{lowered.folded_name})" if lowered is not None else ""
        yield f"also at {location.file}:{location.line}:{location.column}{object_name}"
    if more > 1:
        yield f"also at {more} more places, which --format concise lists"


def _format_fix_preview(fix: Fix, lines_of: Mapping[str, list[str]], gutter: int, style: Style) -> list[str]:
    """Format the lines that a fix changes, if there are few."""
    width = style.width - gutter - 3
    changed_lines = preview_fix(fix, lines_of, width)
    if not changed_lines or len(changed_lines) > MAX_PREVIEW_LINES:
        return []
    return [
        style.paint(
            f"{number:>{gutter}} {sign} {_clip_around(line, at, width)}",
            ADDED_STYLE if sign == "+" else REMOVED_STYLE,
        )
        for sign, number, line, at in changed_lines
    ]


def _clip_around(line: str, offset: int, width: int) -> str:
    """Clip a line to ``width`` columns around ``offset``."""
    line, start = clip_line(line, offset, width)
    return clip_to_width(sanitize_line(line), count_columns(sanitize_line(line[:start])), 1, width)[0]


def _format_frame(
    labels: list[FrameLabel], lines: list[str], gutter: int, style: Style, colour: str
) -> list[str]:
    """Format the locations in one file, underlined; only the labels if the text is not available."""
    bar = style.paint("|", BLUE)
    if any(mark.location.line > len(lines) for mark in labels):
        return [f"{' ' * gutter} {bar} {mark.label}" for mark in labels if mark.label]
    frame_lines = [f"{' ' * gutter} {bar}"]
    last = 0
    for frame_label in sorted(labels, key=lambda mark: (mark.location.line, mark.location.column)):
        location = frame_label.location
        sign = "^" if frame_label.is_primary else "-"
        text, underline = underline_location(
            location, lines[location.line - 1], style.width - gutter - 3, sign
        )
        if location.line != last or ELLIPSIS in text:
            frame_lines.append(f"{style.paint(f'{location.line:>{gutter}}', BLUE)} {bar} {text}")
        last = location.line
        indent, signs = " " * (len(underline) - len(underline.lstrip())), underline.lstrip()
        underline_text = f"{signs} {frame_label.label}" if frame_label.label else signs
        frame_lines.append(
            f"{' ' * gutter} {bar}"
            f" {indent}{style.paint(underline_text, colour if frame_label.is_primary else BLUE)}"
        )
    return frame_lines


def _format_notes(finding: Finding) -> list[str]:
    notes = []
    if len(files := find_user_files(finding)) > 1:
        notes.append(f"used by {len(files)} files: {name_some(files)}")
    if finding.lowered is not None:
        lowered = finding.lowered
        notes.append(f"lowered: {lowered.kind}/{lowered.folded_name} {to_json_pointer(lowered.path)}")
    if finding.instances is not None:
        affected, total, ids = finding.instances
        instance_names = ", ".join(ids[:MAX_LISTED_INSTANCES]) + (
            ", …" if len(ids) > MAX_LISTED_INSTANCES else ""
        )
        notes.append(f"in {affected} of {total} instances ({instance_names})")
    if finding.help:
        notes.append(f"help: {finding.help}")
    if finding.fix is not None and not finding.fix.refusal_reason:
        notes.append(f"fix: {finding.fix.title} ({'--fix' if finding.fix.safe else '--fix --unsafe-fixes'})")
    elif finding.fix is not None:
        notes.append(f"no fix: {finding.fix.refusal_reason}")
    return notes
