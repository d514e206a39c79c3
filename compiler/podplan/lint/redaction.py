"""Findings without secrets: what they say, what their fixes write, and the lines that reports show."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from podplan.core.findings import Edit, Finding, Location, Related
from podplan.core.provenance import Doc
from podplan.lint.analysis.profile_files import documents
from podplan.redaction.detection import secret_values
from podplan.redaction.redactor import REDACTED, Redactor

Spans = list[tuple[int, int]]


def redactor_for(docs: Iterable[Doc | None], values: Iterable[str] = ()) -> Redactor:
    """What hides the secrets of documents and of all that they were made of, and further ``values``."""
    return Redactor([*values, *secrets_behind(docs)])


def secrets_behind(docs: Iterable[Doc | None]) -> Iterator[str]:
    """The secrets of documents and of all that they were made of."""
    behind = {id(one): one for doc in docs if doc is not None for one in documents(doc)}
    return (value for doc in behind.values() for value in _values(doc))


@lru_cache(maxsize=8)
def _values(doc: Doc) -> tuple[str, ...]:
    return tuple(secret_values(doc.data))


def redact_finding(found: Finding, redactor: Redactor) -> Finding:
    """A finding that says nothing of the secrets; a fix that writes one is a secret itself."""
    hide, fix = redactor.text, found.fix
    if fix is not None:
        secret = fix.secret or any(hide(edit.text) != edit.text for edit in fix.edits)
        fix = fix._replace(title=hide(fix.title), refused=hide(fix.refused), secret=secret)
    related = tuple(Related(_redact_path(one.location, redactor), hide(one.message)) for one in found.related)
    return found._replace(
        message=hide(found.message),
        help=hide(found.help),
        location=_redact_path(found.location, redactor),
        related=related,
        fix=fix,
    )


def _redact_path(where: Location, redactor: Redactor) -> Location:
    """A location without secrets in its path, as {abc} has one that was meant as text."""
    if redactor.values.isdisjoint(where.path):
        return where
    return where._replace(path=tuple(REDACTED if step in redactor.values else step for step in where.path))


def mark_secret_fixes(
    findings: Iterable[Finding], hidden: Collection[str], spans: Mapping[str, Spans]
) -> list[Finding]:
    """``findings``, with fixes marked as secret that change a ``hidden`` file or touch ordered ``spans``."""

    def touches(edit: Edit) -> bool:
        known = spans.get(edit.file, [])
        at = bisect_right(known, (edit.end, sys.maxsize)) - 1  # the last that begins before the edit ends
        return edit.file in hidden or (at >= 0 and edit.start <= known[at][1])

    return [
        found._replace(fix=found.fix._replace(secret=True))
        if found.fix is not None and any(touches(edit) for edit in found.fix.edits)
        else found
        for found in findings
    ]


def remove_secret_edits(findings: Iterable[Finding]) -> list[Finding]:
    """``findings`` as reports have them: that there is a secret fix is said, and not what it changes."""
    return [
        found._replace(fix=found.fix._replace(edits=()))
        if found.fix is not None and found.fix.secret
        else found
        for found in findings
    ]
