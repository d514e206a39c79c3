"""Volumes of a Pod: unique names, one source each, and what the sources ask for."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.kubernetes.containers import LISTS, unique
from podplan.kubernetes.environment import FIELDS_OF_FILES, field_reference, resource_reference

_PROJECTED = (
    "clusterTrustBundle",
    "configMap",
    "downwardAPI",
    "podCertificate",
    "secret",
    "serviceAccountToken",
)


def check(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the volumes of a PodSpec."""
    seen: dict[str, Path] = {}
    for index, volume in entries(spec, "volumes"):
        at = (*path, "volumes", index)
        yield from unique(text(volume, "name"), (*at, "name"), seen, "volume")
        sources = [key for key in volume if key != "name" and isinstance(volume[key], dict)]
        for extra in sources[1:]:
            message = f"a volume has one source; this one has {' and '.join(sources)}"
            related = (((*at, sources[0]), "the first source"),)
            yield Problem("SCHEMA009", message, (*at, extra), related=related)
        if sources:
            yield from _source(sources[0], volume[sources[0]], spec, (*at, sources[0]))


def _source(kind: str, source: dict[str, Any], spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    if kind == "emptyDir":
        size = quantities.parse(source.get("sizeLimit"))
        if size is not None and size < 0:
            message = f"sizeLimit must be at least 0, not {source['sizeLimit']}"
            yield Problem("SCHEMA005", message, (*path, "sizeLimit"))
    elif kind in ("hostPath", "nfs"):
        where = text(source, "path")
        if ".." in where.split("/"):
            yield Problem("SCHEMA006", f"path {names.shown(where)} may not hold '..'", (*path, "path"))
        elif kind == "nfs" and where and not where.startswith("/"):
            yield Problem("SCHEMA006", f"path {names.shown(where)} must begin with '/'", (*path, "path"))
    elif kind == "downwardAPI":
        yield from _files(source, spec, path)
    elif kind == "projected":
        yield from _projected(source, spec, path)


def _files(source: dict[str, Any], spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    for index, file in entries(source, "items"):
        at = (*path, "items", index)
        given = [name for name in ("fieldRef", "resourceFieldRef") if name in file]
        if not given:
            yield Problem("SCHEMA003", "a file needs a fieldRef or a resourceFieldRef", at)
        elif len(given) > 1:
            yield Problem("SCHEMA009", "a file takes fieldRef or resourceFieldRef, not both", at)
        elif given == ["fieldRef"]:
            yield from field_reference(mapping(file, "fieldRef"), FIELDS_OF_FILES, (*at, "fieldRef"))
        else:
            known = {text(container, "name") for kind in LISTS for _, container in entries(spec, kind)}
            reference = mapping(file, "resourceFieldRef")
            yield from resource_reference(reference, (*at, "resourceFieldRef"), known)


def _projected(source: dict[str, Any], spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    taken: dict[str, Path] = {}
    for index, part in entries(source, "sources"):
        at = (*path, "sources", index)
        given = [name for name in _PROJECTED if name in part]
        if not given:
            yield Problem("SCHEMA003", f"a projected source needs one of {', '.join(_PROJECTED)}", at)
        for extra in given[1:]:
            yield Problem("SCHEMA009", f"a projected source takes one of {' and '.join(given)}", (*at, extra))
        for kind in given[:1]:
            inner = mapping(part, kind)
            if kind == "downwardAPI":
                yield from _files(inner, spec, (*at, kind))
            yield from _paths(kind, inner, (*at, kind), taken)


def _paths(kind: str, part: dict[str, Any], path: Path, taken: dict[str, Path]) -> Iterator[Problem]:
    files = [(text(item, "path"), (*path, "items", index, "path")) for index, item in entries(part, "items")]
    if kind in ("serviceAccountToken", "clusterTrustBundle"):
        files.append((text(part, "path"), (*path, "path")))
    for name, at in files:
        if name and name in taken:
            message = f"path {names.shown(name)} is written by two sources"
            yield Problem("SCHEMA007", message, at, related=((taken[name], "the first"),))
        elif name:
            taken[name] = at
