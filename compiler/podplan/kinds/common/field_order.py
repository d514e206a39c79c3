"""The usual order of the fields of a Pod and of a container."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kinds.common.merge import order_keys

TracedMap = dict[str, Any]

CONTAINER_FIRST = ("name", "image", "imagePullPolicy", "command", "args", "workingDir", "ports")
CONTAINER_LAST = ("envFrom", "env", "resources", "volumeMounts", "volumeDevices", "securityContext")
POD_FIRST = ("restartPolicy", "serviceAccountName", "priorityClassName", "schedulerName", "nodeSelector")
POD_LAST = ("tolerations", "imagePullSecrets", "securityContext", "initContainers", "containers", "volumes")


def order_container_fields(tree: TracedMap) -> TracedMap:
    """Return a container with name, image and command first, and resources and mounts last."""
    return order_keys(tree, CONTAINER_FIRST, CONTAINER_LAST)


def order_pod_fields(tree: TracedMap) -> TracedMap:
    """Return the spec of a Pod with its containers and volumes last."""
    return order_keys(tree, POD_FIRST, POD_LAST)
