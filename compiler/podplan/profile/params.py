"""``params``: typed inputs of a profile, each a JSON Schema, and the values that they get."""

from __future__ import annotations

import json
from collections.abc import Mapping

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, Doc, root
from podplan.core.suggestions import meant_or_known
from podplan.core.truncation import shortened
from podplan.core.typing import Any, NamedTuple, NoReturn
from podplan.kubernetes.accessors import TYPES
from podplan.profile.merge import OPENING, Problems
from podplan.schema.walker import verdict

# What a fragment may say. References are left out: a param is described where it stands.
_PLAIN = frozenset(
    {
        *("type", "enum", "const", "default", "title", "description", "examples", "deprecated", "required"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("pattern", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
        *("minProperties", "maxProperties"),
    }
)
_ONE_BELOW = frozenset({"items", "additionalProperties", "not", "propertyNames", "contains"})
_LIST_BELOW = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_MAP_BELOW = frozenset({"properties", "patternProperties"})
_KEYWORDS = _PLAIN | _ONE_BELOW | _LIST_BELOW | _MAP_BELOW
_LONGEST_SHOWN = 60


class Param(NamedTuple):
    """A declared param: where it is declared, and the jsonschema_rs validator of its values.

    One whose schema is ``plain`` has no validator until a value is wrong.
    """

    fragment: Cursor
    validator: Any
    plain: bool = False


class Values(NamedTuple):
    """The value of each param and where it was given; ``missing`` are required ones that have none."""

    given: dict[str, Cursor]
    missing: tuple[str, ...]


def declared(doc: Doc, problems: Problems) -> dict[str, Param] | None:
    """The params of a profile by name; None, with problems, where a declaration cannot be used."""
    params = root(doc).get("spec", "params")
    if not params.exists:
        return {}
    if not isinstance(params.value, dict):
        problems.append(
            (doc, Problem("PROF001", "params is not a map; write params: {name: {type: …}}", params.path))
        )
        return None
    before = len(problems)
    result = {name: _declare(name, params.get(name), problems) for name in params.value}
    return result if len(problems) == before else None


def _declare(name: str, fragment: Cursor, problems: Problems) -> Param:
    if fragment.exists and not isinstance(fragment.value, dict):
        message = f'the param "{name}" is not a map; write {name}: {{type: …, default: …}}'
        problems.append((fragment.doc, Problem("PROF007", message, fragment.path)))
        return Param(fragment, None)
    schema = fragment.otherwise({})
    strange = _strange(fragment)
    if strange:
        place, message = strange
        problems.append((fragment.doc, Problem("PROF007", f'param "{name}": {message}', place, on_key=True)))
        return Param(fragment, None)
    if _is_plain(schema):
        return Param(fragment, None, plain=True)
    return Param(fragment, _validator(name, fragment, schema, problems))


def _is_plain(schema: Mapping[str, Any]) -> bool:
    """Whether a schema is nothing but a type, texts for people and a default that is a scalar."""
    return all(
        (key == "type" and isinstance(said, str) and said in TYPES)
        or (key == "default" and not isinstance(said, dict | list) and verdict({}, said) is True)
        or (key in ("title", "description") and isinstance(said, str))
        for key, said in schema.items()
    )


def _validator(name: str, fragment: Cursor, schema: dict[str, Any], problems: Problems) -> Any:
    import jsonschema_rs

    def refuse(uri: str) -> NoReturn:
        raise ValueError(uri)

    # The default engine for patterns backtracks; this one takes linear time.
    patterns = jsonschema_rs.RegexOptions()
    try:
        return jsonschema_rs.Draft202012Validator(schema, pattern_options=patterns, retriever=refuse)
    except jsonschema_rs.ValidationError as error:
        place = tuple(error.instance_path)
        message = f'the schema of the param "{name}" cannot be used: {_cut(error.message)}'
        problems.append((fragment.doc, Problem("PROF007", message, (*fragment.path, *place))))
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        message = f'the schema of the param "{name}" cannot be used: {_cut(str(error).splitlines()[0])}'
        problems.append((fragment.doc, Problem("PROF007", message, fragment.path)))
    return None


def _strange(schema: Cursor) -> tuple[tuple[str | int, ...], str] | None:
    """The first keyword that says nothing to us: it would be ignored, and so pass everything."""
    for key, below in schema.fields().items():
        if key not in _KEYWORDS:
            return below.path, f'unknown keyword "{key}"{meant_or_known(key, _KEYWORDS)}'
        inner: list[Cursor] = []
        if key in _ONE_BELOW:
            inner = [below]
        elif key in _LIST_BELOW:
            inner = below.entries()
        elif key in _MAP_BELOW:
            inner = list(below.fields().values())
        for cursor in inner:
            found = _strange(cursor)
            if found:
                return found
    return None


def choose(params: Mapping[str, Param], layers: list[dict[str, Cursor]], problems: Problems) -> Values:
    """The value of each param: the last layer that gives one, else its default.

    A value for no param, and one that its schema refuses, are problems at the place of the value.
    """
    given: dict[str, Cursor] = {}
    for layer in layers:
        for name, cursor in layer.items():
            if name in params:
                given[name] = cursor
            else:
                near = meant_or_known(name, params) or "; the profile has no params"
                message = f'there is no param "{name}"{near}'
                problems.append((cursor.doc, Problem("PROF006", message, cursor.path, on_key=True)))
    for name, param in params.items():
        if name not in given and isinstance(param.fragment.value, dict) and "default" in param.fragment.value:
            given[name] = param.fragment.get("default")
    for name, cursor in given.items():
        _check(name, params[name], cursor, problems)
    return Values(given, tuple(name for name in params if name not in given))


def _check(name: str, param: Param, cursor: Cursor, problems: Problems) -> None:
    if _holds_expression(cursor.value):
        message = f'the value of the param "{name}" may not hold an expression; expressions read params'
        problems.append((cursor.doc, Problem("PROF010", message, cursor.path)))
        return
    schema = param.fragment.value or {}
    if param.plain and verdict(schema, cursor.value):
        return
    validator = param.validator or _validator(name, param.fragment, schema, problems)
    for error in validator.iter_errors(cursor.value):
        place = (*cursor.path, *error.instance_path)
        said = _in_words(name, error, schema)
        problems.append((cursor.doc, Problem("PROF006", said, place)))
        return


def missing(name: str) -> Problem:
    """The problem of a param that nobody gave a value."""
    given = f"give it a default, --set params.{name}=…, or environments.<name>.values.{name}"
    message = f'the param "{name}" has no value and no default; {given}'
    return Problem("PROF005", message, ("spec", "params", name), on_key=True)


def _in_words(name: str, error: Any, fragment: dict[str, Any]) -> str:
    shown = _cut(json.dumps(error.instance, ensure_ascii=False))
    which = f'the param "{name}"'
    if error.instance_path:
        which += " at " + ".".join(str(step) for step in error.instance_path)
    keyword = error.schema_path[-1] if len(error.schema_path) == 1 else ""
    limit = _cut(json.dumps(fragment.get(keyword), ensure_ascii=False)) if keyword in fragment else ""
    wording = {
        "type": f"is {shown}, and must be of type {limit.strip('[]').replace(chr(34), '')}",
        "minimum": f"is {shown}, and must be at least {limit}",
        "maximum": f"is {shown}, and must be at most {limit}",
        "enum": f"is {shown}, and must be one of {limit[1:-1]}",
        "pattern": f"is {shown}, and must match {limit}",
        "multipleOf": f"is {shown}, and must be a multiple of {limit}",
    }.get(keyword if limit else "")
    return f"{which} {wording}" if wording else f"{which} is not allowed: {_cut(error.message)}"


def _cut(text: str) -> str:
    return shortened(text, _LONGEST_SHOWN)


def _holds_expression(value: Any) -> bool:
    if isinstance(value, str):
        return OPENING in value
    if isinstance(value, dict):
        return any(map(_holds_expression, value.values()))
    return isinstance(value, list) and any(map(_holds_expression, value))
