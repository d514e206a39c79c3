"""What the API server drops of a CR: fields that its schema does not know never reach the controller."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from podplan.core.findings import Diagnostic, Path
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any

# Unknown fields, and fields under a name that is not theirs.
UNKNOWN_FIELD_RULES = frozenset({"SCHEMA001", "SCHEMA011", "SCHEMA012"})


def prune_unknown_fields(cr: TracedDocument, diagnostics: Iterable[Diagnostic]) -> TracedDocument:
    """``cr`` without the fields that ``problems`` call unknown; ``cr`` itself where there are none.

    Only keys of mappings go, so every path that is left is the same, and so is where it came from.
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
    """A copy of ``data`` without keys of the mapping at ``parent``, sharing what does not change."""
    if not parent:
        is_map = isinstance(data, dict)
        return {key: value for key, value in data.items() if key not in keys} if is_map else data
    step, *rest = parent
    if isinstance(data, dict) and step in data:
        return {**data, step: _remove_keys(data[step], tuple(rest), keys)}
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return [*data[:step], _remove_keys(data[step], tuple(rest), keys), *data[step + 1 :]]
    return data
