"""The keys that identify the entries of Kubernetes lists, by the name of the field."""

from __future__ import annotations

# The merge keys of the strategic merge patch: ``x-kubernetes-patch-merge-key`` and, for ports,
# ``x-kubernetes-list-map-keys`` of the Kubernetes OpenAPI document.
MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "ports": ("containerPort", "protocol"),
}
# The key that identifies an entry when two versions of an object are compared.
IDENTITY_KEYS = {
    **MERGE_KEYS,
    "ownerReferences": ("kind", "name"),
    "ports": ("name",),
    "tolerations": ("key", "operator", "value", "effect"),
}
