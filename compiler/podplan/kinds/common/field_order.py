"""The order in which people read the fields of a Pod and of a container."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kinds.common.merge import ordered

Tree = dict[str, Any]

CONTAINER_FIRST = ("name", "image", "imagePullPolicy", "command", "args", "workingDir", "ports")
CONTAINER_LAST = ("envFrom", "env", "resources", "volumeMounts", "volumeDevices", "securityContext")
POD_FIRST = ("restartPolicy", "serviceAccountName", "priorityClassName", "schedulerName", "nodeSelector")
POD_LAST = ("tolerations", "imagePullSecrets", "securityContext", "initContainers", "containers", "volumes")


def container_in_order(tree: Tree) -> Tree:
    """A container with what it is and runs in front, and what it is given at the end."""
    return ordered(tree, CONTAINER_FIRST, CONTAINER_LAST)


def pod_in_order(tree: Tree) -> Tree:
    """The spec of a Pod with its containers and volumes at the end."""
    return ordered(tree, POD_FIRST, POD_LAST)
