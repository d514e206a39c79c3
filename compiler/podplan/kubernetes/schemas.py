"""The bundled schemas of Kubernetes: one file for all versions, one validator per version and name.

A line of schemas/kubernetes/definitions.tsv is a definition with the minor versions that have it. The
schema of one name is put together from those lines as text, so that nothing is parsed here that only
the validator needs.
"""

from __future__ import annotations

import json
from functools import cache

from podplan.core import bundled
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any, Protocol

Schema = dict[str, Any]

VERSIONS = tuple(f"1.{minor}" for minor in range(24, 38))
DEFAULT_VERSION = "1.36"

PLATFORM = ("PodGroup", "TensorBoard")  # each has a file of its own

_REFERENCE = pattern(r'"\$ref":"#/\$defs/(\w+)"')


class _Validator(Protocol):
    def is_valid(self, instance: Any) -> bool: ...


@cache
def minor(version: str) -> int:
    """The minor number of a bundled version: 36 for "1.36". Raises ValueError for any other version."""
    if version not in VERSIONS:
        raise ValueError(f"no schemas for Kubernetes {version}; there are {', '.join(VERSIONS)}")
    return int(version[2:])


def is_valid(name: str, value: object, version: str) -> bool:
    """Whether ``value`` satisfies the definition ``name``; text that is not Unicode never does.

    Raises ValueError for an unknown version and KeyError for an unknown definition.
    """
    try:
        return validator(name, version).is_valid(value)
    except (ValueError, UnicodeEncodeError):
        return False


@cache
def validator(name: str, version: str) -> _Validator:
    """The validator of one definition; building it costs a few milliseconds, once."""
    import jsonschema_rs

    needed: dict[str, str] = {}
    todo = [name]
    while todo:
        at = todo.pop()
        if at not in needed:
            needed[at] = _text(at, version)
            todo += _REFERENCE.findall(needed[at])
    body = ",".join(f'"{key}":{text}' for key, text in needed.items())
    found: _Validator = jsonschema_rs.Draft202012Validator(f'{{"$ref":"#/$defs/{name}","$defs":{{{body}}}}}')
    return found


@cache
def definition(name: str, version: str) -> Schema:
    """One definition as data. Raises KeyError when the version does not have it."""
    schema: Schema = json.loads(_text(name, version))
    return schema


def resolve(schema: Schema, version: str) -> Schema:
    """``schema``, or the definition that it refers to (as ``#/$defs/NAME``)."""
    reference = schema.get("$ref")
    return schema if reference is None else definition(reference.rpartition("/")[2], version)


def _text(name: str, version: str) -> str:
    """The JSON text of a definition. Raises KeyError."""
    return _of_platform(name) if name in PLATFORM else _texts(minor(version))[name]


def _of_platform(name: str) -> str:
    """The same of an object of the platform, which refers to Kubernetes as ``kubernetes:NAME``."""
    schema: Schema = json.loads(bundled.read("schemas", f"{name}.json"))
    del schema["$schema"]
    return json.dumps(schema, separators=(",", ":")).replace('"kubernetes:', '"#/$defs/')


@cache
def _texts(number: int) -> dict[str, str]:
    """The JSON text of every definition that the minor version has."""
    found: dict[str, str] = {}
    for line in bundled.read("schemas", "kubernetes", "definitions.tsv").splitlines():
        name, spans, text = line.split("\t", 2)
        for span in spans.split(","):
            first, last = span.split("-")
            if int(first) <= number <= int(last):
                found[name] = text
    return found
