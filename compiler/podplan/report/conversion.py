"""The result of ``podplan migrate --to``: the conversion of each field, and differences of the processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.structural_diff import ABSENT
from podplan.core.truncation import truncate
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.report.markdown import escape_markdown, format_code
from podplan.report.sanitization import escape_text

if TYPE_CHECKING:
    from podplan.tools.migrator.conversions import FileConversion, JobConversion
    from podplan.tools.migrator.process_comparison import Aspect, ProcessComparison

OUTCOMES = {"lost": "to do", "changed": "changed", "same": "note"}
TITLES = {
    "processes": "processes",
    "variables": "variables of the processes",
    "Pods": "Pods",
    "life": "life of the job",
}
MAX_ASPECTS = 40  # of one group
_MAX_VALUE_LENGTH = 90
_ALWAYS_SHOWN = ("nodes", "processes", "training")


def render_text(conversions: Sequence[FileConversion]) -> str:
    """Render the files, each with its jobs."""
    return "".join(f"{escape_text(line)}\n" for one in conversions for line in _iter_file_lines(one))


def _iter_file_lines(conversion: FileConversion) -> Iterator[str]:
    yield f"{conversion.file}:"
    for job in conversion.jobs:
        yield from _iter_job_lines(job)
    if conversion.withheld:
        yield f"  nothing is written: {conversion.withheld}"


def _iter_job_lines(job: JobConversion) -> Iterator[str]:
    yield f"  line {job.line}: {_describe_job(job)}"
    for decision in job.decisions:
        yield f"    line {decision.line}: {OUTCOMES[decision.outcome]}: {decision.text}"
    if job.failure:
        yield f"    {job.new_name} cannot be lowered: {job.failure}"
    if job.comparison is None:
        return
    yield f"    objects: {_count(job.comparison.objects[0])} → {_count(job.comparison.objects[1])}"
    for warning in job.comparison.warnings:
        yield f"    warning: {warning}"
    for group, title in TITLES.items():
        aspects = select_aspects(job.comparison, group)
        if aspects:
            yield f"    {title}:"
        for aspect in aspects[:MAX_ASPECTS]:
            yield f"      {_format_aspect(aspect)}"
        if len(aspects) > MAX_ASPECTS:
            yield f"      and {len(aspects) - MAX_ASPECTS} more"


def _describe_job(job: JobConversion) -> str:
    if job.reason:
        return f"{job.old_name} is not migrated: {job.reason}"
    return f"{job.old_name} → {job.new_name}"


def select_aspects(comparison: ProcessComparison, group: str) -> list[Aspect]:
    """Return the aspects of a group that differ, and the counts, which are always shown."""
    return [
        one
        for one in comparison.aspects
        if one.group == group and (not one.is_same or one.name in _ALWAYS_SHOWN)
    ]


def _format_aspect(aspect: Aspect) -> str:
    name = f"{aspect.name} ({aspect.where})" if aspect.where else aspect.name
    before, after = format_value(aspect.before), format_value(aspect.after)
    if aspect.is_same:
        return f"{name}: {after}, as before"
    if aspect.before is ABSENT:
        return f"{name}: {after}, which was not there"
    if aspect.after is ABSENT:
        return f"{name}: no more {before}"
    return f"{name}: {before} → {after}"


def format_value(value: Any) -> str:
    """Return a value as one line: a text as it is, everything else as JSON."""
    if value is ABSENT:
        return ""
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False, default=str)
    return truncate(text, _MAX_VALUE_LENGTH)


def _count(objects: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}{'' if number == 1 else 's'}" for kind, number in objects.items())


def render_json(conversions: Sequence[FileConversion]) -> str:
    """Render one JSON object, with ``format: 1``."""
    document = {"format": 1, "files": [_build_file(one) for one in conversions]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _build_file(conversion: FileConversion) -> dict[str, Any]:
    return {
        "file": conversion.file,
        "changes": conversion.after != conversion.before and not conversion.withheld,
        "withheld": conversion.withheld,
        "jobs": [_build_job(job) for job in conversion.jobs],
    }


def _build_job(job: JobConversion) -> dict[str, Any]:
    comparison = job.comparison
    return {
        "line": job.line,
        "from": job.old_name,
        "to": job.new_name or None,
        "reason": job.reason or job.failure or None,
        "decisions": [decision._asdict() for decision in job.decisions],
        "warnings": list(comparison.warnings) if comparison else [],
        "objects": {"before": dict(comparison.objects[0]), "after": dict(comparison.objects[1])}
        if comparison
        else None,
        "aspects": [_build_aspect(one) for one in comparison.aspects] if comparison else [],
    }


def _build_aspect(aspect: Aspect) -> dict[str, Any]:
    return {
        "group": aspect.group,
        "name": aspect.name,
        "where": aspect.where or None,
        "before": None if aspect.before is ABSENT else aspect.before,
        "after": None if aspect.after is ABSENT else aspect.after,
        "same": aspect.is_same,
    }


def render_markdown(conversions: Sequence[FileConversion]) -> str:
    """Render a section for each job, for a comment in a pull request."""
    return "".join(f"{line}\n" for one in conversions for line in _iter_markdown(one))


def _iter_markdown(conversion: FileConversion) -> Iterator[str]:
    for job in conversion.jobs:
        yield f"### {escape_markdown(_describe_job(job))}"
        yield ""
        yield f"{format_code(f'{conversion.file}:{job.line}')}"
        yield ""
        if job.decisions:
            yield "| line | | field |"
            yield "|---|---|---|"
            for decision in job.decisions:
                yield f"| {decision.line} | {OUTCOMES[decision.outcome]} | {escape_markdown(decision.text)} |"
            yield ""
        if job.failure:
            yield f"{escape_markdown(f'{job.new_name} cannot be lowered: {job.failure}')}"
            yield ""
        if job.comparison is not None:
            yield from _iter_markdown_comparison(job.comparison)
    if conversion.withheld:
        yield f"Nothing is written: {escape_markdown(conversion.withheld)}"
        yield ""


def _iter_markdown_comparison(comparison: ProcessComparison) -> Iterator[str]:
    for warning in comparison.warnings:
        yield f"**Warning:** {escape_markdown(warning)}"
        yield ""
    yield "| | before | after |"
    yield "|---|---|---|"
    yield f"| objects | {_count(comparison.objects[0])} | {_count(comparison.objects[1])} |"
    for group in TITLES:
        aspects = select_aspects(comparison, group)
        for aspect in aspects[:MAX_ASPECTS]:
            name = f"{aspect.name} ({aspect.where})" if aspect.where else aspect.name
            cells = (name, format_value(aspect.before), format_value(aspect.after))
            yield f"| {' | '.join(map(escape_markdown, cells))} |"
        if len(aspects) > MAX_ASPECTS:
            yield f"| {len(aspects) - MAX_ASPECTS} more | | |"
    yield ""
