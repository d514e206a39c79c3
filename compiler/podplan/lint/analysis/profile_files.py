"""The files of which a resolved profile consists, and their content."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping

_EXPRESSION_START = "${{"
_PARAM_REFERENCE = compile_lazily(r"\bparams\b(?:\s*\.\s*(\w+)|\s*\[\s*['\"]([^'\"]+)['\"]\s*\])?")
ALL_PARAMS = "*"  # for an expression that reads params as a whole


def find_own_document(profile: TracedDocument) -> TracedDocument:
    """Return the document of the profile itself, as written."""
    return trace_to_source(profile, ())[-1].doc


@lru_cache(maxsize=8)  # documents may be big, so few are kept
def find_contributing_documents(profile: TracedDocument) -> tuple[TracedDocument, ...]:
    """Return the documents of a resolved profile, its own first, with those that are fully overridden."""
    documents_by_id: dict[int, TracedDocument] = {}
    pending = [profile]
    while pending:
        doc = pending.pop()
        if id(doc) in documents_by_id:
            continue
        documents_by_id[id(doc)] = doc
        origins = doc.origins.values()
        pending += [place.doc for origin in origins for place in (*origin.sources, *origin.overridden)]
    return tuple(documents_by_id.values())


@lru_cache(maxsize=8)
def find_read_params(document: TracedDocument) -> frozenset[str]:
    """Return the names of the params that the expressions of a file read; ALL if they read the whole map."""
    names: set[str] = set()
    spec = get_mapping(document.data, "spec")
    parts = [document.data.get("metadata"), *(value for key, value in spec.items() if key != "params")]
    for text in (text for part in parts for text in iter_strings(part) if _EXPRESSION_START in text):
        names |= {match[1] or match[2] or ALL_PARAMS for match in _PARAM_REFERENCE.finditer(text)}
    return frozenset(names)


def iter_strings(value: Any) -> Iterator[str]:
    """Yield every string in a value."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item


def iter_leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the scalars, nulls and empty containers in a value, with their paths."""
    if isinstance(value, dict) and value:
        for key, entry in value.items():
            yield from iter_leaves(entry, (*path, key))
    elif isinstance(value, list) and value:
        for number, entry in enumerate(value):
            yield from iter_leaves(entry, (*path, number))
    else:
        yield path, value
