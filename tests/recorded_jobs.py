"""Jobs that a real operator took up, and the objects that it created, as recorded below fixtures/."""

from __future__ import annotations

from typing import Any

from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import LoweringOptions
from podplan.pipeline import JobPlan, PipelineSettings, lower_plan
from podplan.workspace.documents import classify_document
from podplan.workspace.loader import Loader

DROPPED_FIELD = "SCHEMA012"


def plan(cr: dict[str, Any], gang_scheduler: str = "none") -> JobPlan:
    document = TracedDocument("job.yaml", cr)
    item = classify_document(document)
    assert item.category == "cr"
    options = LoweringOptions(behavior_values={"gang-scheduler": gang_scheduler})
    settings = PipelineSettings(lowering_options=options)
    return lower_plan(JobPlan(item, cr=document), settings, Loader())


def errors(planned: JobPlan) -> list[str]:
    """The problems but for fields that the API server drops, with their places."""
    return [
        f"{one.rule} /{'/'.join(map(str, one.path))} {one.message}"
        for one in planned.diagnostics
        if one.rule != DROPPED_FIELD
    ]


def without_noise(value: Any, path: tuple[str, ...] = ()) -> Any:
    """A lowered object as the records have it: no namespaces, owners or empty values, ports in order."""
    if isinstance(value, dict):
        kept = {
            key: without_noise(below, (*path, key))
            for key, below in value.items()
            if (*path, key) != ("metadata", "namespace") and key != "ownerReferences"
        }
        return {key: below for key, below in kept.items() if below not in ({}, [], None)}
    if isinstance(value, list):
        entries = [without_noise(below, (*path, "*")) for below in value]
        return sorted(entries, key=lambda one: one["port"]) if path == ("spec", "ports") else entries
    return value


def by_name(listed: list[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    """Objects by kind and name, or by the beginning of a name that the API server completes."""
    return {
        (one["kind"], one["metadata"].get("name") or one["metadata"]["generateName"]): without_noise(one)
        for one in listed
    }
