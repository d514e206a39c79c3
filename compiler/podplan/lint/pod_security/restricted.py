"""The controls of the level restricted: what a Pod must say, so that a break-in stays in the container.

Each is a function of a Pod and the minor version of Kubernetes that yields violations. Source of all lists:
https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.typing import Any
from podplan.lint.pod_security.baseline import added_capabilities, forbidden_profiles, unmasked_proc
from podplan.lint.pod_security.pod import (
    Violation,
    containers,
    in_user_namespace,
    mapping,
    members,
    nearest,
    on_windows,
    setters,
    short,
    spec,
    texts,
)

# "image" is allowed at every version since Kubernetes 1.33, which changed the rule for the older ones too.
VOLUME_TYPES = (
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


def volume_types(pod: Any, _minor: int) -> Iterator[Violation]:
    """The volumes of other types. One without a type becomes an emptyDir on the API server."""
    for number, volume in members(spec(pod).get("volumes")):
        types = [key for key, source in volume.items() if key != "name" and source is not None]
        if types and not any(kind in VOLUME_TYPES for kind in types):
            yield (
                ("spec", "volumes", number, types[0]),
                f'volume "{short(volume.get("name", number))}" is of the type {short(types[0])}; '
                f"allowed: {', '.join(VOLUME_TYPES)}",
            )


def allow_privilege_escalation(pod: Any, minor: int) -> Iterator[Violation]:
    for setter in () if on_windows(pod, minor) else containers(pod):
        value = setter.context.get("allowPrivilegeEscalation")
        if value is not False:
            stated = "leaves allowPrivilegeEscalation out" if value is None else "may gain privileges"
            yield (
                nearest(pod, (*setter.base, "securityContext", "allowPrivilegeEscalation")),
                f"{setter.who} {stated}; set allowPrivilegeEscalation to false",
            )


def run_as_non_root(pod: Any, minor: int) -> Iterator[Violation]:
    if in_user_namespace(pod, minor):
        return
    for setter in setters(pod):
        if setter.context.get("runAsNonRoot") is False:
            yield (
                (*setter.base, "securityContext", "runAsNonRoot"),
                f"{setter.who} may run as root (runAsNonRoot is false); set runAsNonRoot to true",
            )
    yield from _unset(pod, "runAsNonRoot", "set it to true")


def run_as_user(pod: Any, minor: int) -> Iterator[Violation]:
    if in_user_namespace(pod, minor):
        return
    for setter in setters(pod):
        user = setter.context.get("runAsUser")
        if user == 0 and user is not False:
            yield (
                (*setter.base, "securityContext", "runAsUser"),
                f"{setter.who} runs as root (runAsUser is 0); use another number or leave runAsUser out",
            )


def seccomp_profile(pod: Any, minor: int) -> Iterator[Violation]:
    if not on_windows(pod, minor):
        yield from forbidden_profiles(pod, "seccompProfile", "seccomp")
        yield from _unset(pod, "seccompProfile", "set its type to RuntimeDefault or Localhost")


def capabilities(pod: Any, minor: int) -> Iterator[Violation]:
    if on_windows(pod, minor):
        return
    for setter in containers(pod):
        dropped = [name for _, name in texts(mapping(setter.context.get("capabilities")).get("drop"))]
        if "ALL" not in dropped:
            stated = f"drops only {short(', '.join(dropped))}" if dropped else "drops no capabilities"
            yield (
                nearest(pod, (*setter.base, "securityContext", "capabilities", "drop")),
                f"{setter.who} {stated}; capabilities.drop must have ALL",
            )
    yield from added_capabilities(pod, ("NET_BIND_SERVICE",))


def proc_mount(pod: Any, _minor: int) -> Iterator[Violation]:
    return unmasked_proc(pod)


def _unset(pod: Any, field: str, remedy: str) -> Iterator[Violation]:
    """The containers that neither set a field nor have it from the Pod; one violation where it is all."""
    if mapping(spec(pod).get("securityContext")).get(field) is not None:
        return
    every = list(containers(pod))
    lacking = [setter for setter in every if setter.context.get(field) is None]
    if lacking and len(lacking) == len(every):
        yield (
            nearest(pod, ("spec", "securityContext", field)),
            f"neither the Pod nor its containers set {field}; {remedy}",
        )
        return
    for setter in lacking:
        yield (
            nearest(pod, (*setter.base, "securityContext", field)),
            f"neither the Pod nor {setter.who} sets {field}; {remedy}",
        )
