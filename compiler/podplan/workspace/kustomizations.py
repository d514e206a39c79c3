"""The role of a file in the kustomizations above it: a resource, a patch, or a function's configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

from podplan.core.limits import LimitExceeded
from podplan.core.typing import Any, NamedTuple
from podplan.workspace.files import OutsideRoot, iter_ancestors, read_inside_root
from podplan.yaml import parse_yaml

# Why a document is not checked.
KUSTOMIZE_PATCH, KUSTOMIZE_FUNCTION = "kustomize patch", "kustomize function configuration"
SOPS_DOCUMENT = "encrypted by sops"
KUSTOMIZATION_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
PATCH_FIELDS = ("patches", "patchesStrategicMerge", "patchesJson6902")
FUNCTION_FIELDS = ("generators", "transformers", "validators", "configurations", "replacements")
RESOURCE_FIELDS = ("resources", "bases", "components")
# A mapping with one of these keys is a strategic-merge patch: no API server accepts it as an object.
PATCH_DIRECTIVES = frozenset({"$patch", "$retainKeys"})
FUNCTION_ANNOTATIONS = frozenset({"config.kubernetes.io/function", "config.k8s.io/function"})


class Kustomization(NamedTuple):
    """The real paths that a kustomization names, by what they are to it."""

    patches: frozenset[str]
    functions: frozenset[str]
    resources: frozenset[str]


class KustomizationIndex:
    """The kustomizations of a run, each read once."""

    def __init__(self) -> None:
        self._by_folder: dict[str, Kustomization | None] = {}

    def explain_foreign_file(self, file: str, root: str) -> str:
        """Return what a file is if a kustomization names it, and it is no resource; else ""."""
        real = os.path.realpath(file)
        for kustomization in self._iter_above(real, root):
            if real in kustomization.patches:
                return KUSTOMIZE_PATCH
            if real in kustomization.functions:
                return KUSTOMIZE_FUNCTION
        return ""

    def is_unused_below(self, file: str, root: str) -> bool:
        """Whether there are kustomizations above a file, and none has it, or its folder, as a resource."""
        if not os.path.isfile(file):  # standard input may be what kustomize builds
            return False
        real = os.path.realpath(file)
        above = list(self._iter_above(real, root))
        named = frozenset().union(*(one.resources for one in above))
        return bool(above) and named.isdisjoint((real, os.path.dirname(real)))

    def load(self, folder: str, root: str) -> Kustomization | None:
        """Return the kustomization in a folder, given by its real path; None if it has none."""
        if folder not in self._by_folder:
            self._by_folder[folder] = _load_kustomization(folder, root)
        return self._by_folder[folder]

    def _iter_above(self, real: str, root: str) -> Iterator[Kustomization]:
        for folder in iter_ancestors(os.path.dirname(real)):
            if (kustomization := self.load(folder, root)) is not None:
                yield kustomization
            if folder == root:
                break


def find_directive(data: Any) -> str:
    """Return what a document is if kustomize or sops reads it, and not the API server, else ""."""
    if isinstance(data, dict) and isinstance(data.get("sops"), dict):
        return SOPS_DOCUMENT
    metadata = data.get("metadata") if isinstance(data, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict) and not FUNCTION_ANNOTATIONS.isdisjoint(annotations):
        return KUSTOMIZE_FUNCTION
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if not PATCH_DIRECTIVES.isdisjoint(value):
                return KUSTOMIZE_PATCH
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return ""


def _load_kustomization(folder: str, root: str) -> Kustomization | None:
    """Load the kustomization in a folder; None if there is none, or it cannot be read."""
    for name in KUSTOMIZATION_NAMES:
        path = os.path.join(folder, name)
        with suppress(OSError, OutsideRoot, LimitExceeded):
            documents = parse_yaml(read_inside_root(root, path), path).documents
            data = documents[0].data if documents else None
            if isinstance(data, dict):
                return Kustomization(
                    *(
                        frozenset(_iter_paths(folder, data, fields))
                        for fields in (PATCH_FIELDS, FUNCTION_FIELDS, RESOURCE_FIELDS)
                    )
                )
    return None


def _iter_paths(folder: str, data: Mapping[str, Any], fields: tuple[str, ...]) -> Iterator[str]:
    """Yield the real paths that entries of some fields name; inline text is no path."""
    for field in fields:
        entries = data.get(field)
        for entry in entries if isinstance(entries, list) else ():
            path = entry.get("path") if isinstance(entry, dict) else entry
            if isinstance(path, str) and path and "\n" not in path and "\0" not in path:
                yield os.path.realpath(os.path.join(folder, path))
