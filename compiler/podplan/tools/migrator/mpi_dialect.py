"""Converts an MPIJob with worker to mpiConfig and replicaSpecs, on the tree of its text.

The old dialect has one template for launcher and workers, so the launcher gets a copy of its fields.
Source: docs/evidence/t9k-mpijob.md#dialects, docs/evidence/t9k-mpijob.md#template-of-the-launcher.
"""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.tools.formatter.rewriting import build_field, build_scalar, change_at
from podplan.tools.migrator.replica_specs import (
    build_list,
    build_mapping,
    build_replica_spec,
    find_own_mapping,
    get_key_name,
    reject_new_fields,
    replace_fields,
    require_written,
    separate_comments,
)
from podplan.yaml.edits.changes import FixRefused, format_inline
from podplan.yaml.tree import CstEntry, CstNode

OLD_FIELDS, NEW_FIELDS = ("worker", "mca", "mpiHome"), ("mpiConfig", "replicaSpecs")
_OLD_CONTAINER, _CONTAINER, _LAUNCHER_CONTAINER = "mpi-worker", "worker", "launcher"
# Fields of mpiConfig, in the order of the documentation: with the old path and the new name.
_SPEC_FIELDS = {"mca": "mca", "mpiHome": "home"}
_WORKER_FIELDS = {"extraMPIArgs": "extraArgs", "cmd": "script"}
_PROCESS_FIELDS = ("processesPerWorker", "processRecovery")
_KEPT_FIELDS = ("replicas", "template")
# Fields of the workers' container that the launcher does not get, or that reach it anyway.
_FIELDS_OF_WORKERS = ("name", "command", "args", "env", "resources")


def convert_to_replica_specs(spec: CstNode, data: dict[str, Any]) -> CstNode:
    """Convert the mapping ``spec``, whose data is ``data``. Raises FixRefused: if that is impossible."""
    reject_new_fields(data, NEW_FIELDS)
    require_written(spec, [name for name in OLD_FIELDS if data.get(name) is not None])
    spec, comments_above = separate_comments(spec, OLD_FIELDS)
    fields = {get_key_name(leaf): leaf for leaf in spec.entries}
    config = [
        fields[old]._replace(key=build_scalar(new)) for old, new in _SPEC_FIELDS.items() if old in fields
    ]
    specs: list[CstEntry] = []
    if data.get("worker") is not None:
        worker = find_own_mapping(spec, "worker")
        config += _build_config_of_worker(worker.value, data["worker"])
        template = _find_template(worker.value, data["worker"])
        specs = [
            build_replica_spec("launcher", _build_launcher_fields(template, data["worker"])),
            _build_worker_spec(worker, template, data["worker"]),
        ]
    new = [build_field("mpiConfig", build_mapping(*config))] if config else []
    new += [build_field("replicaSpecs", build_list(*specs))] if specs else []
    return replace_fields(spec, OLD_FIELDS, new, comments_above)


def _build_config_of_worker(worker: CstNode, data: dict[str, Any]) -> list[CstEntry]:
    """Return the fields of mpiConfig: the options of mpirun, and the program."""
    entries = {get_key_name(leaf): leaf for leaf in worker.entries}
    for name in entries:
        if name not in (*_WORKER_FIELDS, *_PROCESS_FIELDS, *_KEPT_FIELDS):
            raise FixRefused(f"worker.{name} has no place in the other dialect")
    config = {
        new: entries[old]._replace(key=build_scalar(new))
        for old, new in _WORKER_FIELDS.items()
        if old in entries
    }
    options = _list_process_options(data)
    if options:
        if "extraArgs" in config:
            raise FixRefused("worker.extraMPIArgs and worker.processesPerWorker belong to two dialects")
        written = build_list(*(build_scalar(format_inline(word)) for word in options))
        # The options replace the fields at the same position, with their comments.
        old = [entries[name] for name in _PROCESS_FIELDS if name in entries]
        comments = tuple(line for leaf in old for line in (*leaf.comments_above, leaf.line_comment) if line)
        config["extraArgs"] = build_field("extraArgs", written)._replace(comments_above=comments)
    return [config[name] for name in _WORKER_FIELDS.values() if name in config]


def _list_process_options(worker: dict[str, Any]) -> list[str]:
    """Return the options of mpirun that the oldest dialect had fields for.

    Source: docs/evidence/t9k-mpijob.md#options-of-the-oldest-dialect
    """
    if all(worker.get(name) is None for name in _PROCESS_FIELDS):
        return []
    words = ["--allow-run-as-root"]
    if worker.get("processesPerWorker") is not None:
        words += ["-N", str(worker["processesPerWorker"])]
    recovery = worker.get("processRecovery")
    if isinstance(recovery, dict) and recovery.get("enable") is True:
        words += ["--enable-recovery", "--max-restarts", str(recovery.get("limit") or 0)]
    return words


def _find_template(worker: CstNode, data: dict[str, Any]) -> CstNode | None:
    """Return the template of the workers, if it has a container list that can be converted."""
    if not isinstance(data.get("template"), dict):
        return None
    return find_own_mapping(worker, "template").value


def _find_containers(data: dict[str, Any]) -> list[Any]:
    template = data.get("template")
    pod = template.get("spec") if isinstance(template, dict) else None
    containers = pod.get("containers") if isinstance(pod, dict) else None
    return containers if isinstance(containers, list) else []


def _find_training_index(data: dict[str, Any]) -> int:
    """Return the index of the training container in the old dialect. Raises FixRefused: if the new one has
    another."""
    names = [one.get("name") if isinstance(one, dict) else None for one in _find_containers(data)]
    index = names.index(_OLD_CONTAINER) if _OLD_CONTAINER in names else 0
    taken = [
        name for at, name in enumerate(names) if at != index and name in (_CONTAINER, _LAUNCHER_CONTAINER)
    ]
    if names[index] is None:
        raise FixRefused("its training container has no name")
    if taken:
        raise FixRefused(f"another container is called {taken[0]}")
    return index


def _build_worker_spec(worker: CstEntry, template: CstNode | None, data: dict[str, Any]) -> CstEntry:
    fields = [leaf for leaf in worker.value.entries if get_key_name(leaf) in _KEPT_FIELDS]
    if template is not None and _find_containers(data):
        path = ("spec", "containers", _find_training_index(data), "name")
        fields = [
            leaf._replace(value=_change(leaf.value, path, _CONTAINER))
            if get_key_name(leaf) == "template"
            else leaf
            for leaf in fields
        ]
    return build_replica_spec("worker", fields, worker, worker.value.trailing_comments)


def _change(tree: CstNode, path: tuple[str | int, ...], text: str) -> CstNode:
    try:
        return change_at(tree, path, lambda _: build_scalar(text))
    except LookupError:
        raise FixRefused("its container comes through an alias or a merge key") from None


def _build_launcher_fields(template: CstNode | None, data: dict[str, Any]) -> list[CstEntry]:
    """Return the fields of the launcher: an empty template, or a copy of the workers' fields."""
    empty = [build_field("replicas", build_scalar("1")), build_field("template", build_mapping(is_flow=True))]
    if template is None or not _find_containers(data):
        return empty
    index = _find_training_index(data)
    pod, container = data["template"]["spec"], _find_containers(data)[index]
    own = {name for name in container if name not in (*_FIELDS_OF_WORKERS, "image")}
    if (
        not own
        and len(_find_containers(data)) == 1
        and set(pod) == {"containers"}
        and len(data["template"]) == 1
    ):
        return empty
    copied = change_at(
        _copy_without_comments(template),
        ("spec", "containers", index),
        lambda tree: tree._replace(
            entries=(
                build_field("name", build_scalar(_LAUNCHER_CONTAINER)),
                *(leaf for leaf in tree.entries if get_key_name(leaf) not in _FIELDS_OF_WORKERS),
            )
        ),
    )
    return [empty[0], build_field("template", copied)]


def _copy_without_comments(tree: CstNode) -> CstNode:
    """Return a copy of a part of the text. Raises FixRefused: if it cannot be duplicated."""
    if "&" in tree.prefix or tree.node_type == "alias":
        raise FixRefused("the launcher would get a copy of the template, which has an anchor or an alias")
    entries = tuple(CstEntry(leaf.key, _copy_without_comments(leaf.value), -1) for leaf in tree.entries)
    return tree._replace(entries=entries, leading_comments=(), trailing_comments=())
