"""The bundled schemas of Kubernetes: one file for all versions, one validator per version and name.

A line of schemas/kubernetes/definitions.tsv is a definition with the minor versions that have it. The schema
of one name is assembled from those lines as text, so that Python does not parse what only the validator
needs.
"""

from __future__ import annotations

import json
from functools import cache

from podplan.core import package_data
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, Protocol

Schema = dict[str, Any]

SUPPORTED_VERSIONS = tuple(f"1.{minor}" for minor in range(24, 38))
DEFAULT_VERSION = "1.36"

PLATFORM_KINDS = ("PodGroup", "TensorBoard")  # each has a separate file

_REFERENCE = compile_lazily(r'"\$ref":"#/\$defs/(\w+)"')


class _Validator(Protocol):
    def is_valid(self, instance: Any) -> bool: ...


@cache
def parse_minor_version(version: str) -> int:
    """Return the minor number of a bundled version: 36 for "1.36".

    Raises ValueError: for any other version.
    """
    if version not in SUPPORTED_VERSIONS:
        raise ValueError(f"no schemas for Kubernetes {version}; there are {', '.join(SUPPORTED_VERSIONS)}")
    return int(version[2:])


def is_valid(name: str, value: object, version: str) -> bool:
    """Whether ``value`` fits the definition ``name``; a string that is not valid Unicode never does.

    Raises ValueError: for an unknown version. Raises KeyError: for an unknown definition.
    """
    try:
        return build_validator(name, version).is_valid(value)
    except (ValueError, UnicodeEncodeError):
        return False


@cache
def build_validator(name: str, version: str) -> _Validator:
    """Build the validator of one definition, which takes a few milliseconds; cached."""
    import jsonschema_rs

    definition_texts: dict[str, str] = {}
    pending = [name]
    while pending:
        definition_name = pending.pop()
        if definition_name not in definition_texts:
            definition_texts[definition_name] = _load_definition_text(definition_name, version)
            pending += _REFERENCE.findall(definition_texts[definition_name])
    body = ",".join(f'"{key}":{text}' for key, text in definition_texts.items())
    compiled: _Validator = jsonschema_rs.Draft202012Validator(
        f'{{"$ref":"#/$defs/{name}","$defs":{{{body}}}}}'
    )
    return compiled


@cache
def load_definition(name: str, version: str) -> Schema:
    """Return one definition as data. Raises KeyError: if the version does not have it."""
    schema: Schema = json.loads(_load_definition_text(name, version))
    return schema


def resolve_reference(schema: Schema, version: str) -> Schema:
    """Return ``schema``, or the definition that it refers to (as ``#/$defs/NAME``)."""
    reference = schema.get("$ref")
    return schema if reference is None else load_definition(reference.rpartition("/")[2], version)


def _load_definition_text(name: str, version: str) -> str:
    """Return the JSON text of a definition. Raises KeyError: if the version does not have it."""
    return (
        _load_platform_text(name)
        if name in PLATFORM_KINDS
        else _load_definition_texts(parse_minor_version(version))[name]
    )


def _load_platform_text(name: str) -> str:
    """Return the JSON text of an object of the platform, which refers to Kubernetes as
    ``kubernetes:NAME``."""
    schema: Schema = json.loads(package_data.read_bundled_file("schemas", f"{name}.json"))
    del schema["$schema"]
    return json.dumps(schema, separators=(",", ":")).replace('"kubernetes:', '"#/$defs/')


@cache
def _load_definition_texts(minor_version: int) -> dict[str, str]:
    """Return the JSON text of every definition that the minor version has."""
    texts_by_name: dict[str, str] = {}
    for line in package_data.read_bundled_file("schemas", "kubernetes", "definitions.tsv").splitlines():
        name, spans, text = line.split("\t", 2)
        for span in spans.split(","):
            first, last = span.split("-")
            if int(first) <= minor_version <= int(last):
                texts_by_name[name] = text
    return texts_by_name
