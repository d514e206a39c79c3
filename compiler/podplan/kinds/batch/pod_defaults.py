"""What the API server sets in the Pod template of a Job, where the template leaves it out.

Source: docs/evidence/jobset.md#defaults-of-a-pod-template.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.provenance import Cursor, Traced, attribute_to
from podplan.core.typing import Any
from podplan.kinds.batch import behaviors
from podplan.kinds.common.go_serialization import write_resources

TracedMap = dict[str, Any]

_POD = {
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}
_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_MODE = 0o644
_TOKEN_SECONDS = 3600
# Volumes by source: what the API server adds to the source.
_VOLUMES: Mapping[str, Mapping[str, Any]] = {
    "configMap": {"defaultMode": _FILE_MODE},
    "secret": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
}


def apply_pod_defaults(spec: Cursor) -> TracedMap:
    """The spec of a Pod template with the defaults of the API server."""
    tree = _add_defaults(spec, _POD)
    host_network = spec.get("hostNetwork").value is True
    for field in ("initContainers", "containers"):
        if spec.get(field).entries():
            tree[field] = [_complete_container(one, host_network) for one in spec.get(field).entries()]
    if spec.get("volumes").entries():
        tree["volumes"] = [_complete_volume(one) for one in spec.get("volumes").entries()]
    return tree


def _default(cursor: Cursor, value: Any) -> Traced:
    return attribute_to((behaviors.DEFAULT, cursor), value)


def _add_defaults(cursor: Cursor, defaults: Mapping[str, Any]) -> TracedMap:
    """What is written at ``cursor`` with the values of ``defaults`` that are not."""
    fields: TracedMap = dict(cursor.fields())
    added = {key: _default(cursor, value) for key, value in defaults.items() if key not in fields}
    return {**fields, **added}


def _complete_container(container: Cursor, host_network: bool) -> Traced:
    image = container.get("image").value_or("")
    pull_policy = "Always" if is_latest(image) else "IfNotPresent"
    tree = _add_defaults(container, {"imagePullPolicy": pull_policy, **_CONTAINER})
    if container.get("ports").entries():
        tree["ports"] = [_complete_port(one, host_network) for one in container.get("ports").entries()]
    if container.get("env").entries():
        tree["env"] = [_complete_variable(one) for one in container.get("env").entries()]
    for field in _PROBES:
        if container.get(field).exists:
            tree[field] = _complete_probe(container.get(field))
    if container.get("resources").exists:
        tree["resources"] = write_resources(container.get("resources"), behaviors.DEFAULT)
    return attribute_to(container, tree)


def is_latest(image: object) -> bool:
    """Whether an image has the tag latest, or none."""
    if not isinstance(image, str) or "@" in image:
        return False
    return image.rpartition("/")[2].partition(":")[2] in ("", "latest")


def _complete_port(port: Cursor, host_network: bool) -> Traced:
    defaults: dict[str, Any] = {"protocol": "TCP"}
    if host_network:
        defaults["hostPort"] = port.get("containerPort").value
    return attribute_to(port, _add_defaults(port, defaults))


def _complete_variable(variable: Cursor) -> Cursor | Traced:
    field = variable.get("valueFrom", "fieldRef")
    if variable.get("value").value == "":
        return attribute_to(variable, {key: one for key, one in variable.fields().items() if key != "value"})
    if not field.exists:
        return variable
    source = variable.get("valueFrom")
    reference = attribute_to(field, _add_defaults(field, {"apiVersion": "v1"}))
    return attribute_to(
        variable,
        {**variable.fields(), "valueFrom": attribute_to(source, {**source.fields(), "fieldRef": reference})},
    )


def _complete_probe(probe: Cursor) -> Traced:
    tree = _add_defaults(probe, _PROBE)
    for action, defaults in (("httpGet", {"path": "/", "scheme": "HTTP"}), ("grpc", {"service": ""})):
        if probe.get(action).exists:
            tree[action] = attribute_to(probe.get(action), _add_defaults(probe.get(action), defaults))
    return attribute_to(probe, tree)


def _complete_volume(volume: Cursor) -> Traced:
    tree: TracedMap = dict(volume.fields())
    if len(tree) == 1:
        tree["emptyDir"] = _default(volume, {})
    for name, defaults in _VOLUMES.items():
        if volume.get(name).exists:
            tree[name] = attribute_to(volume.get(name), _add_defaults(volume.get(name), defaults))
    return attribute_to(volume, tree)
