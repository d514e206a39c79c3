"""Writes schemas/lowered-fields.json: the effect of each field, by the origins of lowered fixtures.

python tools/lowered_fields.py
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from podplan import kubernetes
from podplan.core.provenance import Origin, TracedDocument
from podplan.core.provenance import Path as Way
from podplan.kinds.registry import KIND_NAMES, find_kind, name_of
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.schema import catalog
from podplan.schema.fields import collect_fields, find_schemas_at
from podplan.workspace.documents import classify_documents
from podplan.workspace.file_loader import load_files
from podplan.workspace.files import expand_paths
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

REPOSITORY = Path(__file__).parents[1]
TABLE_PATH = Path("schemas/lowered-fields.json")
# The fixtures of the kinds, and profiles that compile to each of them.
FIXTURE_FOLDERS = ("colossalai_job_launcher", "colossalai_job_replicas", "deepspeed_job", "generic_job",
         "pytorch_training_job", "pytorch_job", "tf_job", "xgboost_job", "jax_job", "paddle_job", "mpi_job",
         "mpi_operator_job", "mpi_job_replicas", "mpi_job_worker", "mpi_job_processes",
         "tensorflow_training_job", "xgboost_training_job", "beam_job", "train_job", "jobset_job",
         "batch_job", "compile", "gallery")  # fmt: skip
IGNORED_FIELDS = ("apiVersion", "kind")


class FieldUse(NamedTuple):
    """A part of a document that originates from a field, or from its absence."""

    kind: str
    field: str
    target: tuple[str, str]
    behavior_id: str
    is_written: bool


def build_files() -> dict[Path, str]:
    """Return the expected file."""
    return {TABLE_PATH: _format_table(_build_table())}


def _format_table(table: dict[str, dict[str, Any]]) -> str:
    """Format the table as JSON with one field per line, for readable diffs."""
    kinds = []
    for kind, rows in sorted(table.items()):
        lines = ",\n".join(
            f"    {json.dumps(field)}: {json.dumps(row)}" for field, row in sorted(rows.items())
        )
        kinds.append(f"  {json.dumps(kind)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(kinds) + "\n}\n"


def _build_table() -> dict[str, dict[str, Any]]:
    """Return by kind and field: ``becomes`` lists kind, field and behaviors; ``otherwise`` has behaviors
    of a default."""
    table: dict[str, dict[str, Any]] = {}
    for use in sorted({use for plan in _iter_plans() for use in _iter_uses(plan)}):
        row = table.setdefault(use.kind, {}).setdefault(use.field, {})
        if not use.is_written and use.behavior_id:
            row.setdefault("otherwise", {}).setdefault(use.behavior_id, []).append(list(use.target))
        if use.is_written:
            targets = row.setdefault("becomes", [])
            if not targets or targets[-1][:2] != list(use.target):
                targets.append([*use.target, []])
            targets[-1][2] += [use.behavior_id] if use.behavior_id else []
    for rows in table.values():
        for row in rows.values():
            if "otherwise" in row:
                row["otherwise"] = sorted(row["otherwise"])
    return {kind: {field: row for field, row in rows.items() if row} for kind, rows in table.items()}


def _iter_plans() -> Iterator[JobPlan]:
    previous_folder = os.getcwd()
    os.chdir(REPOSITORY / "fixtures")
    loader = Loader()  # one for all: it searches this repository for Deployments of operators
    try:
        for case in FIXTURE_FOLDERS:
            for source in load_files(expand_paths([case])):
                if isinstance(source, SourceFile):
                    settings = PipelineSettings(inventory_path=_find_inventory(Path(source.file).parent))
                    for item in classify_documents(source):
                        if item.category in ("cr", "profile"):
                            yield from iter_job_plans(item, settings, loader)
    finally:
        os.chdir(previous_folder)


def _find_inventory(folder: Path) -> str:
    """Return the inventory next to a fixture, else that of the gallery: this repository has many."""
    local_inventory = folder / "inventory.yaml"
    return str(local_inventory if local_inventory.is_file() else Path("gallery/clusters/aurora.yaml"))


def _iter_uses(plan: JobPlan) -> Iterator[FieldUse]:
    """Yield which parts of the CR and the lowered objects of a plan originate from which field."""
    if plan.cr is None:
        return
    for doc in [*(group.doc for group in plan.replica_groups), *([plan.cr] if plan.profile else [])]:
        for path, origin in doc.origins.items():
            target = _name_kind(doc), _name_field(path, doc)
            if target[1] and path[0] not in IGNORED_FIELDS:
                for field_doc, field_path, behavior_id in _iter_causes(origin):
                    kind, field = _name_kind(field_doc), _name_field(field_path, field_doc)
                    if field and kind != target[0] and field_path[0] not in IGNORED_FIELDS:
                        yield FieldUse(kind, field, target, behavior_id, _is_written(field_doc, field_path))


def _iter_causes(origin: Origin, depth: int = 0) -> Iterator[tuple[TracedDocument, Way, str]]:
    """Yield the sources of an origin, also in earlier documents, with the behavior involved."""
    behavior_id = origin.behavior.id if origin.behavior is not None else ""
    for place in origin.sources:
        doc = place.doc
        if not isinstance(doc.data, dict):
            continue
        if _name_kind(doc) in (*KIND_NAMES, "JobProfile"):
            yield doc, place.path, behavior_id
        if depth == 0 and _name_kind(doc) in KIND_NAMES and doc.source is None:
            for cut in range(len(place.path), -1, -1):
                copied_origin = doc.origins.get(place.path[:cut])
                if copied_origin is not None and copied_origin.derivation != "copied":
                    yield from (
                        (*one[:2], one[2] or behavior_id) for one in _iter_causes(copied_origin, depth + 1)
                    )
                    break


def _name_kind(doc: TracedDocument) -> str:
    """Return the kind of a document as ``podplan explain`` names it."""
    kind = find_kind(doc.data.get("apiVersion"), doc.data.get("kind"))
    return name_of(kind) if kind is not None else str(doc.data.get("kind"))


def _is_written(doc: TracedDocument, path: Way) -> bool:
    data = doc.data
    for step in path:
        steps = range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ()
        if step not in steps:
            return False
        data = data[step]
    return data is not None


def _name_field(path: Way, doc: TracedDocument) -> str:
    """Format a path as a field: indexes as [], and keys of a mapping with any keys as *."""
    kind = _name_kind(doc)
    return _normalize_path(kind if kind in catalog.list_schema_names() else "", path)


@cache
def _normalize_path(kind: str, path: Way) -> str:
    if not path:
        return ""
    parent = _normalize_path(kind, path[:-1])
    if isinstance(path[-1], int):
        return f"{parent}[]"
    is_known = not kind or path[-1] in collect_fields(
        find_schemas_at(_load_schema(kind), path[:-1]), _load_schema(kind)
    )
    return f"{parent}.{path[-1] if is_known else '*'}".removeprefix(".")


@cache
def _load_schema(kind: str) -> dict[str, Any]:
    return catalog.build_schema(kind, kubernetes.DEFAULT_VERSION)


def main() -> None:
    for path, text in build_files().items():
        (REPOSITORY / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
