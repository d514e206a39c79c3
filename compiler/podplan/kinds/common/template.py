"""A role of a profile as a PodTemplateSpec."""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, at
from podplan.core.typing import Any
from podplan.kinds.common.env import env
from podplan.kinds.common.field_order import container_in_order, pod_in_order
from podplan.kinds.common.hardware import Node, shm_size
from podplan.kinds.common.merge import Tree, mergeable, merged, opened, ordered, plain, present, rewrapped
from podplan.kinds.common.profile import Role
from podplan.kinds.common.volumes import container_ports, volumes
from podplan.kinds.t9k import behaviors


def pod_template(
    role: Role, name: str, launch: dict[str, Any], given: Node, problems: list[Problem], preferred: str = ""
) -> Tree | None:
    """The template of a role; None when the profile says nothing of it.

    ``name`` is that of the training container unless the profile gives another, and ``launch`` its
    command and args. The training container is the first, unless it has the name ``preferred`` that the
    controller knows it by anywhere: then it stands where the containers of ``pod`` have that name.
    """
    declared, mounts = volumes(role, shm_size(role, given, problems), problems)
    container = training_container(
        role, name, {**launch, "resources": given.resources, "volumeMounts": mounts or None}
    )
    spec = present({
        **given.scheduling,
        "containers": [container] if container is not None else None,
        "volumes": declared or None,
    })  # fmt: skip
    tree: Tree = {"spec": spec} if spec else {}
    for pod in role.both("pod"):
        if isinstance(pod.value, dict):
            tree = _in_order_of(pod, merged(tree, pod), preferred)
    return at(role.why, _arranged(tree)) if tree or role.get("pod").exists else None


def _in_order_of(pod: Cursor, template: Tree, preferred: str) -> Tree:
    """``template`` with its containers as ``pod`` has them, where it says where the training one stands."""
    entries = pod.get("spec", "containers").entries()
    order = [entry.get("name").value for entry in entries]
    if not preferred or preferred not in order:
        return template
    spec = opened(opened(template)["spec"])
    containers = opened(spec["containers"])
    if not mergeable("containers", [plain(container) for container in containers]):
        return template
    names = [plain(container)["name"] for container in containers]
    if names[0] != preferred:
        return template
    said = [names.index(name) for name in order if name in names]
    unsaid = [i for i in range(len(names)) if i not in said]
    containers = rewrapped(spec["containers"], [containers[i] for i in (*said, *unsaid)])
    spec = rewrapped(opened(template)["spec"], {**spec, "containers": containers})
    return rewrapped(template, {**opened(template), "spec": spec})


def training_container(role: Role, name: str, fields: dict[str, Any]) -> Tree | None:
    """The container of a role with ``fields`` from elsewhere; None when nothing is known but its name."""
    written = present({
        **{field: role.get(field) for field in ("image", "workingDir")},
        "ports": container_ports(role) or None,
        "env": env(role),
        **fields,
    })  # fmt: skip
    extras = [extra for extra in role.both("container") if isinstance(extra.value, dict)]
    if not written and not extras:
        return None
    tree: Tree = {"name": at((behaviors.CONTAINER_NAME, role.why), name), **written}
    for extra in extras:
        tree = merged(tree, extra)
    return at(role.why, container_in_order(tree))


def _arranged(tree: Tree) -> Tree:
    """A template with the fields of the Pod and of its containers in the order that people read."""
    if not isinstance(tree, dict) or "spec" not in tree:
        return tree
    spec = opened(tree["spec"])
    if not isinstance(spec, dict):
        return tree
    return ordered({**tree, "spec": rewrapped(tree["spec"], pod_in_order(spec))}, ("metadata",))
