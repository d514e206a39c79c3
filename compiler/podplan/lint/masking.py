"""Secrets in findings and in the texts beside them: stars take their place, so that no report has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from podplan.findings import Edit, Finding, Location, Path
from podplan.kubernetes.shape import mapping
from podplan.lint.anchors import ON_SECRETS
from podplan.lint.apply import apply_one
from podplan.lint.checks._profile_files import documents
from podplan.lint.checks._secrets import names_a_secret, secret_values, secret_variables
from podplan.lint.checks._stars import SHORTEST, Hidden, hidden, without
from podplan.lint.locate import locate
from podplan.lint.policy import Policy
from podplan.lint.subject import Job, for_one
from podplan.provenance import Doc
from podplan.source.places import LINE_BREAK

_NAMED = ("env", "params")  # of a profile


def secrets(known: tuple[Policy, ...], job: Job) -> list[Location]:
    """Where secrets of a job are written, by the rules of ``ON_SECRETS`` among ``known``, on or off."""
    said = (seen for policy in _on_secrets(known) for seen in apply_one(policy, job))
    return [locate(seen.doc, seen.problem.path).location for seen in said]


@for_one
def _on_secrets(known: tuple[Policy, ...]) -> list[Policy]:
    return [policy for policy in known if policy.rule.code in ON_SECRETS]


def secrets_written(doc: Doc) -> Iterator[Location]:
    """Where a document has secrets as it is written: of a job with errors nothing more is known."""
    for path in _paths(doc):
        yield locate(doc, path).location


def has_secrets(doc: Doc) -> bool:
    """Whether a document has any as it is written."""
    return bool(_paths(doc))


@for_one
def _paths(doc: Doc) -> list[Path]:
    return list(secret_variables(doc.data))


def named_in_bases(profile: Doc) -> tuple[Doc, ...]:
    """The documents that a profile was made of, where a file has variables or params named like secrets."""
    behind = documents(profile)
    return behind if any(doc.source is not None and _names_secrets(doc) for doc in behind) else ()


@lru_cache(maxsize=8)
def _names_secrets(file: Doc) -> bool:
    spec = mapping(file.data, "spec")
    names = (name for key in _NAMED for name in mapping(spec, key))
    return any(isinstance(name, str) and names_a_secret(name) for name in names)


def values_of(docs: Iterable[Doc | None]) -> set[str]:
    """What is secret in documents, as text; but for what is so short that it is in any text."""
    found = {value for doc in docs if doc is not None for value in secret_values(doc.data)}
    return {value for value in found if len(value) >= SHORTEST}


def values_set(sets: Mapping[str, str]) -> set[str]:
    """What ``--set`` flags give to what is named like a secret, by their keys."""
    return {
        value
        for key, value in sets.items()
        if len(value) >= SHORTEST and any(map(names_a_secret, key.split(".")))
    }


def without_sets(text: str, sets: Mapping[str, str]) -> str:
    """``text`` with stars for those values."""
    return without(text, hidden(values_set(sets)))


def silent(found: Finding, secrets: Hidden) -> Finding:
    """The finding with stars for ``secrets`` in what it says; a fix that writes one is a secret."""
    fix = found.fix
    if fix is not None:
        fix = fix._replace(
            title=without(fix.title, secrets),
            refused=without(fix.refused, secrets),
            secret=fix.secret or any(without(edit.text, secrets) != edit.text for edit in fix.edits),
        )
    return found._replace(
        message=without(found.message, secrets),
        help=without(found.help, secrets),
        related=tuple(one._replace(message=without(one.message, secrets)) for one in found.related),
        fix=fix,
    )


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
