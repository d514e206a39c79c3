"""Pruning: the API server drops unknown fields of a CR before the controller sees it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from podplan.core.findings import Diagnostic, Path
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any

# Unknown fields, and fields under an old name.
UNKNOWN_FIELD_RULES = frozenset({"SCHEMA001", "SCHEMA011", "SCHEMA012"})


def prune_unknown_fields(cr: TracedDocument, diagnostics: Iterable[Diagnostic]) -> TracedDocument:
    """Return ``cr`` without the fields that ``diagnostics`` report as unknown; ``cr`` itself if there are
    none.

    Only keys of mappings are removed, so all remaining paths and their origins stay the same.
    """
    unknown_paths = [
        p.path for p in diagnostics if p.rule in UNKNOWN_FIELD_RULES and p.on_key and len(p.path) > 1
    ]
    if not unknown_paths:
        return cr
    by_parent: dict[Path, set[str | int]] = {}
    for path in unknown_paths:
        by_parent.setdefault(path[:-1], set()).add(path[-1])
    data = cr.data
    for parent, keys in by_parent.items():
        data = _remove_keys(data, parent, keys)
    return TracedDocument(cr.name, data, source=cr.source, origins=cr.origins, replica_texts=cr.replica_texts)


def _remove_keys(data: Any, parent: Path, keys: Collection[str | int]) -> Any:
    """Return a copy of ``data`` without keys of the mapping at ``parent``, sharing unchanged parts."""
    if not parent:
        is_map = isinstance(data, dict)
        return {key: value for key, value in data.items() if key not in keys} if is_map else data
    step, *rest = parent
    if isinstance(data, dict) and step in data:
        return {**data, step: _remove_keys(data[step], tuple(rest), keys)}
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return [*data[:step], _remove_keys(data[step], tuple(rest), keys), *data[step + 1 :]]
    return data
