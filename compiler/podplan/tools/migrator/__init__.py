"""Migrates CRs and profiles: new names for old ones, and the newest dialect for older ones.

Steps are applied one after the other, each to the text from the one before; comments and layout stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

from podplan.core.findings import DocumentFix, Path
from podplan.core.provenance import trace_to_source
from podplan.core.typing import Any, NamedTuple
from podplan.schema.old_spellings import find_current_kind
from podplan.tools.formatter.comments import attach_comments, count_comments
from podplan.tools.formatter.document_spans import DocumentSpan, find_document_spans
from podplan.tools.formatter.rewriting import change_at, rewrite_document
from podplan.tools.migrator.dialects import DialectConversion, find_dialect_conversion
from podplan.tools.migrator.old_spellings import (
    SpellingMigration,
    build_spelling_edits,
    iter_old_spellings,
    move_field,
)
from podplan.tools.migrator.profiles import find_launcher_dialects, iter_override_patches, remove_dialect
from podplan.workspace.documents import classify_documents
from podplan.yaml import Document, SourceFile, parse_yaml
from podplan.yaml.edits.changes import FixRefused
from podplan.yaml.tree import CstNode

SORTS = frozenset({"cr", "profile", "base"})
MAX_STEPS = 1_000  # of one file
MAX_FAILED_STEPS = 4  # reported separately in one file; each takes parsing its document a dozen times
FAILED_REASON = "the text around it does not allow it"
PROFILE_DIALECT_STEP = "colossalai.dialect launcher → replicaSpecs"

_StepKey = tuple[int, Path, str]  # the document, the path, and the action


class MigrationStep(NamedTuple):
    """An applied step at a 1-based line of the text at that time, and its reason; or why it was not
    applied."""

    line: int
    description: str
    reason: str = ""


class MigrationResult(NamedTuple):
    """The migrated text of a file, the applied steps, and those that were refused."""

    text: str
    done_steps: tuple[MigrationStep, ...]
    refused_steps: tuple[MigrationStep, ...]


class _PlannedStep(NamedTuple):
    """A possible step: at which path of which document, and how."""

    document: Document
    path: Path
    description: str
    reason: str
    old_spelling: SpellingMigration | None = None
    conversion: DialectConversion | None = None
    data: Any = None


class _Replacement(NamedTuple):
    """A range of a text, by 0-based offsets, and its replacement."""

    start: int
    end: int
    text: str


def is_migratable(source: SourceFile) -> bool:
    """Whether a file contains a CR, a profile or a base profile."""
    return any(item.category in SORTS for item in classify_documents(source))


def migrate_source(source: SourceFile) -> MigrationResult:
    """Migrate a file without syntax errors."""
    done: list[MigrationStep] = []
    refused: dict[_StepKey, MigrationStep] = {}
    for _ in range(MAX_STEPS):
        made_steps, replacements = _migrate_documents(source, refused)
        after = parse_yaml(_apply_replacements(source.text, replacements).encode(), source.file)
        if not made_steps or after.diagnostics:
            break
        done += [
            MigrationStep(_find_line(wanted), wanted.description, wanted.reason) for wanted in made_steps
        ]
        source = after
    return MigrationResult(source.text, tuple(done), tuple(refused.values()))


def _migrate_documents(
    source: SourceFile, refused: dict[_StepKey, MigrationStep]
) -> tuple[list[_PlannedStep], list[_Replacement]]:
    """Return the steps that can be applied together, and the replaced documents; each is verified separately.

    Changes in place come first, so that reported lines are correct; then moves that do not overlap.
    """
    for select_steps in _select_in_place, _select_disjoint:
        planned_step = select_steps(
            one for one in _iter_planned_steps(source) if _identify_step(one) not in refused
        )
        document_spans = find_document_spans(source.text) if planned_step else []
        made_steps: list[_PlannedStep] = []
        replacements: list[_Replacement] = []
        for index, found in groupby(planned_step, key=lambda one: one.document.index):
            document_span = document_spans[index]  # all documents of a file without syntax errors are counted
            document_steps, text = _apply_most(document_span, list(found), refused)
            if document_steps:
                made_steps += document_steps
                replacements.append(_Replacement(document_span.start, document_span.end, text))
        if made_steps:
            return made_steps, replacements
    return [], []


def _select_in_place(planned_steps: Iterable[_PlannedStep]) -> list[_PlannedStep]:
    return [
        wanted
        for wanted in planned_steps
        if wanted.old_spelling is not None and wanted.old_spelling.change is not None
    ]


def _select_disjoint(planned_steps: Iterable[_PlannedStep]) -> list[_PlannedStep]:
    """Return the first step for each list entry, or document, without those inside another."""
    chosen: list[_PlannedStep] = []
    home_paths: set[tuple[int, Path]] = set()
    parent_paths: set[tuple[int, Path]] = set()
    for planned_step in planned_steps:
        home = _find_enclosing_path(planned_step)
        number = planned_step.document.index
        path_prefixes = {(number, home[:cut]) for cut in range(len(home) + 1)}
        if (number, home) not in parent_paths and home_paths.isdisjoint(path_prefixes):
            chosen.append(planned_step)
            home_paths.add((number, home))
            parent_paths |= path_prefixes
    return chosen


def _find_enclosing_path(planned_step: _PlannedStep) -> Path:
    """Return the innermost list entry that contains a whole change; else the document."""
    if planned_step.description == PROFILE_DIALECT_STEP:
        return ()
    path, target_path = (
        planned_step.path,
        planned_step.old_spelling.target_path if planned_step.old_spelling is not None else planned_step.path,
    )
    common = 0
    while common < min(len(path), len(target_path)) and path[common] == target_path[common]:
        common += 1
    return path[: max((at + 1 for at in range(common) if isinstance(path[at], int)), default=0)]


def _apply_most(
    document_span: DocumentSpan, chosen: list[_PlannedStep], refused: dict[_StepKey, MigrationStep]
) -> tuple[list[_PlannedStep], str]:
    """Apply all ``chosen`` steps to a document; if they conflict, as many as possible, found by bisection.

    Return the applied steps and the new text of the document.
    """
    made_steps, replacements, lost_comments = _plan_replacements(document_span, chosen, refused)
    if not made_steps:
        return [], ""
    replacements.sort()
    if not any(one.end > other.start for one, other in pairwise(replacements)):
        before = made_steps[0].document.text[document_span.start : document_span.end]
        inside = [
            _Replacement(start - document_span.start, end - document_span.start, text)
            for start, end, text in replacements
        ]
        text = _apply_replacements(before, inside)
        if _is_valid_text(before, text, lost_comments):
            return made_steps, text
    failed_count = sum(step.reason == FAILED_REASON for step in refused.values())
    if len(made_steps) == 1 or failed_count >= MAX_FAILED_STEPS:
        refused |= {
            _identify_step(wanted): MigrationStep(_find_line(wanted), wanted.description, FAILED_REASON)
            for wanted in made_steps
        }
        return [], ""
    half = len(made_steps) // 2
    first = _apply_most(document_span, made_steps[:half], refused)
    return first if first[0] else _apply_most(document_span, made_steps[half:], refused)


def _apply_replacements(text: str, cuts: list[_Replacement]) -> str:
    """Return a text with non-overlapping ranges replaced, in order."""
    parts, last = [], 0
    for cut in cuts:
        parts += [text[last : cut.start], cut.text]
        last = cut.end
    return "".join([*parts, text[last:]])


def _is_valid_text(before: str, text: str, lost_comments: Counter[str]) -> bool:
    """Whether a new text of a document is valid, and has all comments except for the removed ones."""
    new_source = parse_yaml(text.encode(), "")
    return (
        text != before
        and not new_source.diagnostics
        and count_comments(new_source) + lost_comments == _count_text_comments(before)
    )


def _identify_step(planned_step: _PlannedStep) -> _StepKey:
    return planned_step.document.index, planned_step.path, planned_step.description


def _find_line(planned_step: _PlannedStep) -> int:
    return planned_step.document.span(planned_step.path, on_key=bool(planned_step.path)).line


def _iter_planned_steps(source: SourceFile) -> Iterator[_PlannedStep]:
    for item in classify_documents(source):
        source_step = trace_to_source(item.doc, ())[-1] if item.doc.source is None else None
        document = item.doc.source if source_step is None else source_step.doc.source
        top: Path = source_step.path if source_step is not None else ()
        if document is None:
            continue
        if item.category == "cr":
            yield from _iter_cr_steps(document, top, item.doc.data)
        elif item.category in ("profile", "base"):
            yield from _iter_profile_steps(document)


def _iter_cr_steps(document: Document, top: Path, cr: Any) -> Iterator[_PlannedStep]:
    for old in iter_old_spellings(cr, top):
        yield _PlannedStep(document, old.path, old.description, old.reason, old)
    conversion = find_dialect_conversion(cr)
    if conversion is not None:
        spec = cr["spec"]
        first = next(name for name in spec if name in conversion.list_old_fields(spec))
        description = f"{', '.join(conversion.old_fields)} → {', '.join(conversion.new_fields)}"
        path = (*top, "spec", first)
        yield _PlannedStep(document, path, description, "", conversion=conversion, data=spec)


def _iter_profile_steps(document: Document) -> Iterator[_PlannedStep]:
    data = document.data
    spec = data.get("spec")
    job = spec.get("job") if isinstance(spec, dict) else None
    if isinstance(job, str) and (kind := find_current_kind(job)):
        path: Path = ("spec", "job")
        old = SpellingMigration(
            path, DocumentFix("", "set", path, kind), path, f"job {job} → {kind}", "the API has no other"
        )
        yield _PlannedStep(document, path, old.description, old.reason, old)
    for top, patch in iter_override_patches(data):
        for old in iter_old_spellings(patch, top):
            yield _PlannedStep(document, old.path, old.description, old.reason, old)
    for path in find_launcher_dialects(data):
        yield _PlannedStep(document, path, PROFILE_DIALECT_STEP, "it is what podplan writes by default")


def _plan_replacements(
    document_span: DocumentSpan, chosen: list[_PlannedStep], refused: dict[_StepKey, MigrationStep]
) -> tuple[list[_PlannedStep], list[_Replacement], Counter[str]]:
    """Return the possible ones of ``chosen``, the replacements for them, and the comments that are
    removed."""
    made_steps: list[_PlannedStep] = []
    replacements: list[_Replacement] = []
    lost_comments: Counter[str] = Counter()
    text = chosen[0].document.text
    before = now = None
    for planned_step in chosen:
        document, old = planned_step.document, planned_step.old_spelling
        try:
            if old is not None and old.change is not None:
                replacements += [
                    _Replacement(edit.start, edit.end, edit.text)
                    for edit in build_spelling_edits(document, old)
                ]
            elif old is None and planned_step.description == PROFILE_DIALECT_STEP:
                new = remove_dialect(document, planned_step.path, document_span)
                replacements.append(_Replacement(document_span.start, document_span.end, new))
                removed_comments = _count_text_comments(
                    text[document_span.start : document_span.end]
                ) - _count_text_comments(new)
                lost_comments += removed_comments
                removal_note = f"; {', '.join(removed_comments)} goes with it" if removed_comments else ""
                planned_step = planned_step._replace(reason=planned_step.reason + removal_note)
            else:
                before = before or attach_comments(
                    text, document_span.tree, document_span.start, document_span.end
                )
                now = (
                    move_field(now or before, old)
                    if old is not None
                    else _convert_spec_dialect(now or before, planned_step)
                )
            made_steps.append(planned_step)
        except FixRefused as error:
            refused[_identify_step(planned_step)] = MigrationStep(
                _find_line(planned_step), planned_step.description, str(error)
            )
    if before and now:
        new = rewrite_document(text, before, now, document_span.start, document_span.end)
        replacements.append(_Replacement(document_span.start, document_span.end, new))
    return made_steps, replacements, lost_comments


def _count_text_comments(text: str) -> Counter[str]:
    return count_comments(parse_yaml(text.encode(), ""))


def _convert_spec_dialect(tree: CstNode, planned_step: _PlannedStep) -> CstNode:
    conversion, data = planned_step.conversion, planned_step.data
    assert conversion is not None
    try:
        return change_at(tree, planned_step.path[:-1], lambda spec: conversion.convert(spec, data))
    except LookupError:
        raise FixRefused("it comes through an alias or a merge key") from None
