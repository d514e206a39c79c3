"""The JSON Schemas as folders of files, for programs that look a schema up by the kind of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kinds.registry import KINDS_BY_NAME, GroupVersionKind
from podplan.schema.bundling import DRAFT_URI, load_schema_file
from podplan.schema.catalog import OWN_FILES, build_schema
from podplan.schema.editor_schema import to_editor_schema

Schema = dict[str, Any]


def build_catalog(k8s_version: str, operator_versions: Mapping[str, str]) -> dict[str, Schema]:
    """Return the schema of each kind by its file, laid out as the CRDs-catalog of datreeio:
    ``GROUP/kind_version.json`` in lower case."""
    return {
        f"{kind.group}/{kind.kind}_{kind.version}.json".lower(): build_schema(
            name, k8s_version, operator_versions
        )
        for name, kind in _iter_kinds()
    }


def build_editor_files(k8s_version: str, operator_versions: Mapping[str, str]) -> dict[str, Schema]:
    """Return the schemas for editors, each in the file ``NAME.json``, and ``all.json``, which applies the one
    of the kind of a document.

    Without what nobody writes: Lists, and results of podplan.
    """
    files = {
        f"{name}.json": to_editor_schema(build_schema(name, k8s_version, operator_versions))
        for name in (*KINDS_BY_NAME, *OWN_FILES)
    }
    return {**files, "all.json": _build_selection()}


def _build_selection() -> Schema:
    """Return a schema that applies to a document the schema of its kind, in the file beside it.

    A document of another kind is valid: files of Kubernetes have many. Only ``if`` reports the errors of
    the right kind; a choice would report those of the most similar one.
    """
    kinds = list(_iter_kinds())
    api_versions = list(dict.fromkeys(kind.api_version for _, kind in kinds))
    kind_names = list(dict.fromkeys(kind.kind for _, kind in kinds))
    return {
        "$schema": DRAFT_URI,
        "title": "podplan",
        "description": "A document of a kind that podplan checks, or of any other kind.",
        "properties": {
            # The first choice is what editors propose.
            "apiVersion": {"anyOf": [{"enum": api_versions}, {}]},
            "kind": {"anyOf": [{"enum": kind_names}, {}]},
        },
        "allOf": [
            {
                "if": {
                    "type": "object",
                    "required": ["apiVersion", "kind"],
                    "properties": {"apiVersion": {"const": kind.api_version}, "kind": {"const": kind.kind}},
                },
                "then": {"$ref": f"{name}.json"},
            }
            for name, kind in kinds
        ],
    }


def _iter_kinds() -> Iterator[tuple[str, GroupVersionKind]]:
    """Yield the kinds of the documents that podplan checks, each with the name of its schema."""
    yield from KINDS_BY_NAME.items()
    for name in OWN_FILES:
        fields = load_schema_file(name)["properties"]
        if "apiVersion" in fields:
            group, _, version = fields["apiVersion"]["const"].rpartition("/")
            kinds = fields["kind"].get("enum") or [fields["kind"]["const"]]
            yield from ((name, GroupVersionKind(group, version, kind)) for kind in kinds)
