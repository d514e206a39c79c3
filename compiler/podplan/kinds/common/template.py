"""A role of a profile as a PodTemplateSpec."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.common import behaviors
from podplan.kinds.common.env import build_env
from podplan.kinds.common.field_order import order_container_fields, order_pod_fields
from podplan.kinds.common.hardware import NodeRequest, resolve_shm_size
from podplan.kinds.common.merge import (
    TracedTree,
    drop_absent,
    has_unique_merge_keys,
    merge_tree,
    order_keys,
    rewrap_tree,
    to_plain_data,
    unwrap_tree,
)
from podplan.kinds.common.profile import ProfileRole
from podplan.kinds.common.schedule import build_topology_annotations
from podplan.kinds.common.volumes import build_container_ports, build_volumes


def build_pod_template(
    role: ProfileRole,
    name: str,
    command_fields: dict[str, Any],
    node_request: NodeRequest,
    diagnostics: list[Diagnostic],
    preferred_name: str = "",
    *,
    with_resources: bool = True,
) -> TracedTree | None:
    """Build the template of a role; None if the profile states nothing about it.

    ``name`` is the name of the training container unless the profile states another, and ``command_fields``
    are its command and args. The training container is the first, except that a controller may find it by
    ``preferred_name`` at any position: then it is where the containers of ``pod`` have that name.
    ``with_resources`` is false for a kind that states the resources elsewhere.
    """
    volumes, mounts = build_volumes(role, resolve_shm_size(role, node_request, diagnostics), diagnostics)
    resources = node_request.resources if with_resources else None
    container = build_training_container(
        role, name, {**command_fields, "resources": resources, "volumeMounts": mounts or None}
    )
    spec = drop_absent({
        **node_request.scheduling,
        "containers": [container] if container is not None else None,
        "volumes": volumes or None,
    })  # fmt: skip
    tree: TracedTree = {"spec": spec} if spec else {}
    annotations = build_topology_annotations(role)
    if annotations:
        tree["metadata"] = {"annotations": annotations}
    for pod in role.get_layers("pod"):
        if isinstance(pod.value, dict):
            tree = _reorder_containers(pod, merge_tree(tree, pod), preferred_name)
    return (
        attribute_to(role.origin_cursor, _order_template_fields(tree))
        if tree or role.get_field("pod").exists
        else None
    )


def _reorder_containers(pod: Cursor, template: TracedTree, preferred_name: str) -> TracedTree:
    """Return ``template`` with the training container where ``pod`` has ``preferred_name``, if it does."""
    entries = pod.get("spec", "containers").entries()
    order = [entry.get("name").value for entry in entries]
    if not preferred_name or preferred_name not in order:
        return template
    spec = unwrap_tree(unwrap_tree(template)["spec"])
    containers = unwrap_tree(spec["containers"])
    if not has_unique_merge_keys("containers", [to_plain_data(container) for container in containers]):
        return template
    names = [to_plain_data(container)["name"] for container in containers]
    if names[0] != preferred_name:
        return template
    listed_indexes = [names.index(name) for name in order if name in names]
    other_indexes = [i for i in range(len(names)) if i not in listed_indexes]
    containers = rewrap_tree(spec["containers"], [containers[i] for i in (*listed_indexes, *other_indexes)])
    spec = rewrap_tree(unwrap_tree(template)["spec"], {**spec, "containers": containers})
    return rewrap_tree(template, {**unwrap_tree(template), "spec": spec})


def build_training_container(role: ProfileRole, name: str, fields: dict[str, Any]) -> TracedTree | None:
    """Build the container of a role, with ``fields`` from elsewhere; None if only its name is known."""
    container_fields = drop_absent({
        **{field: role.get_field(field) for field in ("image", "workingDir")},
        "ports": build_container_ports(role) or None,
        "env": build_env(role),
        **fields,
    })  # fmt: skip
    extras = [extra for extra in role.get_layers("container") if isinstance(extra.value, dict)]
    if not container_fields and not extras:
        return None
    tree: TracedTree = {
        "name": attribute_to((behaviors.CONTAINER_NAME, role.origin_cursor), name),
        **container_fields,
    }
    for extra in extras:
        tree = merge_tree(tree, extra)
    return attribute_to(role.origin_cursor, order_container_fields(tree))


def _order_template_fields(tree: TracedTree) -> TracedTree:
    """Return a template with the fields of the Pod and of its containers in the usual order."""
    if not isinstance(tree, dict) or "spec" not in tree:
        return tree
    spec = unwrap_tree(tree["spec"])
    if not isinstance(spec, dict):
        return tree
    return order_keys({**tree, "spec": rewrap_tree(tree["spec"], order_pod_fields(spec))}, ("metadata",))
