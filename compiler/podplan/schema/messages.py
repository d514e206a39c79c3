"""The faults of a document under a JSON Schema, as Problems in words for people.

The words come from the keyword that failed and from the schema around it: ``properties`` for near names,
``description`` for help, and ``patternErrorMessage`` and ``errorMessage``, which editors know too, for what
no keyword can say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from podplan.core.findings import Change, Path, Problem
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.messages import (
    CALLED,
    called_type,
    label,
    meant_field,
    missing,
    not_allowed,
    out_of_range,
    quoted,
    unknown_field,
    unquoted,
)
from podplan.kubernetes.names import shown
from podplan.schema.errors import NO_JSON, UNKNOWN, Fault, as_list
from podplan.schema.old_spellings import old_field, old_value
from podplan.schema.schema_paths import Schema, followed

MOST_TOLD = 100
MOST_LISTED = 8

_DROPPED = (
    "the API server drops fields that it does not know; kubectl refuses them, other clients stay silent"
)


class _Told(NamedTuple):
    """A problem with the field that it misses, or the missing field that it accounts for."""

    problem: Problem
    misses: Path | None = None
    accounts_for: Path | None = None


def problems(found: Iterable[Fault], schema: Schema, kind: str) -> list[Problem]:
    """The faults in words, at most ``MOST_TOLD``; ``kind`` says whose old spellings to look up.

    A missing field is not told beside the misspelt one that accounts for it.
    """
    told: dict[Problem, _Told] = {}
    for fault in found:
        for entry in _worded(fault, schema, kind):
            same = entry.problem._replace(help="")  # of alternatives one may say more
            if same in told and not told[same].problem.help:
                told[same] = entry
            elif len(told) < MOST_TOLD:
                told.setdefault(same, entry)
    accounted = {entry.accounts_for for entry in told.values() if entry.accounts_for}
    missed = {entry.misses for entry in told.values() if entry.misses}
    return [_graded(entry, missed) for entry in told.values() if entry.misses not in accounted]


def _graded(told: _Told, missed: set[Path]) -> Problem:
    """The problem; to rename a field to a required one is safe, as no job ran without that."""
    problem, field = told.problem, told.accounts_for
    if problem.change is None or field is None or field not in missed:
        return problem
    return problem._replace(change=problem.change._replace(safe=problem.change.value == field[-1]))


def with_old_spellings(found: list[Problem], kind: str) -> list[Problem]:
    """The problems of an object of Kubernetes in a CR, old spellings told as such.

    The paths are those in the CR.
    """
    told = [_renamed(problem, kind) for problem in found]
    accounted = {
        ((*problem.path[:-1],), missing(old.covers, ()).message)
        for problem in found
        if problem.rule == "SCHEMA001" and (old := old_field(kind, problem.path))
    }
    return [
        problem
        for problem in told
        if not any(problem.path == path and problem.message.startswith(said) for path, said in accounted)
    ]


def _renamed(problem: Problem, kind: str) -> Problem:
    """``problem`` about an unknown field, told as an old spelling where the field is known as one."""
    old = old_field(kind, problem.path) if problem.rule == "SCHEMA001" else None
    if old is None:
        return problem
    when = f" since {old.until}" if old.until else ""
    called = f'"{problem.path[-1]}" is called "{old.now}"{when}'
    moved = f'write {old.now} instead of "{problem.path[-1]}"'
    message = f"{moved if '.' in old.now else called}; as written, {old.effect}"
    rename = None if "." in old.now else Change(f'call it "{old.now}"', "rename", problem.path, old.now)
    return problem._replace(rule="SCHEMA011", message=message, help=_DROPPED, change=rename)


def _worded(fault: Fault, schema: Schema, kind: str) -> Iterator[_Told]:
    if fault.keyword in UNKNOWN:
        yield from _unknown_fields(fault, kind)
    elif fault.keyword == "required":
        yield _missing_field(fault, schema)
    elif fault.keyword == "propertyNames":
        key = fault.value.instance
        message = f"the key {shown(key)} must be {_form(fault)}"
        yield _Told(Problem("SCHEMA006", message, (*fault.path, key), on_key=True))
    else:
        problem = _WORDS.get(fault.keyword, _other)(fault)
        yield _Told(problem._replace(help=problem.help or old_value(kind, fault.path)))


def _unknown_fields(fault: Fault, kind: str) -> Iterator[_Told]:
    known = [name for name, field in fault.around.get("properties", {}).items() if field is not False]
    for name in fault.value[:MOST_TOLD]:
        problem = unknown_field(name, known, fault.path)
        old = old_field(kind, problem.path)
        covers = old.covers if old else meant_field(name, known)
        yield _Told(_renamed(problem, kind), accounts_for=(*fault.path, covers) if covers else None)


def _missing_field(fault: Fault, schema: Schema) -> _Told:
    names = as_list(fault.value)
    if len(names) > 1:
        message = f"{label(fault.path)} needs {_either([shown(name) for name in names])}"
        return _Told(Problem("SCHEMA003", message, fault.path))
    field = followed(schema, fault.around.get("properties", {}).get(names[0]))
    about: str = field.get("description", "")
    problem = missing(names[0], fault.path, schema=field)
    said = f"{problem.help}, {about[:1].lower()}{about[1:].rstrip('.')}" if about else problem.help
    return _Told(problem._replace(help=said), misses=(*fault.path, names[0]))


def _wrong_type(fault: Fault) -> Problem:
    value = fault.instance
    wanted = [name for name in as_list(fault.value) if name != "null"] or ["null"]
    message = (
        f"{label(fault.path)} must be {_either([CALLED[name] for name in wanted])}, not {called_type(value)}"
    )
    words = fault.around.get("items", {}).get("type") == "string"
    change = None
    if wanted == ["string"] and isinstance(value, bool | int | float):
        change = quoted(fault.path)
    elif isinstance(value, str) and len(wanted) == 1:
        change = unquoted(value, wanted[0], fault.path)
    hint = _as_it_should_be(value, wanted, words)
    is_plain = {"integer", "number", "boolean"}.issuperset(wanted)
    help = "" if hint or is_plain or not fault.about else f"{label(fault.path)}: {fault.about}"
    return Problem("SCHEMA002", message + hint, fault.path, help=help, change=change)


def _as_it_should_be(value: Any, wanted: list[str], words: bool) -> str:
    """What to write instead; the text of a string is left out, for it may be a secret."""
    if wanted == ["string"] and isinstance(value, bool | int | float):
        return f'; write "{shown(value)}", in quotes'
    if wanted == ["array"] and words and isinstance(value, str):
        return "; write a list, one word per entry"
    if not isinstance(value, str):
        return ""
    number = {"integer", "number"} & set(wanted) and value.isascii() and value.isdigit()
    flag = "boolean" in wanted and value in ("true", "false")
    return f"; write {shown(value)[1:-1]}, without quotes" if number or flag else ""


def _not_allowed(fault: Fault) -> Problem:
    options, value = [str(option) for option in as_list(fault.value)], fault.instance
    if isinstance(value, str):
        return not_allowed(value, options, fault.path)
    meant = str(value) in options
    hint = f'; write "{value}", in quotes' if meant else ""
    message = f"{label(fault.path)} must be {_either(options)}, not {called_type(value)}{hint}"
    return Problem("SCHEMA002", message, fault.path, change=quoted(fault.path) if meant else None)


def _out_of_range(fault: Fault) -> Problem:
    return out_of_range(fault.instance, fault.around.get("minimum"), fault.around.get("maximum"), fault.path)


def _wrong_length(fault: Fault) -> Problem:
    end, what = fault.keyword[:3], fault.keyword[3:]
    one, many = {"Items": ("entry", "entries"), "Properties": ("field", "fields")}.get(
        what, ("character", "characters")
    )
    bound = f"at {'least' if end == 'min' else 'most'} {fault.value} {one if fault.value == 1 else many}"
    message = f"{label(fault.path)} must have {bound}, not {len(fault.instance)}"
    if fault.keyword == "maxProperties" and fault.value == 1:
        message += f"; keep {_either([shown(name) for name in list(fault.instance)[:MOST_LISTED]])}"
    return Problem("SCHEMA005", message, fault.path)


def _wrong_form(fault: Fault) -> Problem:
    message = f"{label(fault.path)} must be {_form(fault)}, not {shown(fault.instance)}"
    return Problem("SCHEMA006", message, fault.path)


def _repeated(fault: Fault) -> Problem:
    return Problem("SCHEMA007", f"{label(fault.path)} has the same entry twice", fault.path)


def _refused_together(fault: Fault) -> Problem:
    """Fields that may not stand together, told at the last of them and related to the others."""
    if len(fault.value) < 2:
        return _other(fault)
    *others, last = fault.value
    quoted = f"{', '.join(shown(name) for name in others)} and {shown(last)}"
    related = tuple(((*fault.path, name), f"{shown(name)} is here") for name in others)
    message = f"{quoted} may not stand together in {label(fault.path)}; keep one of them"
    return Problem("SCHEMA009", message, (*fault.path, last), on_key=True, related=related)


def _no_json(fault: Fault) -> Problem:
    message = "the document holds text that is not Unicode, or a key that is not a string"
    return Problem("SCHEMA006", message, fault.path)


def _out_of_place(fault: Fault) -> Problem:
    said = fault.around.get("errorMessage", "may not stand here")
    return Problem("SCHEMA009", f"{label(fault.path)} {said}", fault.path, on_key=True)


def _other(fault: Fault) -> Problem:
    said = fault.around.get("errorMessage", f"does not satisfy {fault.keyword} of its schema")
    return Problem("SCHEMA009", f"{label(fault.path)} {said}", fault.path)


_WORDS: dict[str, Callable[[Fault], Problem]] = {
    "type": _wrong_type,
    "enum": _not_allowed,
    "const": _not_allowed,
    "pattern": _wrong_form,
    "uniqueItems": _repeated,
    "not": _refused_together,
    "falseSchema": _out_of_place,
    NO_JSON: _no_json,
    **dict.fromkeys(("minimum", "maximum"), _out_of_range),
    **dict.fromkeys(
        ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"), _wrong_length
    ),
}


def _form(fault: Fault) -> str:
    said: str | None = fault.around.get("patternErrorMessage")
    return said or f"of the form {fault.around.get('pattern')}"


def _either(words: list[str]) -> str:
    unique = list(dict.fromkeys(words))
    return unique[0] if len(unique) == 1 else ", ".join(unique[:-1]) + " or " + unique[-1]
