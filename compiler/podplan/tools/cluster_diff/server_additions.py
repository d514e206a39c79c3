"""Fields that the API server, admission, the scheduler and the kubelet add to an object: no differences.

Source: https://kubernetes.io/docs/reference/kubernetes-api/, the default of each field; the admission plugins
ServiceAccount, DefaultTolerationSeconds and Priority.
"""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.quantities import parse_quantity

ANY_VALUE = object()
_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_EMPTY_VALUES: tuple[Any, ...] = (None, {}, [], "")
_METADATA_FIELDS = (
    *(
        "name",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
        "generation",
        "selfLink",
        "namespace",
    ),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
# Annotations of networks, admission and kubectl.
_ANNOTATION_PREFIXES = (
    *(
        "cni.projectcalico.org/",
        "k8s.v1.cni.cncf.io/network",
        "k8s.ovn.org/",
        "kubectl.kubernetes.io/last-applied",
    ),
    *("kubernetes.io/limit-ranger", "kubernetes.io/config.", "openshift.io/scc"),
    *("sidecar.istio.io/status", "istio.io/rev"),
)
# Labels of meshes that inject a sidecar, of the admission plugin PodTopologyLabels, and those with the uid of
# a Job that the controller of another job creates.
_LABEL_PREFIXES = (
    *("security.istio.io/tlsMode", "service.istio.io/canonical-", "linkerd.io/", "topology.kubernetes.io/"),
    *("batch.kubernetes.io/controller-uid", "controller-uid"),
)
_JOB_API_VERSION, _JOB_FINALIZER = "batch/v1", "batch.kubernetes.io/job-tracking"
_CONTAINER_LISTS = {"initContainers": "containers", "ephemeralContainers": "containers"}
_PROBE_FIELDS = ("livenessProbe", "readinessProbe", "startupProbe")
# The API server does not store these values, because they are the default.
_OMITTED_DEFAULTS = {
    **dict.fromkeys(("hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly"), False),
    "initialDelaySeconds": 0,
}

# Fields that are added to each kind, by path: * is any entry of a list.
_SPEC_DEFAULTS: dict[str, dict[str, Any]] = {
    "Pod": {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "imagePullSecrets": ANY_VALUE,  # of the service account, where the Pod has none
        "nodeName": ANY_VALUE,
        "preemptionPolicy": ANY_VALUE,
        "priority": ANY_VALUE,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "serviceAccount": ANY_VALUE,
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "containers.*.imagePullPolicy": ANY_VALUE,
        "containers.*.terminationMessagePath": "/dev/termination-log",
        "containers.*.terminationMessagePolicy": "File",
        "containers.*.ports.*.protocol": "TCP",
        "containers.*.env.*.valueFrom.fieldRef.apiVersion": "v1",
        "containers.*.env.*.valueFrom.resourceFieldRef.divisor": "0",
        "containers.*.lifecycle.postStart.httpGet.path": "/",
        "containers.*.lifecycle.postStart.httpGet.scheme": "HTTP",
        "containers.*.lifecycle.preStop.httpGet.path": "/",
        "containers.*.lifecycle.preStop.httpGet.scheme": "HTTP",
        "containers.*.probe.timeoutSeconds": 1,
        "containers.*.probe.periodSeconds": 10,
        "containers.*.probe.successThreshold": 1,
        "containers.*.probe.failureThreshold": 3,
        "containers.*.probe.httpGet.path": "/",
        "containers.*.probe.httpGet.scheme": "HTTP",
        "volumes.*.configMap.defaultMode": 0o644,
        "volumes.*.secret.defaultMode": 0o644,
        "volumes.*.projected.defaultMode": 0o644,
        "volumes.*.projected.sources.*.serviceAccountToken.expirationSeconds": 3600,
        "volumes.*.projected.sources.*.downwardAPI.items.*.fieldRef.apiVersion": "v1",
        "volumes.*.downwardAPI.defaultMode": 0o644,
        "volumes.*.downwardAPI.items.*.fieldRef.apiVersion": "v1",
        "volumes.*.ephemeral.volumeClaimTemplate.spec.volumeMode": "Filesystem",
    },
    "Service": {
        "clusterIP": ANY_VALUE,
        "clusterIPs": ANY_VALUE,
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ANY_VALUE,
        "ipFamilyPolicy": ANY_VALUE,
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "ports.*.protocol": "TCP",
        "ports.*.targetPort": ANY_VALUE,
    },
}


def is_added(kind: str, path: Path, value: Any, real: Any) -> bool:
    """Whether ``value``, at ``path`` of a real object and not predicted, was added by the cluster.

    ``real`` is the mapping or list that contains it.
    """
    if value in _EMPTY_VALUES:
        return True
    if path[0] != "spec":
        return path == ("status",) or (path[0] == "metadata" and _is_added_metadata(path, value))
    name = path[-1]
    if kind == "Service" and name == "clusterIP":
        return bool(value != "None")
    if kind == "Service" and name == "targetPort":
        return bool(value == real.get("port"))
    if kind == "Pod" and isinstance(name, int):
        return _is_admission_entry(path[-2], value)
    if kind == "Pod" and path[-3:-1] == ("resources", "requests"):
        return True  # requests default to the limits
    if kind == "Pod" and path[-2:] == ("resources", "requests"):
        return True
    if kind == "Pod" and name == "ephemeralContainers":
        return True  # of kubectl debug: Pods cannot be created with them
    if kind == "Pod" and name == "hostPort":
        return bool(value == real.get("containerPort"))
    default = _SPEC_DEFAULTS.get(kind, {}).get(_normalize_path(path[1:]))
    return default is ANY_VALUE or (default is not None and bool(value == default))


def is_omitted(path: Path, value: Any) -> bool:
    """Whether the API server does not store ``value``, which is predicted at ``path``."""
    return value in _EMPTY_VALUES or (path[-1] in _OMITTED_DEFAULTS and value == _OMITTED_DEFAULTS[path[-1]])


def is_equal_value(path: Path, predicted: Any, real: Any) -> bool:
    """Whether two values are equivalent: quantities by amount, others if equal."""
    if predicted == real and type(predicted) is type(real):
        return True
    if path[-3:-1] in (("resources", "limits"), ("resources", "requests")) or path[-1:] == ("sizeLimit",):
        quantity = parse_quantity(predicted)
        return quantity is not None and quantity == parse_quantity(real)
    return bool(predicted == real and not isinstance(predicted, bool) and not isinstance(real, bool))


def _is_added_metadata(path: Path, value: Any) -> bool:
    if len(path) == 2:
        return path[1] in _METADATA_FIELDS or (path[1] == "finalizers" and value == [_JOB_FINALIZER])
    if path[1] == "ownerReferences":  # the uid of a Job between this object and the CR is not predicted
        return isinstance(value, dict) and value.get("apiVersion") == _JOB_API_VERSION
    prefixes = {"annotations": _ANNOTATION_PREFIXES, "labels": _LABEL_PREFIXES}.get(str(path[1]), ())
    return str(path[2]).startswith(prefixes)


def _is_admission_entry(list_name: str | int, entry: Any) -> bool:
    """Whether admission adds this entry of a list to every Pod."""
    if not isinstance(entry, dict):
        return False
    if list_name == "tolerations":
        return str(entry.get("key", "")).startswith("node.kubernetes.io/") and "tolerationSeconds" in entry
    if list_name == "volumes":
        return str(entry.get("name", "")).startswith(("kube-api-access-", "default-token-"))
    return list_name == "volumeMounts" and entry.get("mountPath") == _SERVICE_ACCOUNT


def _normalize_path(path: Path) -> str:
    steps = ["*" if isinstance(step, int) else _CONTAINER_LISTS.get(step, step) for step in path]
    return ".".join("probe" if step in _PROBE_FIELDS else step for step in steps)
