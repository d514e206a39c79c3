"""File modes of volumes in decimal that were meant as octal.

Source: https://kubernetes.io/docs/concepts/configuration/secret/#secret-files-permissions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Decimal numbers up to 0777 whose digits read as a common octal mode.
_MEANT_OCTAL = frozenset((400, 440, 444, 500))
_SOURCES = ("secret", "configMap", "downwardAPI", "projected")


@check(requires=_SOURCES)
def decimal_file_mode(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A mode whose digits read as octal. Values: ``mode``, what it ``means``, ``decimal`` (as meant)."""
    for path, mode in _modes(subject.data):
        if isinstance(mode, int) and mode in _MEANT_OCTAL:
            values = {"mode": mode, "means": f"{mode:04o}", "decimal": int(str(mode), 8)}
            yield Violation(path, values)


def _modes(pod: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield the modes of the volumes of a Pod and of their files."""
    for number, volume in get_entries(get_mapping(pod, "spec"), "volumes"):
        for kind in _SOURCES:
            source = get_mapping(volume, kind)
            path: Path = ("spec", "volumes", number, kind)
            if "defaultMode" in source:
                yield (*path, "defaultMode"), source["defaultMode"]
            yield from _of_items(source, path)
            for at, part in get_entries(source, "sources"):
                for inner in _SOURCES[:3]:
                    yield from _of_items(get_mapping(part, inner), (*path, "sources", at, inner))


def _of_items(source: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for number, item in get_entries(source, "items"):
        if "mode" in item:
            yield (*path, "items", number, "mode"), item["mode"]
