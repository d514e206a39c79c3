"""The controls of the level restricted: what a Pod must say, so that a break-in stays in the container.

Each is a function of a Pod and the minor version of Kubernetes that yields violations. Source of all lists:
https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.typing import Any
from podplan.lint.pod_security.baseline import (
    iter_added_capabilities,
    iter_forbidden_profiles,
    iter_unmasked_proc,
)
from podplan.lint.pod_security.pod import (
    ControlViolation,
    as_mapping,
    find_existing_path,
    get_spec,
    is_in_user_namespace,
    is_windows_pod,
    list_containers,
    list_mappings,
    list_pod_parts,
    list_strings,
    truncate_value,
)

# "image" is allowed at every version since Kubernetes 1.33, which changed the rule for the older ones too.
ALLOWED_VOLUME_TYPES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)


def volume_types(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    """The volumes of other types. One without a type becomes an emptyDir on the API server."""
    for number, volume in list_mappings(get_spec(pod).get("volumes")):
        types = [key for key, source in volume.items() if key != "name" and source is not None]
        if types and not any(kind in ALLOWED_VOLUME_TYPES for kind in types):
            yield (
                ("spec", "volumes", number, types[0]),
                f'volume "{truncate_value(volume.get("name", number))}" is of the type'
                f" {truncate_value(types[0])}; "
                f"allowed: {', '.join(ALLOWED_VOLUME_TYPES)}",
            )


def allow_privilege_escalation(pod: Any, minor: int) -> Iterator[ControlViolation]:
    for part in () if is_windows_pod(pod, minor) else list_containers(pod):
        value = part.security_context.get("allowPrivilegeEscalation")
        if value is not False:
            stated = "leaves allowPrivilegeEscalation out" if value is None else "may gain privileges"
            yield (
                find_existing_path(pod, (*part.path, "securityContext", "allowPrivilegeEscalation")),
                f"{part.label} {stated}; set allowPrivilegeEscalation to false",
            )


def run_as_non_root(pod: Any, minor: int) -> Iterator[ControlViolation]:
    if is_in_user_namespace(pod, minor):
        return
    for part in list_pod_parts(pod):
        if part.security_context.get("runAsNonRoot") is False:
            yield (
                (*part.path, "securityContext", "runAsNonRoot"),
                f"{part.label} may run as root (runAsNonRoot is false); set runAsNonRoot to true",
            )
    yield from _iter_unset(pod, "runAsNonRoot", "set it to true")


def run_as_user(pod: Any, minor: int) -> Iterator[ControlViolation]:
    if is_in_user_namespace(pod, minor):
        return
    for part in list_pod_parts(pod):
        user = part.security_context.get("runAsUser")
        if user == 0 and user is not False:
            yield (
                (*part.path, "securityContext", "runAsUser"),
                f"{part.label} runs as root (runAsUser is 0); use another number or leave runAsUser out",
            )


def seccomp_profile(pod: Any, minor: int) -> Iterator[ControlViolation]:
    if not is_windows_pod(pod, minor):
        yield from iter_forbidden_profiles(pod, "seccompProfile", "seccomp")
        yield from _iter_unset(pod, "seccompProfile", "set its type to RuntimeDefault or Localhost")


def capabilities(pod: Any, minor: int) -> Iterator[ControlViolation]:
    if is_windows_pod(pod, minor):
        return
    for part in list_containers(pod):
        dropped = [
            name
            for _, name in list_strings(as_mapping(part.security_context.get("capabilities")).get("drop"))
        ]
        if "ALL" not in dropped:
            stated = (
                f"drops only {truncate_value(', '.join(dropped))}" if dropped else "drops no capabilities"
            )
            yield (
                find_existing_path(pod, (*part.path, "securityContext", "capabilities", "drop")),
                f"{part.label} {stated}; capabilities.drop must have ALL",
            )
    yield from iter_added_capabilities(pod, ("NET_BIND_SERVICE",))


def proc_mount(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    return iter_unmasked_proc(pod)


def _iter_unset(pod: Any, field: str, remedy: str) -> Iterator[ControlViolation]:
    """The containers that neither set a field nor have it from the Pod; one violation where it is all."""
    if as_mapping(get_spec(pod).get("securityContext")).get(field) is not None:
        return
    all_containers = list(list_containers(pod))
    lacking = [setter for setter in all_containers if setter.security_context.get(field) is None]
    if lacking and len(lacking) == len(all_containers):
        yield (
            find_existing_path(pod, ("spec", "securityContext", field)),
            f"neither the Pod nor its containers set {field}; {remedy}",
        )
        return
    for part in lacking:
        yield (
            find_existing_path(pod, (*part.path, "securityContext", field)),
            f"neither the Pod nor {part.label} sets {field}; {remedy}",
        )
