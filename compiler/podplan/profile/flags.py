"""``--set key=value``: an overlay from the command line, over that of the environment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice

from podplan.core.bundled import read
from podplan.core.findings import Problem
from podplan.core.lazy_regex import pattern
from podplan.core.limits import MAX_DEPTH
from podplan.core.provenance import Cursor, Doc, Flag, at, root, split
from podplan.core.suggestions import meant_or_known
from podplan.core.truncation import shortened
from podplan.core.typing import Any, NoReturn
from podplan.profile.environments import METADATA, patched
from podplan.profile.merge import KEYED, Area, Problems, is_expression
from podplan.schema import check_against
from podplan.yaml.scalars import Scalar, resolve

_STEPS = pattern(r"(?:[^.\\]|\\.)+")
_LONGEST_SHOWN = 200  # characters of a key, and of a value, in a message
_AS_ENVIRONMENT = ("spec", "environments", "set")
_NOT_SETTABLE = frozenset({"extends", "environments", "matrix", "values"})


class _Refused(Exception):
    """Why a flag cannot be applied."""


def apply(doc: Doc, sets: Mapping[str, str], problems: Problems) -> tuple[Doc, dict[str, Cursor]]:
    """``doc`` with the flags over it, and the values that they give to params.

    A key is a path below the spec, such as ``schedule.queue`` or ``roles.worker.replicas``, or one of
    ``params.NAME``, ``namespace``, ``labels.KEY`` and ``annotations.KEY``; ``\\.`` is a dot inside a key. A
    value is read as Kubernetes reads a scalar of YAML, or as text where only text fits; ``null`` deletes. The
    value of a param that is an array or an object is read as JSON.
    """
    spec: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    params: dict[str, Any] = {}
    for key, text in sets.items():
        flag = Flag(f"--set {_shown(key)}={_shown(text)}")
        steps = [step[0].replace("\\", "") for step in islice(_STEPS.finditer(key), MAX_DEPTH + 1)]
        try:
            if len(steps) > MAX_DEPTH:
                raise _Refused(f"a path has at most {MAX_DEPTH} fields")
            if len(steps) == 2 and steps[0] == "params":
                params[steps[1]] = at(flag, _param(doc, steps[1], text))
            elif steps and steps[0] in METADATA:
                _put(metadata, steps, at(flag, None if text == "null" else text))
            else:
                _put(spec, steps, at(flag, _value(doc, steps, text)))
        except _Refused as refusal:
            problems.append((doc, Problem("PROF015", f"{flag.name}: {refusal}", ("spec",))))
    overlay = split(
        at(Flag("--set"), {"spec": _listed(spec), "metadata": metadata, "params": params}), "--set"
    )
    whole = root(overlay)
    before = len(problems)
    result = patched(doc, whole.get("spec"), whole.get("metadata"), problems)
    if len(problems) == before:
        problems += _problems_of_form(overlay)
    return result, {name: whole.get("params", name) for name in params}


def _problems_of_form(overlay: Doc) -> Problems:
    """The values that are wrong in a file too: flags are an overlay like that of an environment."""
    fields = {**overlay.data["spec"], **overlay.data["metadata"]}
    found: Problems = []
    for problem in check_against("JobProfile", {"spec": {"environments": {"set": fields}}}):
        path = problem.path[len(_AS_ENVIRONMENT) :]
        if path and problem.path[: len(_AS_ENVIRONMENT)] == _AS_ENVIRONMENT:
            part = "metadata" if path[0] in METADATA else "spec"
            found.append((overlay, Problem("PROF001", problem.message, (part, *path))))
    return found


def _shown(text: str) -> str:
    return shortened(text, _LONGEST_SHOWN)


def _put(tree: dict[str, Any], steps: list[str], leaf: Any) -> None:
    for step in steps[:-1]:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            raise _Refused(f'another --set gives "{_shown(step)}" a value of its own')
    if isinstance(tree.get(steps[-1]), dict):
        raise _Refused("another --set gives a value to a field below")
    tree[steps[-1]] = leaf


def _listed(spec: dict[str, Any]) -> dict[str, Any]:
    """The overlay with its keyed lists as lists, in roles as well."""
    return {
        key: [{"name": name, **_listed(fields)} for name, fields in value.items() if isinstance(fields, dict)]
        if key in KEYED and isinstance(value, dict)
        else value
        for key, value in spec.items()
    }


def _param(doc: Doc, name: str, text: str) -> Any:
    declared = root(doc).get("spec", "params", name, "type").value
    if declared == "string":
        return text
    if isinstance(declared, str) and declared in _EXAMPLES:
        return _from_json(text, _EXAMPLES[declared])
    return _scalar(text)


_EXAMPLES = {"array": "[1, 2]", "object": '{"a": 1}'}


def _from_json(text: str, example: str) -> Any:
    """The list or map that ``text`` is; what kind of value it has to be is for the schema of the param."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise _Refused(f"this is no JSON; write one such as {example}") from None
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [below for one in level for below in _below(one)]
    if level:
        raise _Refused(f"this has more than {MAX_DEPTH} levels of nesting")
    return value


def _below(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _value(doc: Doc, steps: list[str], text: str) -> Scalar:
    """The value for a field; raises _Refused where the path leads nowhere."""
    if not steps or steps[0] in _NOT_SETTABLE or steps[0] == "params":
        how = "write params.NAME for a param, or a path below the spec such as schedule.queue"
        raise _Refused(f"this cannot be set; {how}")
    field, schema, area, now = "", _schema("overlay"), Area(), root(doc).get("spec")
    for step in steps:
        if area.is_keyed:
            now, area, schema = _named(now, step), area.entry(), _resolved(schema.get("items"))
        else:
            if isinstance(now.value, list):
                raise _Refused(f'"{field}" is a list, which is only replaced whole; change it in the file')
            known = schema.get("properties")
            if known and schema.get("additionalProperties") is False and step not in known:
                raise _Refused(f'there is no field "{_shown(step)}"{meant_or_known(step, known)}')
            below = (known or {}).get(step, schema.get("additionalProperties"))
            now, area, schema = now.get(step), area.below(step), _resolved(below)
        field = step
    if text == "null":
        return None
    if area.is_keyed or isinstance(now.value, dict | list):
        raise _Refused(f'"{field}" holds more than one value; name the field below it')
    types = schema.get("type", [])
    only_text = "string" in types and "number" not in types and "integer" not in types
    stays_text = isinstance(now.value, str) and not is_expression(now.value) and not area.number_or_text
    return text if only_text or stays_text or area.fields[:1] == ("env",) else _scalar(text)


def _named(entries: Cursor, name: str) -> Cursor:
    for entry in entries.entries():
        if entry.get("name").value == name:
            return entry
    return entries.get(name)


def _scalar(text: str) -> Scalar:
    value = resolve(text)
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise _Refused("a number must be finite")
    return value


@cache
def _definitions() -> dict[str, Any]:
    definitions: dict[str, Any] = json.loads(read("schemas", "JobProfile.json"))["$defs"]
    return definitions


def _schema(name: str) -> dict[str, Any]:
    return _resolved({"$ref": f"#/$defs/{name}"})


def _resolved(schema: Any) -> dict[str, Any]:
    """A schema of the profile with its references followed; {} for none."""
    while isinstance(schema, dict) and "$ref" in schema:
        schema = _definitions()[schema["$ref"].removeprefix("#/$defs/")]
    return schema if isinstance(schema, dict) else {}
