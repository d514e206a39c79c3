"""The merge key ``<<``, in the order of go-yaml: what comes later wins."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.yaml.diagnostics import Troubles, short
from podplan.yaml.positions import HEAD, Merge

_MERGE_SOURCE = 'a merge key "<<" takes a mapping or a list of mappings; write the keys out instead'


def merge(data: dict[Any, Any], places: list[Any], troubles: Troubles) -> None:
    """Replace each merge key in ``data`` by what it merges."""
    merged: dict[str, Any] = {}
    starts = {key: start for key, start, *_ in places[HEAD:]}
    explicit: set[str] = set()
    for key, value in data.items():
        if key.__class__ is not Merge:
            merged[key] = value
            explicit.add(key)
            continue
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            at = key.start
            troubles.add("YAML012", _MERGE_SOURCE, at, at + len("<<"))
        maps = [source for source in reversed(sources) if isinstance(source, dict)]
        for source in maps:
            merged.update(source)
        overridden = {one for source in maps for one in source if one in explicit}
        if overridden:
            _warn_of(key, sorted((starts[one].index, one) for one in overridden), troubles)
    data.clear()
    data.update(merged)


def _warn_of(merge: Merge, overridden: list[tuple[int, str]], troubles: Troubles) -> None:
    """A merge key changes keys above it, given by offset, although YAML itself says that they stay."""
    first, name = overridden[0]
    more = f" and {len(overridden) - 1} more above it" if len(overridden) > 1 else ""
    message = (
        f'the merge key "<<" overrides "{short(name)}" of line {{line}}{more} in kubectl, but not in'
        " other tools; put it above all other keys"
    )
    at = merge.start
    troubles.add("YAML005", message, at, at + len("<<"), first)


def bad_source(event: Any, troubles: Troubles) -> dict[str, Any]:
    """What is merged instead of the scalar or list at ``event``, which is noted: nothing."""
    troubles.at(event, "YAML012", _MERGE_SOURCE)
    return {}
