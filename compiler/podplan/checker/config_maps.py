"""The scripts and variables of ConfigMaps that the Pods of a job use, as a part of the plan for it."""

from __future__ import annotations

from podplan.core.provenance import Path, TracedDocument, trace_to_source
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kinds.spec import Reference
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.pipeline import JobPlan, ResolvedReference
from podplan.workspace.loader import Loader


def uses_config_map(plan: JobPlan) -> bool:
    """Whether a Pod of a job mounts a ConfigMap, or takes variables from one."""
    return any(
        _mounts_config_map(group.doc.data) or _takes_variables(group.doc.data)
        for group in plan.replica_groups
    )


def _mounts_config_map(pod: Any) -> bool:
    return any("configMap" in volume for _, volume in get_entries(get_mapping(pod, "spec"), "volumes"))


def _takes_variables(pod: Any) -> bool:
    return any(
        any("configMapRef" in source for _, source in get_entries(container, "envFrom"))
        or any(
            "configMapKeyRef" in get_mapping(entry, "valueFrom") for _, entry in get_entries(container, "env")
        )
        for field in ("initContainers", "containers")
        for _, container in get_entries(get_mapping(pod, "spec"), field)
    )


def inline_config_maps(plan: JobPlan, reader: Loader) -> JobPlan:
    """Return a plan whose Pods have the text of scripts, and the variables, of ConfigMaps.

    These ConfigMaps become references of the plan.
    """
    if plan.cr is None or not uses_config_map(plan):
        return plan
    from podplan.lint.analysis.config_map_variables import resolve_variables
    from podplan.lint.analysis.mounted_scripts import (
        has_parallelism,
        has_python,
        inline_scripts,
        list_configuration_volumes,
        list_python_volumes,
    )

    config_maps: dict[str, TracedDocument | None] = {}

    def find_config_map(name: str) -> TracedDocument | None:
        if name not in config_maps:
            config_maps[name] = reader.find_config_map(plan.item.doc, name)
        return config_maps[name]

    def add_reference(group: ReplicaGroup, place: Path, name: str, config_map: TracedDocument | None) -> None:
        if config_map is None or any(one.doc is config_map for one in references):
            return
        steps = trace_to_source(group.doc, place)
        path = next((step.path for step in steps if step.doc is plan.cr), ("spec",))
        namespace = get_text(get_mapping(config_map.data, "metadata"), "namespace")
        reference = Reference("", "ConfigMap", namespace, name, path)
        references.append(ResolvedReference(reference, config_map))

    groups, references = [], list(plan.references)
    for group in plan.replica_groups:
        if group.doc.data["kind"] != "Pod":
            groups.append(group)
            continue
        inlined, scripts = inline_scripts(group, find_config_map)
        for script, config_map in scripts:
            add_reference(group, script.place, script.mounted.config_map, config_map)
        inlined, variables = resolve_variables(inlined, find_config_map)
        for config_map, path, name in variables:
            add_reference(group, path, name, config_map)
        groups.append(inlined)
    for group in groups:
        for volume, name in list_configuration_volumes(group):
            add_reference(group, volume, name, find_config_map(name))
    for group, volume, name in list_python_volumes(groups):
        mounted = find_config_map(name)
        if mounted is not None and (has_python(mounted) or has_parallelism(mounted)):
            add_reference(group, volume, name, mounted)
    return plan._replace(replica_groups=tuple(groups), references=tuple(references))
