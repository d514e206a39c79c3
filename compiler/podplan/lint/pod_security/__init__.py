"""The Pod Security Standards of Kubernetes, as its API server applies them, version by version.

Measured against the answers of a real API server: tests/test_pod_security.py.
Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from podplan.core.typing import Any, NamedTuple
from podplan.lint.pod_security import baseline, restricted
from podplan.lint.pod_security.pod import ControlViolation


class Control(NamedTuple):
    """One control. ``since`` is the first version with it, ``name`` what the API server calls it.

    ``replaces`` is the control of baseline that it makes stricter: at the level restricted the API server
    applies this one instead of that.
    """

    level: str
    since: str
    name: str
    check: Callable[[Any, int], Iterator[ControlViolation]]
    replaces: str = ""


CONTROLS = {
    "hostNamespaces": Control("baseline", "1.0", "host namespaces", baseline.host_namespaces),
    "privileged": Control("baseline", "1.0", "privileged", baseline.privileged),
    "capabilities": Control("baseline", "1.0", "non-default capabilities", baseline.capabilities),
    "hostPathVolumes": Control("baseline", "1.0", "hostPath volumes", baseline.host_path_volumes),
    "hostPorts": Control("baseline", "1.0", "hostPort", baseline.host_ports),
    "hostProbes": Control("baseline", "1.34", "probe or lifecycle host", baseline.host_probes),
    "appArmorProfile": Control("baseline", "1.0", "forbidden AppArmor profile", baseline.app_armor_profile),
    "seLinuxOptions": Control("baseline", "1.0", "seLinuxOptions", baseline.se_linux_options),
    "procMount": Control("baseline", "1.0", "procMount", baseline.proc_mount),
    "seccompProfile": Control("baseline", "1.19", "seccompProfile", baseline.seccomp_profile),
    "sysctls": Control("baseline", "1.0", "forbidden sysctls", baseline.sysctls),
    "hostProcess": Control("baseline", "1.0", "hostProcess", baseline.host_process),
    "restrictedVolumes": Control(
        "restricted", "1.0", "restricted volume types", restricted.volume_types, "hostPathVolumes"
    ),
    "allowPrivilegeEscalation": Control(
        "restricted", "1.8", "allowPrivilegeEscalation != false", restricted.allow_privilege_escalation
    ),
    "runAsNonRoot": Control("restricted", "1.0", "runAsNonRoot != true", restricted.run_as_non_root),
    "runAsUser": Control("restricted", "1.23", "runAsUser=0", restricted.run_as_user),
    "restrictedSeccompProfile": Control(
        "restricted", "1.19", "seccompProfile", restricted.seccomp_profile, "seccompProfile"
    ),
    "restrictedCapabilities": Control(
        "restricted", "1.22", "unrestricted capabilities", restricted.capabilities, "capabilities"
    ),
    "restrictedProcMount": Control("restricted", "1.35", "procMount", restricted.proc_mount, "procMount"),
}

# Control -> fields of which one is written in each Pod that breaks it. The others are broken by silence too.
_FIELDS_BY_CONTROL: dict[str, tuple[str, ...]] = {
    "hostNamespaces": tuple(baseline.HOST_NAMESPACES),
    "privileged": ("privileged",),
    "capabilities": ("capabilities",),
    "hostPathVolumes": ("volumes",),
    "hostPorts": ("ports",),
    "hostProbes": tuple(steps[0] for steps in (*baseline.PROBE_PATHS, *baseline.HOOK_PATHS)),
    "appArmorProfile": ("annotations", "appArmorProfile"),
    "seLinuxOptions": ("seLinuxOptions",),
    "procMount": ("procMount",),
    "seccompProfile": ("seccompProfile",),
    "sysctls": ("sysctls",),
    "hostProcess": ("windowsOptions",),
    "restrictedVolumes": ("volumes",),
    "runAsUser": ("runAsUser",),
    "restrictedProcMount": ("procMount",),
}


def may_violate(control: str, written_fields: frozenset[str]) -> bool:
    """Whether a Pod with such fields (pod.written) may break a control; most of most Pods cannot."""
    relevant_fields = _FIELDS_BY_CONTROL.get(control)
    return relevant_fields is None or not written_fields.isdisjoint(relevant_fields)


def find_violations(pod: Any, control: str, version: str) -> list[ControlViolation]:
    """Where a Pod breaks a control of CONTROLS at a version of Kubernetes such as "1.36", and how.

    A path leads to the value that is at fault, or, where a value is missing, to the mapping that lacks it.
    A Pod of an odd shape breaks nothing here: that is the schema's business. Raises KeyError for a control
    that does not exist, ValueError for a version that is none.
    """
    definition, minor_version = CONTROLS[control], parse_minor_version(version)
    return (
        list(definition.check(pod, minor_version))
        if minor_version >= parse_minor_version(definition.since)
        else []
    )


def find_violations_beyond_baseline(pod: Any, control: str, version: str) -> list[ControlViolation]:
    """The violations at places where the control of baseline that this one replaces finds none."""
    control_violations, replaced_control = find_violations(pod, control, version), CONTROLS[control].replaces
    baseline_paths = (
        {path for path, _ in find_violations(pod, replaced_control, version)}
        if control_violations and replaced_control
        else set()
    )
    return [violation for violation in control_violations if violation[0] not in baseline_paths]


def find_applied_controls(level: str, version: str) -> list[str]:
    """The controls that a namespace of the level ("baseline" or "restricted") applies at a version."""
    available = [
        name
        for name, control in CONTROLS.items()
        if parse_minor_version(version) >= parse_minor_version(control.since)
    ]
    if level == "baseline":
        return [name for name in available if CONTROLS[name].level == "baseline"]
    replaced_controls = {CONTROLS[name].replaces for name in available}
    return [name for name in available if name not in replaced_controls]


@lru_cache(maxsize=64)
def parse_minor_version(version: str) -> int:
    """The 36 of "1.36", "v1.36" or "1.36.2"; ValueError where it is no version 1 of Kubernetes."""
    parts = version.removeprefix("v").split(".")
    if parts[0] != "1" or len(parts) < 2 or not parts[1].isdecimal():
        raise ValueError(f'"{version}" is not a version of Kubernetes such as 1.36')
    return int(parts[1])
