"""Running the examples of policies: through the whole pipeline, as the files they would be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podplan.check import check_sources
from podplan.emit import emit
from podplan.findings import Finding, Severity, pointer
from podplan.lint.catalogue import ours
from podplan.lint.selection import Selection, selected
from podplan.pipeline import Settings
from podplan.provenance import Doc
from podplan.reading import Reader
from podplan.source import Source, read


def findings(example: Mapping[str, Any], code: str) -> list[Finding]:
    """What podplan says of an example, with the default rules and the rule that it is an example of."""
    objects = example.get("objects") or [example["object"]]
    source = read(emit(objects).encode(), "example.yaml")
    assert not source.faults, source.faults
    policies = selected(ours(), Selection(extend_select=(code,)))
    given = inventory(example["inventory"]) if "inventory" in example else None
    reader = GivenFiles(given, example.get("files", {}))
    return check_sources([source], Settings(policies=tuple(policies)), reader).findings


class GivenFiles(Reader):
    """Reads the files of an example instead of those of the disk."""

    def __init__(self, given: Doc | None, files: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.given = given
        self.files = files

    def inventory_for(self, _doc: Doc, _named: str = "") -> Doc | None:
        return self.given

    def source(self, _root: str, path: str) -> Source:
        if path not in self.files:
            raise FileNotFoundError(path)
        return read(emit([self.files[path]]).encode(), path)


def inventory(spec: Mapping[str, Any]) -> Doc:
    data = {
        "apiVersion": "podplan/v1",
        "kind": "ClusterInventory",
        "metadata": {"name": "test"},
        "spec": spec,
    }
    document = read(emit([data]).encode(), "inventory.yaml").documents[0]
    return Doc("inventory.yaml", document.data, source=document)


def places(found: list[Finding], code: str) -> list[str]:
    """Where a rule fired, as JSON Pointers in the document."""
    return sorted(pointer(one.location.path) for one in found if one.rule == code)


def nagging(found: list[Finding]) -> list[str]:
    """What is an error or a warning, as lines to read in a failed test."""
    return [f"{one.rule}: {one.message}" for one in found if one.severity >= Severity.WARNING]


def merged(data: Any, patch: Any) -> Any:
    """``data`` with a JSON Merge Patch (RFC 7386); a list may be patched by a mapping of its indexes."""
    if isinstance(patch, dict) and isinstance(data, list):
        entries = [
            merged(entry, patch.get(str(i), {})) if str(i) in patch else entry for i, entry in enumerate(data)
        ]
        return [entry for i, entry in enumerate(entries) if not (str(i) in patch and patch[str(i)] is None)]
    if not isinstance(patch, dict):
        return patch
    base = data if isinstance(data, dict) else {}
    out = {key: value for key, value in base.items() if not (key in patch and patch[key] is None)}
    return out | {key: merged(base.get(key), value) for key, value in patch.items() if value is not None}
