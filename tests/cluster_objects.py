"""Objects as a cluster returns them: with the additions of the API server, admission, scheduler and
kubelet."""

from __future__ import annotations

import copy
from typing import Any

Object = dict[str, Any]
_TOKEN = "kube-api-access-x7k2p"


def served(lowered: Object, node: str = "gpu-7") -> Object:
    """Return a lowered object as ``kubectl get -o yaml`` prints it after its creation."""
    found: Object = copy.deepcopy(lowered)
    metadata = found["metadata"]
    metadata.setdefault("namespace", "default")
    if "name" not in metadata:
        metadata["name"] = f"{metadata['generateName']}x7k2p"
    metadata |= {
        "uid": "0b6f3a1e-6f0c-4b58-9c39-5a2d7a9d1c11",
        "resourceVersion": "81923",
        "creationTimestamp": "2026-03-02T08:11:40Z",
        "managedFields": [{"manager": "controller", "operation": "Update"}],
    }
    if found["kind"] == "Pod":
        _pod(found, node)
    elif found["kind"] == "Service":
        _service(found)
    elif found["kind"] == "PodGroup":
        found["metadata"]["generation"] = 1
        found["status"] = {"phase": "Running"}
    return found


def dump(lowered: list[Object]) -> Object:
    """Return what kubectl prints for several kinds at once: a List, without Secrets."""
    kept = [served(one) for one in lowered if one["kind"] not in ("Secret", "TensorBoard")]
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": kept}


def _pod(pod: Object, node: str) -> None:
    spec = pod["spec"]
    pod["metadata"].setdefault("annotations", {})["cni.projectcalico.org/podIP"] = "10.2.0.9/32"
    for key, value in {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "nodeName": node,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
    }.items():
        spec.setdefault(key, value)
    spec["tolerations"] = [
        *spec.get("tolerations", []),
        *(
            {
                "key": f"node.kubernetes.io/{why}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for why in ("not-ready", "unreachable")
        ),
    ]
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        _container(container)
    for volume in spec.get("volumes", []):
        for source in ("secret", "configMap"):
            if isinstance(volume.get(source), dict):
                volume[source].setdefault("defaultMode", 420)
    spec["volumes"] = [
        *spec.get("volumes", []),
        {
            "name": _TOKEN,
            "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "token"}}]},
        },
    ]
    pod["status"] = {"phase": "Running", "podIP": "10.2.0.9", "qosClass": "BestEffort"}


def _container(container: Object) -> None:
    container.setdefault("imagePullPolicy", "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
        for part in (resources["limits"], resources["requests"]):
            part.update({key: str(value) for key, value in part.items()})
    for port in container.get("ports", []):
        port.setdefault("protocol", "TCP")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            defaults = {
                "timeoutSeconds": 1,
                "periodSeconds": 10,
                "successThreshold": 1,
                "failureThreshold": 3,
            }
            container[probe] = {**defaults, **container[probe]}
    for variable in container.get("env", []):
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            reference.setdefault("apiVersion", "v1")
    container["volumeMounts"] = [
        *container.get("volumeMounts", []),
        {"name": _TOKEN, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
    ]


def _service(service: Object) -> None:
    spec = service["spec"]
    address = spec.setdefault("clusterIP", "10.96.4.31")
    spec |= {
        "clusterIPs": [address],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port["port"])
    service["status"] = {"loadBalancer": {}}
