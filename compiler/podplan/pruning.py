"""What the API server drops of a CR: fields that its schema does not know never reach the controller."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.findings import Path, Problem
from podplan.provenance import Doc
from podplan.typing import Any

# Unknown fields, and fields under a name that is not theirs.
UNKNOWN = frozenset({"SCHEMA001", "SCHEMA011"})


def pruned(cr: Doc, problems: Iterable[Problem]) -> Doc:
    """``cr`` without the fields that ``problems`` call unknown; ``cr`` itself where there are none.

    Only keys of mappings go, so every path that is left is the same, and so is where it came from.
    """
    unknown = [p.path for p in problems if p.rule in UNKNOWN and p.on_key and len(p.path) > 1]
    if not unknown:
        return cr
    data = cr.data
    for path in unknown:
        data = _without(data, path)
    return Doc(cr.name, data, source=cr.source, origins=cr.origins, varies=cr.varies)


def _without(data: Any, path: Path) -> Any:
    """A copy of ``data`` without the key at ``path``, sharing what does not change."""
    step, *rest = path
    if isinstance(data, dict) and step in data:
        if not rest:
            return {key: value for key, value in data.items() if key != step}
        return {**data, step: _without(data[step], tuple(rest))}
    if isinstance(data, list) and isinstance(step, int) and step < len(data) and rest:
        return [*data[:step], _without(data[step], tuple(rest)), *data[step + 1 :]]
    return data
