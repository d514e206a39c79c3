"""The merge key ``<<``, in the order of go-yaml: later values win."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.yaml.diagnostics import DiagnosticCollector, format_key
from podplan.yaml.positions import HEADER_LENGTH, MergeKey

_BAD_SOURCE_MESSAGE = 'a merge key "<<" takes a mapping or a list of mappings; write the keys out instead'


def resolve_merge_keys(data: dict[Any, Any], positions: list[Any], diagnostics: DiagnosticCollector) -> None:
    """Replace each merge key in ``data`` by what it merges."""
    merged: dict[str, Any] = {}
    starts = {key: start for key, start, *_ in positions[HEADER_LENGTH:]}
    explicit: set[str] = set()
    for key, value in data.items():
        if key.__class__ is not MergeKey:
            merged[key] = value
            explicit.add(key)
            continue
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            offset = key.start
            diagnostics.add("YAML012", _BAD_SOURCE_MESSAGE, offset, offset + len("<<"))
        maps = [source for source in reversed(sources) if isinstance(source, dict)]
        for source in maps:
            merged.update(source)
        overridden = {one for source in maps for one in source if one in explicit}
        if overridden:
            _warn_overridden(key, sorted((starts[one].index, one) for one in overridden), diagnostics)
    data.clear()
    data.update(merged)


def _warn_overridden(
    merge_key: MergeKey, overridden: list[tuple[int, str]], diagnostics: DiagnosticCollector
) -> None:
    """Warn that a merge key replaces keys above it, given by offset, although YAML says that they stay."""
    first_offset, name = overridden[0]
    more = f" and {len(overridden) - 1} more above it" if len(overridden) > 1 else ""
    message = (
        f'the merge key "<<" overrides "{format_key(name)}" of line {{line}}{more} in kubectl, but not in'
        " other tools; put it above all other keys"
    )
    offset = merge_key.start
    diagnostics.add("YAML005", message, offset, offset + len("<<"), first_offset)


def replace_bad_source(event: Any, diagnostics: DiagnosticCollector) -> dict[str, Any]:
    """Return an empty mapping in place of an invalid source of a merge key, and report it."""
    diagnostics.add_at(event, "YAML012", _BAD_SOURCE_MESSAGE)
    return {}
