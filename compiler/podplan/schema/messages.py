"""Diagnostics for the errors of a document under a JSON Schema.

The words come from the failed keyword and from the schema around it: ``properties`` for suggestions,
``description`` for help, and ``patternErrorMessage`` and ``errorMessage``, which editors use too, for what no
keyword expresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from podplan.core.findings import Diagnostic, DocumentFix, Path
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.messages import (
    TYPE_NAMES,
    build_quote_fix,
    build_unquote_fix,
    describe_type,
    diagnose_missing_field,
    diagnose_not_allowed,
    diagnose_out_of_range,
    diagnose_unknown_field,
    format_label,
    suggest_field,
)
from podplan.kubernetes.names import format_value
from podplan.schema.errors import NOT_JSON, UNKNOWN_FIELD_KEYWORDS, SchemaError, to_list
from podplan.schema.old_spellings import find_old_spelling, find_old_value_note
from podplan.schema.profile_words import find_profile_field, get_first_step
from podplan.schema.schema_paths import Schema, follow_reference

MAX_REPORTED = 100
MAX_LISTED = 8

DROPPED_FIELD_HELP = "the API server drops unknown fields; kubectl rejects them, other clients do not warn"

_PROFILE_KIND = "JobProfile"


class _ReportedDiagnostic(NamedTuple):
    """A diagnostic with the field that is missing, or with the missing field that it explains."""

    diagnostic: Diagnostic
    missing_field: Path | None = None
    replaced_field: Path | None = None


def build_diagnostics(schema_errors: Iterable[SchemaError], schema: Schema, kind: str) -> list[Diagnostic]:
    """Build diagnostics for the errors, at most ``MAX_REPORTED``; ``kind`` selects the old spellings.

    A missing field is not reported if a misspelt one explains it.
    """
    reported: dict[Diagnostic, _ReportedDiagnostic] = {}
    for schema_error in schema_errors:
        for entry in _report_error(schema_error, schema, kind):
            unique_key = entry.diagnostic._replace(help="")  # alternatives may differ only in their help
            if unique_key in reported and not reported[unique_key].diagnostic.help:
                reported[unique_key] = entry
            elif len(reported) < MAX_REPORTED:
                reported.setdefault(unique_key, entry)
    replaced_fields = {entry.replaced_field for entry in reported.values() if entry.replaced_field}
    missing_fields = {entry.missing_field for entry in reported.values() if entry.missing_field}
    return [
        _mark_safe_rename(entry, missing_fields)
        for entry in reported.values()
        if entry.missing_field not in replaced_fields
    ]


def _mark_safe_rename(reported: _ReportedDiagnostic, missing_fields: set[Path]) -> Diagnostic:
    """Return the diagnostic; renaming a field to a required one is safe, because the job could not run
    without it."""
    diagnostic, field = reported.diagnostic, reported.replaced_field
    if diagnostic.fix is None or field is None or field not in missing_fields:
        return diagnostic
    return diagnostic._replace(fix=diagnostic.fix._replace(safe=diagnostic.fix.value == field[-1]))


def explain_old_spellings(diagnostics: list[Diagnostic], kind: str) -> list[Diagnostic]:
    """Return the diagnostics of a Kubernetes object in a CR, with old spellings explained.

    The paths are those in the CR.
    """
    explained = [_explain_old_spelling(problem, kind) for problem in diagnostics]
    replaced_messages = {
        ((*problem.path[:-1],), diagnose_missing_field(old.replaced_field, ()).message)
        for problem in diagnostics
        if problem.rule == "SCHEMA001" and (old := find_old_spelling(kind, problem.path))
    }
    return [
        problem
        for problem in explained
        if not any(
            problem.path == path and problem.message.startswith(said) for path, said in replaced_messages
        )
    ]


def _explain_old_spelling(diagnostic: Diagnostic, kind: str) -> Diagnostic:
    """Return ``diagnostic`` about an unknown field, as an old spelling if the field is known as one."""
    old_spelling = find_old_spelling(kind, diagnostic.path) if diagnostic.rule == "SCHEMA001" else None
    if old_spelling is None:
        return diagnostic
    since = f" since {old_spelling.until}" if old_spelling.until else ""
    renamed_message = f'"{diagnostic.path[-1]}" is called "{old_spelling.current_name}"{since}'
    moved_message = f'write {old_spelling.current_name} instead of "{diagnostic.path[-1]}"'
    message = (
        f"{moved_message if '.' in old_spelling.current_name else renamed_message}; as written,"
        f" {old_spelling.effect}"
    )
    rename = (
        None
        if "." in old_spelling.current_name
        else DocumentFix(
            f'rename it to "{old_spelling.current_name}"',
            "rename",
            diagnostic.path,
            old_spelling.current_name,
        )
    )
    return diagnostic._replace(rule="SCHEMA011", message=message, help=DROPPED_FIELD_HELP, fix=rename)


def _report_error(schema_error: SchemaError, schema: Schema, kind: str) -> Iterator[_ReportedDiagnostic]:
    if schema_error.keyword in UNKNOWN_FIELD_KEYWORDS:
        yield from _report_unknown_fields(schema_error, schema, kind)
    elif schema_error.keyword == "required":
        yield _report_missing_field(schema_error, schema)
    elif schema_error.keyword == "propertyNames":
        key = schema_error.expected.instance
        message = f"the key {format_value(key)} must be {_describe_pattern(schema_error)}"
        yield _ReportedDiagnostic(Diagnostic("SCHEMA006", message, (*schema_error.path, key), on_key=True))
    else:
        diagnostic = _DIAGNOSE_BY_KEYWORD.get(schema_error.keyword, _diagnose_other)(schema_error)
        yield _ReportedDiagnostic(
            diagnostic._replace(help=diagnostic.help or find_old_value_note(kind, schema_error.path))
        )


def _report_unknown_fields(
    schema_error: SchemaError, schema: Schema, kind: str
) -> Iterator[_ReportedDiagnostic]:
    known_fields = [
        name for name, field in schema_error.parent_schema.get("properties", {}).items() if field is not False
    ]
    for name in schema_error.expected[:MAX_REPORTED]:
        diagnostic = diagnose_unknown_field(name, known_fields, schema_error.path)
        old_spelling = find_old_spelling(kind, diagnostic.path)
        profile_field = (
            find_profile_field(name, known_fields, schema_error.path) if kind == _PROFILE_KIND else ""
        )
        if profile_field:
            message = f'unknown field "{name}"; write {profile_field} instead'
            step = get_first_step(profile_field)
            section = "" if step == "metadata" else "spec."
            help_text = f"podplan explain JobProfile.{section}{step} says what it takes"
            yield _ReportedDiagnostic(
                diagnostic._replace(message=message, help=help_text, fix=None),
                replaced_field=(*schema_error.path, step),
            )
            continue
        section = "" if old_spelling else _find_section_of(name, schema_error, schema)
        if section:
            message = f'unknown field "{name}"; it belongs in {section}'
            help_text = f"write it as {section}.{name}"
            yield _ReportedDiagnostic(diagnostic._replace(message=message, help=help_text, fix=None))
            continue
        replaced_field = old_spelling.replaced_field if old_spelling else suggest_field(name, known_fields)
        yield _ReportedDiagnostic(
            _explain_old_spelling(diagnostic, kind),
            replaced_field=(*schema_error.path, replaced_field) if replaced_field else None,
        )


def _find_section_of(name: str, schema_error: SchemaError, schema: Schema) -> str:
    """Return the only section that has a field which was written at the top or in ``spec``.

    Such as "runPolicy" or "scheduler.t9kScheduler"; "" if there is none, or several.
    """
    sections = schema_error.parent_schema.get("properties", {})
    if not schema_error.path:
        sections = {name: sections[name] for name in ("spec", "metadata") if name in sections}
        found = _list_sections_with(name, sections, schema)
        return "spec" if "spec" in found else "".join(found[:1])
    if schema_error.path != ("spec",):
        return ""
    found = _list_sections_with(name, sections, schema)
    if not found:
        below = {
            f"{section}.{field}": field_schema
            for section, section_schema in sections.items()
            for field, field_schema in follow_reference(schema, section_schema).get("properties", {}).items()
        }
        found = _list_sections_with(name, below, schema)
    return found[0] if len(found) == 1 else ""


def _list_sections_with(name: str, sections: Mapping[str, Any], schema: Schema) -> list[str]:
    return [
        section
        for section, section_schema in sections.items()
        if name in follow_reference(schema, section_schema).get("properties", {})
    ]


def _report_missing_field(schema_error: SchemaError, schema: Schema) -> _ReportedDiagnostic:
    names = to_list(schema_error.expected)
    if len(names) > 1:
        message = (
            f"{format_label(schema_error.path)} needs"
            f" {_join_alternatives([format_value(name) for name in names])}"
        )
        return _ReportedDiagnostic(Diagnostic("SCHEMA003", message, schema_error.path))
    field = follow_reference(schema, schema_error.parent_schema.get("properties", {}).get(names[0]))
    field_description: str = field.get("description", "")
    diagnostic = diagnose_missing_field(names[0], schema_error.path, schema=field)
    help_text = (
        f"{diagnostic.help}, {field_description[:1].lower()}{field_description[1:].rstrip('.')}"
        if field_description
        else diagnostic.help
    )
    return _ReportedDiagnostic(
        diagnostic._replace(help=help_text), missing_field=(*schema_error.path, names[0])
    )


def _diagnose_wrong_type(schema_error: SchemaError) -> Diagnostic:
    value = schema_error.instance
    expected_types = [name for name in to_list(schema_error.expected) if name != "null"] or ["null"]
    message = (
        f"{format_label(schema_error.path)} must be"
        f" {_join_alternatives([TYPE_NAMES[name] for name in expected_types])}, not {describe_type(value)}"
    )
    is_word_list = schema_error.parent_schema.get("items", {}).get("type") == "string"
    fix = None
    if expected_types == ["string"] and isinstance(value, bool | int | float):
        fix = build_quote_fix(schema_error.path)
    elif isinstance(value, str) and len(expected_types) == 1:
        fix = build_unquote_fix(value, expected_types[0], schema_error.path)
    hint = _suggest_spelling(value, expected_types, is_word_list)
    is_plain = {"integer", "number", "boolean"}.issuperset(expected_types)
    help = (
        ""
        if hint or is_plain or not schema_error.description
        else f"{format_label(schema_error.path)}: {schema_error.description}"
    )
    return Diagnostic("SCHEMA002", message + hint, schema_error.path, help=help, fix=fix)


def _suggest_spelling(value: Any, expected_types: list[str], is_word_list: bool) -> str:
    """Suggest what to write instead; the text of a string is omitted, because it may be a secret."""
    if expected_types == ["string"] and isinstance(value, bool | int | float):
        return f'; write "{format_value(value)}", in quotes'
    if expected_types == ["array"] and is_word_list and isinstance(value, str):
        return "; write a list, one word per entry"
    if not isinstance(value, str):
        return ""
    is_number = {"integer", "number"} & set(expected_types) and value.isascii() and value.isdigit()
    is_boolean = "boolean" in expected_types and value in ("true", "false")
    return f"; write {format_value(value)[1:-1]}, without quotes" if is_number or is_boolean else ""


def _diagnose_not_allowed(schema_error: SchemaError) -> Diagnostic:
    options, value = [str(option) for option in to_list(schema_error.expected)], schema_error.instance
    if isinstance(value, str):
        return diagnose_not_allowed(value, options, schema_error.path)
    is_unquoted_option = str(value) in options
    hint = f'; write "{value}", in quotes' if is_unquoted_option else ""
    message = (
        f"{format_label(schema_error.path)} must be {_join_alternatives(options)}, not"
        f" {describe_type(value)}{hint}"
    )
    return Diagnostic(
        "SCHEMA002",
        message,
        schema_error.path,
        fix=build_quote_fix(schema_error.path) if is_unquoted_option else None,
    )


def _diagnose_out_of_range(schema_error: SchemaError) -> Diagnostic:
    return diagnose_out_of_range(
        schema_error.instance,
        schema_error.parent_schema.get("minimum"),
        schema_error.parent_schema.get("maximum"),
        schema_error.path,
    )


def _diagnose_wrong_length(schema_error: SchemaError) -> Diagnostic:
    end, measured = schema_error.keyword[:3], schema_error.keyword[3:]
    singular, plural = {"Items": ("entry", "entries"), "Properties": ("field", "fields")}.get(
        measured, ("character", "characters")
    )
    bound = (
        f"at {'least' if end == 'min' else 'most'} {schema_error.expected}"
        f" {singular if schema_error.expected == 1 else plural}"
    )
    message = f"{format_label(schema_error.path)} must have {bound}, not {len(schema_error.instance)}"
    if schema_error.keyword == "maxProperties" and schema_error.expected == 1:
        names = [format_value(name) for name in list(schema_error.instance)[:MAX_LISTED]]
        message += f"; keep {_join_alternatives(names)}"
    return Diagnostic("SCHEMA005", message, schema_error.path)


def _diagnose_wrong_pattern(schema_error: SchemaError) -> Diagnostic:
    message = (
        f"{format_label(schema_error.path)} must be {_describe_pattern(schema_error)}, not"
        f" {format_value(schema_error.instance)}"
    )
    return Diagnostic("SCHEMA006", message, schema_error.path)


def _diagnose_repeated_entry(schema_error: SchemaError) -> Diagnostic:
    return Diagnostic(
        "SCHEMA007", f"{format_label(schema_error.path)} has the same entry twice", schema_error.path
    )


def _diagnose_exclusive_fields(schema_error: SchemaError) -> Diagnostic:
    """Build the diagnostic of fields that exclude each other, at the last of them and related to the
    others."""
    if len(schema_error.expected) < 2:
        return _diagnose_other(schema_error)
    *others, last = schema_error.expected
    quoted = f"{', '.join(format_value(name) for name in others)} and {format_value(last)}"
    related = tuple(((*schema_error.path, name), f"{format_value(name)} is here") for name in others)
    message = f"{quoted} exclude each other in {format_label(schema_error.path)}; keep one of them"
    return Diagnostic("SCHEMA009", message, (*schema_error.path, last), on_key=True, related=related)


def _diagnose_not_json(schema_error: SchemaError) -> Diagnostic:
    message = "the document contains text that is not Unicode, or a key that is not a string"
    return Diagnostic("SCHEMA006", message, schema_error.path)


def _diagnose_misplaced_field(schema_error: SchemaError) -> Diagnostic:
    error_message = schema_error.parent_schema.get("errorMessage", "is not allowed here")
    return Diagnostic(
        "SCHEMA009", f"{format_label(schema_error.path)} {error_message}", schema_error.path, on_key=True
    )


def _diagnose_other(schema_error: SchemaError) -> Diagnostic:
    error_message = schema_error.parent_schema.get(
        "errorMessage", f"does not satisfy {schema_error.keyword} of its schema"
    )
    return Diagnostic("SCHEMA009", f"{format_label(schema_error.path)} {error_message}", schema_error.path)


_DIAGNOSE_BY_KEYWORD: dict[str, Callable[[SchemaError], Diagnostic]] = {
    "type": _diagnose_wrong_type,
    "enum": _diagnose_not_allowed,
    "const": _diagnose_not_allowed,
    "pattern": _diagnose_wrong_pattern,
    "uniqueItems": _diagnose_repeated_entry,
    "not": _diagnose_exclusive_fields,
    "falseSchema": _diagnose_misplaced_field,
    NOT_JSON: _diagnose_not_json,
    **dict.fromkeys(("minimum", "maximum"), _diagnose_out_of_range),
    **dict.fromkeys(
        ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"),
        _diagnose_wrong_length,
    ),
}


def _describe_pattern(schema_error: SchemaError) -> str:
    error_message: str | None = schema_error.parent_schema.get("patternErrorMessage")
    return error_message or f"of the form {schema_error.parent_schema.get('pattern')}"


def _join_alternatives(words: list[str]) -> str:
    unique = list(dict.fromkeys(words))
    return unique[0] if len(unique) == 1 else ", ".join(unique[:-1]) + " or " + unique[-1]
