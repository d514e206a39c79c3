"""CRs in tests, from text or data to their lowered objects in full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from podplan.core.provenance import Behavior, Path, TracedDocument, TraceStep, trace_to_source
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup, expand_group
from podplan.kinds.registry import lower_cr
from podplan.yaml import parse_yaml

API_VERSION = "batch.tensorstack.dev/v1beta1"
FILE = "cr.yaml"
Object = dict[str, Any]


def job(kind: str, spec: str, name: str = "bert", api_version: str = API_VERSION, **metadata: Any) -> Object:
    """Build a CR whose spec is the YAML text ``spec``."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": yaml.safe_load(spec),
    }


def document(cr: Object) -> TracedDocument:
    """Build the document of a file with ``cr``."""
    text = json.dumps(cr, indent=1, ensure_ascii=False)
    source = parse_yaml(text.encode(), FILE)
    assert not source.diagnostics
    assert source.documents[0].data == cr
    return TracedDocument(FILE, source.documents[0].data, source=source.documents[0])


def lower(cr: Object, **options: Any) -> list[ReplicaGroup]:
    """Lower a CR to replica groups."""
    return lower_cr(document(cr), {}, LoweringOptions(**options))


class Lowered(dict[tuple[str, str], Object]):
    """All lowered objects in full, by kind and name."""

    def of(self, kind: str) -> dict[str, Object]:
        return {name: found for (of_kind, name), found in self.items() if of_kind == kind}

    def pod(self, name: str) -> Object:
        return self["Pod", name]

    def container(self, pod: str, index: int = 0) -> Object:
        found: Object = self["Pod", pod]["spec"]["containers"][index]
        return found


def written_out(groups: list[ReplicaGroup]) -> Lowered:
    """Expand all groups; a duplicate name fails the test."""
    lowered = Lowered()
    for group in groups:
        for found in expand_group(group):
            metadata = found["metadata"]
            key = (found["kind"], metadata.get("name") or metadata["generateName"])
            assert key not in lowered
            lowered[key] = found
    return lowered


def objects(cr: Object, **options: Any) -> Lowered:
    return written_out(lower(cr, **options))


def keys_at(folder: str) -> list[Object]:
    """Return the mounts of the ssh keys at a folder."""
    return [{"name": "ssh-keys", "mountPath": folder}]


def names(cr: Object, **options: Any) -> list[str]:
    """Return the lowered objects of a CR, as KIND/NAME in order."""
    return [f"{kind}/{name}" for kind, name in objects(cr, **options)]


def environment(container: Object) -> dict[str, Any]:
    """Return the plain variables of a container; of duplicates the last, as in Kubernetes."""
    return {entry["name"]: entry.get("value") for entry in container.get("env", [])}


def parts(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every part of a document with its path, containers included."""
    yield path, data
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield from parts(value, (*path, key))


def group_of(groups: list[ReplicaGroup], kind: str, role: str = "") -> ReplicaGroup:
    """Return the first group of a kind (and of a replica type)."""
    return next(g for g in groups if g.doc.data["kind"] == kind and role in ("", g.replica_type))


def facts_on(group: ReplicaGroup, path: Path) -> list[str]:
    """Return the ids of the behaviors between a part of a lowered object and the file."""
    return [
        step.origin.behavior.id
        for step in trace_to_source(group.doc, path)
        if step.origin and step.origin.behavior
    ]


def fact_at(group: ReplicaGroup, path: Path) -> Behavior | None:
    """Return the behavior that a part of a lowered object originates from."""
    origin = trace_to_source(group.doc, path)[0].origin
    assert origin is not None
    return origin.behavior


def end(group: ReplicaGroup, path: Path) -> TraceStep:
    """Return the last trace step of a part of a lowered object."""
    return trace_to_source(group.doc, path)[-1]


def lost(group: ReplicaGroup, path: Path) -> list[Path]:
    """Return the paths in the CR whose values a part of a lowered object replaces."""
    origin = trace_to_source(group.doc, path)[0].origin
    assert origin is not None
    return [place.path for place in origin.overridden]
