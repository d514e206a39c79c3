"""The files that a resolved profile was made from, and what is written in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Doc, trace
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping

_OPENING = "${{"
_READ = pattern(r"\bparams\b(?:\s*\.\s*(\w+)|\s*\[\s*['\"]([^'\"]+)['\"]\s*\])?")
ALL = "*"  # for an expression that reads params as a whole


def own_file(profile: Doc) -> Doc:
    """The document of the profile itself, as it is written."""
    return trace(profile, ())[-1].doc


@lru_cache(maxsize=8)  # documents may be big, so few are kept
def documents(profile: Doc) -> tuple[Doc, ...]:
    """The documents on the way to a resolved profile, itself first; also those whose values all lost."""
    found: dict[int, Doc] = {}
    left = [profile]
    while left:
        doc = left.pop()
        if id(doc) in found:
            continue
        found[id(doc)] = doc
        origins = doc.origins.values()
        left += [place.doc for origin in origins for place in (*origin.places, *origin.overrides)]
    return tuple(found.values())


@lru_cache(maxsize=8)
def params_read(file: Doc) -> frozenset[str]:
    """The params that the expressions of a file read, by name; ALL where they are read as a whole."""
    names: set[str] = set()
    spec = mapping(file.data, "spec")
    parts = [file.data.get("metadata"), *(value for key, value in spec.items() if key != "params")]
    for text in (text for part in parts for text in strings(part) if _OPENING in text):
        names |= {match[1] or match[2] or ALL for match in _READ.finditer(text)}
    return frozenset(names)


def strings(value: Any) -> Iterator[str]:
    """Every string in a value."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The scalars, nulls and empty containers in a value, with their paths."""
    if isinstance(value, dict) and value:
        for key, entry in value.items():
            yield from leaves(entry, (*path, key))
    elif isinstance(value, list) and value:
        for number, entry in enumerate(value):
            yield from leaves(entry, (*path, number))
    else:
        yield path, value
