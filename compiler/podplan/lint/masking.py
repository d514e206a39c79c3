"""Secrets in the texts that are shown beside findings: stars take their place, so that no report has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

from podplan.findings import Edit, Finding, Location
from podplan.lint.anchors import ON_SECRETS
from podplan.lint.apply import apply_one
from podplan.lint.checks._secrets import secret_variables
from podplan.lint.locate import locate
from podplan.lint.policy import Policy
from podplan.lint.subject import Job, for_one
from podplan.provenance import Doc
from podplan.source.places import LINE_BREAK


def secrets(known: tuple[Policy, ...], job: Job) -> list[Location]:
    """Where secrets of a job are written, by the rules of ``ON_SECRETS`` among ``known``, on or off."""
    said = (seen for policy in _on_secrets(known) for seen in apply_one(policy, job))
    return [locate(seen.doc, seen.problem.path).location for seen in said]


@for_one
def _on_secrets(known: tuple[Policy, ...]) -> list[Policy]:
    return [policy for policy in known if policy.rule.code in ON_SECRETS]


def secrets_written(doc: Doc) -> Iterator[Location]:
    """Where a document has secrets as it is written: of a job with errors nothing more is known."""
    for path in secret_variables(doc.data):
        yield locate(doc, path).location


def masked(texts: Mapping[str, str], secrets: Iterable[Location]) -> dict[str, str]:
    """``texts`` by file, with what is at the places of secrets replaced, character by character."""
    places: dict[str, list[Location]] = {}
    for place in secrets:
        places.setdefault(place.file, []).append(place)
    return {file: _without(text, places.get(file, ())) for file, text in texts.items()}


def whole_fixes(
    findings: Iterable[Finding], is_secret: Callable[[str], bool], secrets: Iterable[Location]
) -> list[Finding]:
    """``findings`` with fixes marked as secret in a file that ``is_secret`` or one of ``secrets``."""
    places: dict[str, list[Location]] = {}
    for place in secrets:
        places.setdefault(place.file, []).append(place)

    def touches(edit: Edit) -> bool:
        return is_secret(edit.file) or any(_meet(edit, place) for place in places.get(edit.file, ()))

    return [
        found._replace(fix=found.fix._replace(secret=True))
        if found.fix is not None and any(touches(edit) for edit in found.fix.edits)
        else found
        for found in findings
    ]


def without_secret_fixes(findings: Iterable[Finding]) -> list[Finding]:
    """``findings`` as reports have them: that there is a secret fix is told, and not what it changes."""
    return [
        found._replace(fix=found.fix._replace(edits=()))
        if found.fix is not None and found.fix.secret
        else found
        for found in findings
    ]


def _meet(edit: Edit, place: Location) -> bool:
    """Whether a change lies on a place, or next to it."""
    starts, ends = (edit.line, edit.column), (edit.end_line, edit.end_column)
    return starts <= (place.end_line, place.end_column) and (place.line, place.column) <= ends


def _without(text: str, places: Iterable[Location]) -> str:
    ends = [match.end() for match in LINE_BREAK.finditer(text)] if places else []
    lines = [text[start:end] for start, end in pairwise((0, *ends, len(text)))]
    for place in places:
        for number in range(place.line, min(place.end_line, len(lines)) + 1):
            line = lines[number - 1]
            start = place.column - 1 if number == place.line else 0
            end = place.end_column - 1 if number == place.end_line else len(line.rstrip("\r\n"))
            lines[number - 1] = line[:start] + "*" * (end - start) + line[end:]
    return "".join(lines)
