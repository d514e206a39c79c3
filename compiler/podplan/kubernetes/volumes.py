"""Volumes of a Pod: unique names, one source each, and required fields of the sources."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.kubernetes.containers import CONTAINER_LISTS, validate_unique_name
from podplan.kubernetes.environment import FILE_FIELDS, validate_field_reference, validate_resource_reference

_PROJECTED_SOURCES = (
    "clusterTrustBundle",
    "configMap",
    "downwardAPI",
    "podCertificate",
    "secret",
    "serviceAccountToken",
)


def validate_volumes(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the volumes of a PodSpec."""
    first_paths: dict[str, Path] = {}
    for index, volume in get_entries(spec, "volumes"):
        volume_path = (*path, "volumes", index)
        yield from validate_unique_name(
            get_text(volume, "name"), (*volume_path, "name"), first_paths, "volume"
        )
        sources = [key for key in volume if key != "name" and isinstance(volume[key], dict)]
        for extra in sources[1:]:
            message = f"a volume must have one source, not {' and '.join(sources)}"
            related = (((*volume_path, sources[0]), "the first source"),)
            yield Diagnostic("SCHEMA009", message, (*volume_path, extra), related=related)
        if sources:
            yield from _validate_source(sources[0], volume[sources[0]], spec, (*volume_path, sources[0]))


def _validate_source(
    source_type: str, source: dict[str, Any], spec: dict[str, Any], path: Path
) -> Iterator[Diagnostic]:
    if source_type == "emptyDir":
        size = quantities.parse_quantity(source.get("sizeLimit"))
        if size is not None and size < 0:
            message = f"sizeLimit must be at least 0, not {source['sizeLimit']}"
            yield Diagnostic("SCHEMA005", message, (*path, "sizeLimit"))
    elif source_type in ("hostPath", "nfs"):
        source_path = get_text(source, "path")
        if ".." in source_path.split("/"):
            yield Diagnostic(
                "SCHEMA006", f"path {names.format_value(source_path)} must not contain '..'", (*path, "path")
            )
        elif source_type == "nfs" and source_path and not source_path.startswith("/"):
            yield Diagnostic(
                "SCHEMA006", f"path {names.format_value(source_path)} must begin with '/'", (*path, "path")
            )
    elif source_type == "downwardAPI":
        yield from _validate_downward_files(source, spec, path)
    elif source_type == "projected":
        yield from _validate_projected(source, spec, path)


def _validate_downward_files(
    source: dict[str, Any], spec: dict[str, Any], path: Path
) -> Iterator[Diagnostic]:
    for index, file in get_entries(source, "items"):
        file_path = (*path, "items", index)
        given_references = [name for name in ("fieldRef", "resourceFieldRef") if name in file]
        if not given_references:
            yield Diagnostic("SCHEMA003", "a file needs a fieldRef or a resourceFieldRef", file_path)
        elif len(given_references) > 1:
            yield Diagnostic(
                "SCHEMA009", "a file must have fieldRef or resourceFieldRef, not both", file_path
            )
        elif given_references == ["fieldRef"]:
            yield from validate_field_reference(
                get_mapping(file, "fieldRef"), FILE_FIELDS, (*file_path, "fieldRef")
            )
        else:
            container_names = {
                get_text(container, "name")
                for kind in CONTAINER_LISTS
                for _, container in get_entries(spec, kind)
            }
            reference = get_mapping(file, "resourceFieldRef")
            yield from validate_resource_reference(
                reference, (*file_path, "resourceFieldRef"), container_names
            )


def _validate_projected(source: dict[str, Any], spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    written_paths: dict[str, Path] = {}
    for index, part in get_entries(source, "sources"):
        source_path = (*path, "sources", index)
        given_sources = [name for name in _PROJECTED_SOURCES if name in part]
        if not given_sources:
            yield Diagnostic(
                "SCHEMA003", f"a projected source needs one of {', '.join(_PROJECTED_SOURCES)}", source_path
            )
        for extra in given_sources[1:]:
            yield Diagnostic(
                "SCHEMA009",
                f"a projected source must have one of {' and '.join(given_sources)}",
                (*source_path, extra),
            )
        for kind in given_sources[:1]:
            inner_source = get_mapping(part, kind)
            if kind == "downwardAPI":
                yield from _validate_downward_files(inner_source, spec, (*source_path, kind))
            yield from _validate_file_paths(kind, inner_source, (*source_path, kind), written_paths)


def _validate_file_paths(
    source_type: str, part: dict[str, Any], path: Path, written_paths: dict[str, Path]
) -> Iterator[Diagnostic]:
    files = [
        (get_text(item, "path"), (*path, "items", index, "path"))
        for index, item in get_entries(part, "items")
    ]
    if source_type in ("serviceAccountToken", "clusterTrustBundle"):
        files.append((get_text(part, "path"), (*path, "path")))
    for name, at in files:
        if name and name in written_paths:
            message = f"path {names.format_value(name)} is written by two sources"
            yield Diagnostic("SCHEMA007", message, at, related=((written_paths[name], "the first"),))
        elif name:
            written_paths[name] = at
