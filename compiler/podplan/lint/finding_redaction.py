"""Findings without secrets: what they say, what their fixes write, and the lines that reports show."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from podplan.core.findings import Edit, Finding, Location, Related
from podplan.core.provenance import TracedDocument
from podplan.lint.analysis.profile_files import find_contributing_documents
from podplan.redaction.detection import iter_secret_values
from podplan.redaction.redactor import REDACTED, Redactor

Spans = list[tuple[int, int]]


def build_document_redactor(docs: Iterable[TracedDocument | None], values: Iterable[str] = ()) -> Redactor:
    """What hides the secrets of documents and of all that they were made of, and further ``values``."""
    return Redactor([*values, *secrets_behind(docs)])


def secrets_behind(docs: Iterable[TracedDocument | None]) -> Iterator[str]:
    """The secrets of documents and of all that they were made of."""
    behind = {id(one): one for doc in docs if doc is not None for one in find_contributing_documents(doc)}
    return (value for doc in behind.values() for value in _find_secret_values(doc))


@lru_cache(maxsize=8)
def _find_secret_values(doc: TracedDocument) -> tuple[str, ...]:
    return tuple(iter_secret_values(doc.data))


def redact_finding(finding: Finding, redactor: Redactor) -> Finding:
    """A finding that says nothing of the secrets; a fix that writes one is a secret itself."""
    redact_text, fix = redactor.redact_text, finding.fix
    if fix is not None:
        is_secret = fix.contains_secret or any(redact_text(edit.text) != edit.text for edit in fix.edits)
        fix = fix._replace(
            title=redact_text(fix.title),
            refusal_reason=redact_text(fix.refusal_reason),
            contains_secret=is_secret,
        )
    related = tuple(
        Related(_redact_location(one.location, redactor), redact_text(one.message)) for one in finding.related
    )
    return finding._replace(
        message=redact_text(finding.message),
        help=redact_text(finding.help),
        location=_redact_location(finding.location, redactor),
        related=related,
        fix=fix,
    )


def _redact_location(location: Location, redactor: Redactor) -> Location:
    """A location without secrets in its path, as {abc} has one that was meant as text."""
    if redactor.values.isdisjoint(location.path):
        return location
    return location._replace(
        path=tuple(REDACTED if step in redactor.values else step for step in location.path)
    )


def mark_secret_fixes(
    findings: Iterable[Finding], secret_files: Collection[str], secret_spans: Mapping[str, Spans]
) -> list[Finding]:
    """Return ``findings``, with fixes marked as secret that edit ``secret_files`` or touch ``secret_spans``.

    The spans of a file are sorted.
    """

    def touches_secret(edit: Edit) -> bool:
        file_spans = secret_spans.get(edit.file, [])
        index = (
            bisect_right(file_spans, (edit.end, sys.maxsize)) - 1
        )  # the last that begins before the edit ends
        return edit.file in secret_files or (index >= 0 and edit.start <= file_spans[index][1])

    return [
        found._replace(fix=found.fix._replace(contains_secret=True))
        if found.fix is not None and any(touches_secret(edit) for edit in found.fix.edits)
        else found
        for found in findings
    ]


def remove_secret_edits(findings: Iterable[Finding]) -> list[Finding]:
    """``findings`` as reports have them: that there is a secret fix is said, and not what it changes."""
    return [
        found._replace(fix=found.fix._replace(edits=()))
        if found.fix is not None and found.fix.contains_secret
        else found
        for found in findings
    ]
