"""Writes schemas/lowered-fields.json: what becomes of each field, by the origins of what fixtures lower to.

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
from podplan.core.provenance import Doc, Origin
from podplan.core.provenance import Path as Way
from podplan.kinds.registry import KIND_NAMES
from podplan.pipeline import Plan, Settings, plans
from podplan.schema import catalog
from podplan.schema.fields import at, fields
from podplan.workspace import Reader
from podplan.workspace.documents import items
from podplan.workspace.file_loader import sources
from podplan.workspace.files import expand
from podplan.yaml import Source

TOP = Path(__file__).parents[1]
TABLE = Path("schemas/lowered-fields.json")
# The fixtures of the kinds, and profiles that compile to each of them.
CASES = ("colossalai_job_launcher", "colossalai_job_replicas", "deepspeed_job", "generic_job",
         "pytorch_training_job", "compile", "gallery")  # fmt: skip
TOO_COMMON = ("apiVersion", "kind")


class Use(NamedTuple):
    """A part of a document that is there because of a field, or because the field is not written."""

    kind: str
    field: str
    becomes: tuple[str, str]
    fact: str
    written: bool


def made() -> dict[Path, str]:
    """The file, as it should be."""
    return {TABLE: _text(_table())}


def _text(table: dict[str, dict[str, Any]]) -> str:
    """The table as JSON with a field in each line, so that a change of one is a line of a diff."""
    kinds = []
    for kind, rows in sorted(table.items()):
        lines = ",\n".join(
            f"    {json.dumps(field)}: {json.dumps(row)}" for field, row in sorted(rows.items())
        )
        kinds.append(f"  {json.dumps(kind)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(kinds) + "\n}\n"


def _table() -> dict[str, dict[str, Any]]:
    """By kind and field: ``becomes`` lists kind, field and facts; ``otherwise`` has facts of a default."""
    table: dict[str, dict[str, Any]] = {}
    for use in sorted({use for plan in _plans() for use in _uses(plan)}):
        row = table.setdefault(use.kind, {}).setdefault(use.field, {})
        if not use.written and use.fact:
            row.setdefault("otherwise", {}).setdefault(use.fact, []).append(list(use.becomes))
        if use.written:
            known = row.setdefault("becomes", [])
            if not known or known[-1][:2] != list(use.becomes):
                known.append([*use.becomes, []])
            known[-1][2] += [use.fact] if use.fact else []
    for rows in table.values():
        for row in rows.values():
            if "otherwise" in row:
                row["otherwise"] = sorted(row["otherwise"])
    return {kind: {field: row for field, row in rows.items() if row} for kind, rows in table.items()}


def _plans() -> Iterator[Plan]:
    before = os.getcwd()
    os.chdir(TOP / "fixtures")
    try:
        for case in CASES:
            for source in sources(expand([case])):
                if isinstance(source, Source):
                    settings = Settings(inventory=_inventory(Path(source.file).parent))
                    for item in items(source):
                        if item.what in ("cr", "profile"):
                            yield from plans(item, settings, Reader())
    finally:
        os.chdir(before)


def _inventory(folder: Path) -> str:
    """The inventory beside a fixture, else that of the gallery: there are many in this repository."""
    beside = folder / "inventory.yaml"
    return str(beside if beside.is_file() else Path("gallery/clusters/aurora.yaml"))


def _uses(plan: Plan) -> Iterator[Use]:
    """What the CR and the lowered objects of a plan have because of which field."""
    if plan.cr is None:
        return
    for doc in [*(group.doc for group in plan.groups), *([plan.cr] if plan.profile else [])]:
        for path, origin in doc.origins.items():
            becomes = doc.data["kind"], _name(path, doc)
            if becomes[1] and path[0] not in TOO_COMMON:
                for field_doc, where, fact in _causes(origin):
                    kind, field = field_doc.data.get("kind"), _name(where, field_doc)
                    if field and kind != becomes[0] and where[0] not in TOO_COMMON:
                        yield Use(kind, field, becomes, fact, _is_written(field_doc, where))


def _causes(origin: Origin, depth: int = 0) -> Iterator[tuple[Doc, Way, str]]:
    """The places that had a part in something, also in the documents before, with the fact that is why."""
    fact = origin.fact.id if origin.fact is not None else ""
    for place in origin.places:
        doc = place.doc
        if not isinstance(doc.data, dict):
            continue
        if doc.data.get("kind") in KIND_NAMES or doc.data.get("kind") == "JobProfile":
            yield doc, place.path, fact
        if depth == 0 and doc.data.get("kind") in KIND_NAMES and doc.source is None and doc.data.get("kind"):
            for cut in range(len(place.path), -1, -1):
                found = doc.origins.get(place.path[:cut])
                if found is not None and found.how != "copied":
                    yield from ((*one[:2], one[2] or fact) for one in _causes(found, depth + 1))
                    break


def _is_written(doc: Doc, path: Way) -> bool:
    data = doc.data
    for step in path:
        here = range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ()
        if step not in here:
            return False
        data = data[step]
    return data is not None


def _name(path: Way, doc: Doc) -> str:
    """A path as a field: indexes as [], and what is in a mapping of any keys as *."""
    kind = str(doc.data.get("kind"))
    return _named(kind if kind in catalog.names() else "", path)


@cache
def _named(kind: str, path: Way) -> str:
    if not path:
        return ""
    before = _named(kind, path[:-1])
    if isinstance(path[-1], int):
        return f"{before}[]"
    known = not kind or path[-1] in fields(at(_schema(kind), path[:-1]), _schema(kind))
    return f"{before}.{path[-1] if known else '*'}".removeprefix(".")


@cache
def _schema(kind: str) -> dict[str, Any]:
    return catalog.show(kind, kubernetes.DEFAULT_VERSION)


def main() -> None:
    for path, text in made().items():
        (TOP / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
