"""Secrets in the texts that are shown beside findings: stars take their place, so that no report has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from podplan.findings import Edit, Finding, Location
from podplan.lint.apply import apply
from podplan.lint.checks._secrets import is_secret, names_a_secret
from podplan.lint.locate import locate
from podplan.lint.policy import Policy
from podplan.lint.subject import Job
from podplan.provenance import Doc, Path
from podplan.source.places import LINE_BREAK

# The rules whose findings lie on a secret.
ON_SECRETS = frozenset({"PROF107"})
_PIN = re.compile("[0-9]{4,}")


def secrets(known: Iterable[Policy], job: Job) -> list[Location]:
    """Where secrets of a job are written, by the rules of ``ON_SECRETS`` among ``known``, on or off."""
    rules = [policy for policy in known if policy.rule.code in ON_SECRETS]
    return [locate(seen.doc, seen.problem.path).location for seen in apply(rules, job)]


def secrets_written(doc: Doc) -> Iterator[Location]:
    """Where a document has secrets as it is written: of a job with errors nothing more is known."""
    for path in _variables(doc.data):
        yield locate(doc, path).location


def _variables(data: Any) -> Iterator[Path]:
    """The values of variables that look secret: entries with a name and a value, and mappings called env."""
    nodes: list[tuple[Path, Any]] = [((), data)]
    while nodes:
        path, node = nodes.pop()
        if isinstance(node, list):
            nodes += [((*path, number), entry) for number, entry in enumerate(node)]
        elif isinstance(node, dict):
            name, value = node.get("name"), node.get("value")
            if isinstance(name, str) and _hides(name, value):
                yield (*path, "value")
            for key, below in node.items():
                if path and path[-1] == "env" and isinstance(key, str) and _hides(key, below):
                    yield (*path, key)
                elif isinstance(below, dict | list):
                    nodes.append(((*path, key), below))


def _hides(name: str, value: Any) -> bool:
    """Whether a variable holds a secret; a number may be one too, which nobody is told of but is masked."""
    if isinstance(value, str) and is_secret(name, value):
        return True
    number = isinstance(value, str | int) and not isinstance(value, bool) and _PIN.fullmatch(str(value))
    return number is not None and number is not False and names_a_secret(name)


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
