"""``params``: typed inputs of a profile, each a JSON Schema, and their values."""

from __future__ import annotations

import json
from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.suggestions import suggest_or_list
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple, NoReturn
from podplan.kubernetes.accessors import PYTHON_TYPES
from podplan.profile.merge import OPENING
from podplan.schema.walker import decide_validity

# Allowed keywords of a declaration. References are not allowed: a param is self-contained.
_PLAIN_KEYWORDS = frozenset(
    {
        *("type", "enum", "const", "default", "title", "description", "examples", "deprecated", "required"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("pattern", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
        *("minProperties", "maxProperties"),
    }
)
_SCHEMA_KEYWORDS = frozenset({"items", "additionalProperties", "not", "propertyNames", "contains"})
_SCHEMA_LIST_KEYWORDS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMA_MAP_KEYWORDS = frozenset({"properties", "patternProperties"})
_KEYWORDS = _PLAIN_KEYWORDS | _SCHEMA_KEYWORDS | _SCHEMA_LIST_KEYWORDS | _SCHEMA_MAP_KEYWORDS
_MAX_SHOWN_LENGTH = 60


class Param(NamedTuple):
    """A declared param: its declaration, and the jsonschema_rs validator of its values.

    One whose schema ``is_plain`` has no validator until a value is wrong.
    """

    declaration: Cursor
    validator: Any
    is_plain: bool = False


class ParamValues(NamedTuple):
    """The value of each param and where it was set; ``missing`` are required params without a value."""

    given: dict[str, Cursor]
    missing: tuple[str, ...]


def read_params(doc: TracedDocument, diagnostics: list[Diagnostic]) -> dict[str, Param] | None:
    """Return the params of a profile by name; None, with diagnostics, if a declaration is invalid."""
    params = root_cursor(doc).get("spec", "params")
    if not params.exists:
        return {}
    if not isinstance(params.value, dict):
        diagnostics.append(
            Diagnostic(
                "PROF001", "params is not a map; write params: {name: {type: …}}", params.path, doc=doc
            )
        )
        return None
    diagnostic_count = len(diagnostics)
    result = {name: _read_param(name, params.get(name), diagnostics) for name in params.value}
    return result if len(diagnostics) == diagnostic_count else None


def _read_param(name: str, declaration: Cursor, diagnostics: list[Diagnostic]) -> Param:
    if declaration.exists and not isinstance(declaration.value, dict):
        message = f'the param "{name}" is not a map; write {name}: {{type: …, default: …}}'
        diagnostics.append(Diagnostic("PROF007", message, declaration.path, doc=declaration.doc))
        return Param(declaration, None)
    schema = declaration.value_or({})
    unknown_keyword = _find_unknown_keyword(declaration)
    if unknown_keyword:
        keyword_path, message = unknown_keyword
        diagnostics.append(
            Diagnostic(
                "PROF007", f'param "{name}": {message}', keyword_path, on_key=True, doc=declaration.doc
            )
        )
        return Param(declaration, None)
    if _is_plain_schema(schema):
        return Param(declaration, None, is_plain=True)
    return Param(declaration, _build_validator(name, declaration, schema, diagnostics))


def _is_plain_schema(schema: Mapping[str, Any]) -> bool:
    """Whether a schema has only a type, texts for people and a scalar default."""
    return all(
        (key == "type" and isinstance(said, str) and said in PYTHON_TYPES)
        or (key == "default" and not isinstance(said, dict | list) and decide_validity({}, said) is True)
        or (key in ("title", "description") and isinstance(said, str))
        for key, said in schema.items()
    )


def _build_validator(
    name: str, declaration: Cursor, schema: dict[str, Any], diagnostics: list[Diagnostic]
) -> Any:
    import jsonschema_rs

    def refuse(uri: str) -> NoReturn:
        raise ValueError(uri)

    # The default engine for patterns backtracks; this one takes linear time.
    patterns = jsonschema_rs.RegexOptions()
    try:
        return jsonschema_rs.Draft202012Validator(schema, pattern_options=patterns, retriever=refuse)
    except jsonschema_rs.ValidationError as error:
        error_path = tuple(error.instance_path)
        message = f'the schema of the param "{name}" cannot be used: {_truncate_text(error.message)}'
        diagnostics.append(
            Diagnostic("PROF007", message, (*declaration.path, *error_path), doc=declaration.doc)
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        message = (
            f'the schema of the param "{name}" cannot be used: {_truncate_text(str(error).splitlines()[0])}'
        )
        diagnostics.append(Diagnostic("PROF007", message, declaration.path, doc=declaration.doc))
    return None


def _find_unknown_keyword(schema: Cursor) -> tuple[tuple[str | int, ...], str] | None:
    """Return the first unknown keyword: the validator would ignore it, and accept everything."""
    for key, keyword_cursor in schema.fields().items():
        if key not in _KEYWORDS:
            return keyword_cursor.path, f'unknown keyword "{key}"{suggest_or_list(key, _KEYWORDS)}'
        subschemas: list[Cursor] = []
        if key in _SCHEMA_KEYWORDS:
            subschemas = [keyword_cursor]
        elif key in _SCHEMA_LIST_KEYWORDS:
            subschemas = keyword_cursor.entries()
        elif key in _SCHEMA_MAP_KEYWORDS:
            subschemas = list(keyword_cursor.fields().values())
        for cursor in subschemas:
            unknown_keyword = _find_unknown_keyword(cursor)
            if unknown_keyword:
                return unknown_keyword
    return None


def choose_values(
    params: Mapping[str, Param], layers: list[dict[str, Cursor]], diagnostics: list[Diagnostic]
) -> ParamValues:
    """Return the value of each param: that of the last layer that sets it, else its default.

    A value without a param, and one that its schema rejects, are reported at the value.
    """
    given: dict[str, Cursor] = {}
    for layer in layers:
        for name, cursor in layer.items():
            if name in params:
                given[name] = cursor
            else:
                hint = suggest_or_list(name, params) or "; the profile has no params"
                message = f'there is no param "{name}"{hint}'
                diagnostics.append(Diagnostic("PROF006", message, cursor.path, on_key=True, doc=cursor.doc))
    for name, param in params.items():
        if (
            name not in given
            and isinstance(param.declaration.value, dict)
            and "default" in param.declaration.value
        ):
            given[name] = param.declaration.get("default")
    for name, cursor in given.items():
        _validate_value(name, params[name], cursor, diagnostics)
    return ParamValues(given, tuple(name for name in params if name not in given))


def _validate_value(name: str, param: Param, cursor: Cursor, diagnostics: list[Diagnostic]) -> None:
    if _contains_expression(cursor.value):
        message = f'the value of the param "{name}" may not hold an expression; expressions read params'
        diagnostics.append(Diagnostic("PROF010", message, cursor.path, doc=cursor.doc))
        return
    schema = param.declaration.value or {}
    if param.is_plain and decide_validity(schema, cursor.value):
        return
    validator = param.validator or _build_validator(name, param.declaration, schema, diagnostics)
    for error in validator.iter_errors(cursor.value):
        value_path = (*cursor.path, *error.instance_path)
        explanation = _describe_error(name, error, schema)
        diagnostics.append(Diagnostic("PROF006", explanation, value_path, doc=cursor.doc))
        return


def diagnose_missing_value(name: str) -> Diagnostic:
    """Build the diagnostic of a param without a value."""
    instruction = f"give it a default, --set params.{name}=…, or environments.<name>.values.{name}"
    message = f'the param "{name}" has no value and no default; {instruction}'
    return Diagnostic("PROF005", message, ("spec", "params", name), on_key=True)


def _describe_error(name: str, error: Any, fragment: dict[str, Any]) -> str:
    value_text = _truncate_text(json.dumps(error.instance, ensure_ascii=False))
    subject = f'the param "{name}"'
    if error.instance_path:
        subject += " at " + ".".join(str(step) for step in error.instance_path)
    keyword = error.schema_path[-1] if len(error.schema_path) == 1 else ""
    limit = (
        _truncate_text(json.dumps(fragment.get(keyword), ensure_ascii=False)) if keyword in fragment else ""
    )
    wording = {
        "type": f"is {value_text}, and must be of type {limit.strip('[]').replace(chr(34), '')}",
        "minimum": f"is {value_text}, and must be at least {limit}",
        "maximum": f"is {value_text}, and must be at most {limit}",
        "enum": f"is {value_text}, and must be one of {limit[1:-1]}",
        "pattern": f"is {value_text}, and must match {limit}",
        "multipleOf": f"is {value_text}, and must be a multiple of {limit}",
    }.get(keyword if limit else "")
    return f"{subject} {wording}" if wording else f"{subject} is not allowed: {_truncate_text(error.message)}"


def _truncate_text(text: str) -> str:
    return truncate(text, _MAX_SHOWN_LENGTH)


def _contains_expression(value: Any) -> bool:
    if isinstance(value, str):
        return OPENING in value
    if isinstance(value, dict):
        return any(map(_contains_expression, value.values()))
    return isinstance(value, list) and any(map(_contains_expression, value))
