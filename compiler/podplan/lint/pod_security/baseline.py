"""The controls of the level baseline: what no Pod may do, because it breaks out of the container.

Each is a function of a Pod and the minor version of Kubernetes that yields violations. Source of all lists:
https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.typing import Any
from podplan.lint.pod_security.pod import (
    ControlViolation,
    as_mapping,
    find_existing_path,
    get_spec,
    is_in_user_namespace,
    list_containers,
    list_mappings,
    list_pod_parts,
    list_strings,
    truncate_value,
)

HOST_NAMESPACES = {
    "hostNetwork": "network",
    "hostPID": "processes",
    "hostIPC": "shared memory",
}
ALLOWED_CAPABILITIES = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
ALLOWED_PROFILE_TYPES = ("RuntimeDefault", "Localhost")
APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
SELINUX_TYPES_BY_VERSION = {
    0: ("container_t", "container_init_t", "container_kvm_t"),
    31: ("container_engine_t",),
}
# Minor version -> the sysctls that it added to those that a Pod may set.
SYSCTLS_BY_VERSION = {
    0: (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_syncookies",
    ),
    27: ("net.ipv4.ip_local_reserved_ports",),
    29: (
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
    ),
    32: ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    37: ("net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_slow_start_after_idle"),
}
PROBE_PATHS = (("livenessProbe",), ("readinessProbe",), ("startupProbe",))
HOOK_PATHS = (("lifecycle", "postStart"), ("lifecycle", "preStop"))


def host_namespaces(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    for field, resource_label in HOST_NAMESPACES.items():
        if get_spec(pod).get(field) is True:
            yield (
                ("spec", field),
                (
                    f"{field} is true, so the Pod shares the node's {resource_label}; leave it out or set it"
                    " to false"
                ),
            )


def privileged(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    for part in list_containers(pod):
        if part.security_context.get("privileged") is True:
            yield (
                (*part.path, "securityContext", "privileged"),
                f"{part.label} runs privileged; leave privileged out or set it to false",
            )


def capabilities(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    return iter_added_capabilities(pod, ALLOWED_CAPABILITIES)


def iter_added_capabilities(pod: Any, allowed: tuple[str, ...]) -> Iterator[ControlViolation]:
    """The capabilities that containers add and that are not among the allowed ones."""
    for part in list_containers(pod):
        for number, name in list_strings(as_mapping(part.security_context.get("capabilities")).get("add")):
            if name not in allowed:
                yield (
                    (*part.path, "securityContext", "capabilities", "add", number),
                    f"{part.label} adds the capability {truncate_value(name)}, {_describe_allowed(allowed)}",
                )


def _describe_allowed(allowed: tuple[str, ...]) -> str:
    """How a capability departs from the allowed ones; many are not listed."""
    if len(allowed) == 1:
        return f"and {allowed[0]} is the only one allowed"
    return f"which is none of the {len(allowed)} that the level baseline allows"


def host_path_volumes(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    for number, volume in list_mappings(get_spec(pod).get("volumes")):
        source = volume.get("hostPath")
        if source is not None:
            path = truncate_value(as_mapping(source).get("path", ""))
            yield (
                ("spec", "volumes", number, "hostPath"),
                (
                    f'volume "{truncate_value(volume.get("name", number))}" is "{path}" of the node;'
                    f" {_suggest_replacement(path)}"
                ),
            )


def _suggest_replacement(path: str) -> str:
    """What to use instead of a path of the node."""
    if path.rstrip("/") == "/dev/shm":
        return "use an emptyDir with medium: Memory"
    if path.startswith("/dev/"):
        return "ask for the device as a resource of its device plugin, such as nvidia.com/gpu"
    return "use a persistentVolumeClaim or another type of volume"


def host_ports(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    """The ports taken from the node. With hostNetwork the API server makes each containerPort one."""
    implied = []
    for part in list_containers(pod):
        for number, port in list_mappings(part.data.get("ports")):
            host_port = port.get("hostPort")
            if host_port:
                yield (
                    (*part.path, "ports", number, "hostPort"),
                    f"{part.label} takes port {truncate_value(host_port)} of the node; leave hostPort out",
                )
            elif port.get("containerPort"):
                implied.append(truncate_value(port["containerPort"]))
    if implied and get_spec(pod).get("hostNetwork") is True:
        ports = "port" if len(implied) == 1 else "ports"
        yield (
            ("spec", "hostNetwork"),
            f"hostNetwork is true, so the Pod takes the {ports} {', '.join(implied)} of the node; "
            "leave hostNetwork out",
        )


def host_probes(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    for part in list_containers(pod):
        for steps in (steps for steps in (*PROBE_PATHS, *HOOK_PATHS) if steps[0] in part.data):
            handler = part.data
            for step in steps:
                handler = as_mapping(handler.get(step))
            for action in ("httpGet", "tcpSocket"):
                host = as_mapping(handler.get(action)).get("host")
                if host:
                    yield (
                        (*part.path, *steps, action, "host"),
                        f'{part.label} has the kubelet connect to the host "{truncate_value(host)}" in its '
                        f"{steps[-1]}; leave host out to reach the Pod itself",
                    )


def app_armor_profile(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    annotations = as_mapping(as_mapping(as_mapping(pod).get("metadata")).get("annotations"))
    for key, value in annotations.items():
        profile_name = str(value or "")
        if str(key).startswith(APPARMOR_ANNOTATION) and not (
            profile_name in ("", "runtime/default") or profile_name.startswith("localhost/")
        ):
            yield (
                ("metadata", "annotations", key),
                f'the AppArmor profile of container "{truncate_value(key[len(APPARMOR_ANNOTATION) :])}" is '
                f'"{truncate_value(profile_name)}"; allowed: runtime/default, localhost/…',
            )
    yield from iter_forbidden_profiles(pod, "appArmorProfile", "AppArmor")


def seccomp_profile(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    return iter_forbidden_profiles(pod, "seccompProfile", "seccomp")


def iter_forbidden_profiles(pod: Any, field: str, name: str) -> Iterator[ControlViolation]:
    """The profiles, of AppArmor or seccomp, that switch the protection off."""
    for part in list_pod_parts(pod):
        profile = part.security_context.get(field)
        if profile is not None and as_mapping(profile).get("type") not in ALLOWED_PROFILE_TYPES:
            profile_type = truncate_value(as_mapping(profile).get("type") or "empty")
            yield (
                find_existing_path(pod, (*part.path, "securityContext", field, "type")),
                (
                    f"the {name} profile of {part.label} is {profile_type}; allowed:"
                    f" {', '.join(ALLOWED_PROFILE_TYPES)}"
                ),
            )


def se_linux_options(pod: Any, minor: int) -> Iterator[ControlViolation]:
    types = _collect_until(SELINUX_TYPES_BY_VERSION, minor)
    for part in list_pod_parts(pod):
        options = as_mapping(part.security_context.get("seLinuxOptions"))
        base = (*part.path, "securityContext", "seLinuxOptions")
        if options.get("type") and options["type"] not in types:
            yield (
                (*base, "type"),
                (
                    f"the SELinux type of {part.label} is {truncate_value(options['type'])}; allowed:"
                    f" {', '.join(types)}"
                ),
            )
        for field in ("user", "role"):
            if options.get(field):
                yield (
                    (*base, field),
                    (
                        f"the SELinux {field} of {part.label} is {truncate_value(options[field])}; leave"
                        f" {field} out"
                    ),
                )


def proc_mount(pod: Any, minor: int) -> Iterator[ControlViolation]:
    return iter(()) if is_in_user_namespace(pod, minor) else iter_unmasked_proc(pod)


def iter_unmasked_proc(pod: Any) -> Iterator[ControlViolation]:
    """The containers that see more of /proc than a container should."""
    for part in list_containers(pod):
        mount = part.security_context.get("procMount")
        if mount is not None and mount != "Default":
            yield (
                (*part.path, "securityContext", "procMount"),
                f"{part.label} has the procMount {truncate_value(mount)}; leave it out or set it to Default",
            )


def sysctls(pod: Any, minor: int) -> Iterator[ControlViolation]:
    safe = _collect_until(SYSCTLS_BY_VERSION, minor)
    context = as_mapping(get_spec(pod).get("securityContext"))
    for number, sysctl in list_mappings(context.get("sysctls")):
        name = sysctl.get("name")
        if isinstance(name, str) and name not in safe:
            yield (
                ("spec", "securityContext", "sysctls", number, "name"),
                f"the Pod sets the sysctl {truncate_value(name)}; "
                f"allowed in Kubernetes 1.{minor}: {', '.join(sorted(safe))}",
            )


def host_process(pod: Any, _minor: int) -> Iterator[ControlViolation]:
    for part in list_pod_parts(pod):
        if as_mapping(part.security_context.get("windowsOptions")).get("hostProcess") is True:
            yield (
                (*part.path, "securityContext", "windowsOptions", "hostProcess"),
                f"{part.label} runs as a process of the Windows node; "
                "leave hostProcess out or set it to false",
            )


def _collect_until(names_by_version: dict[int, tuple[str, ...]], minor: int) -> tuple[str, ...]:
    """All that was added up to a minor version."""
    return tuple(name for since, names in names_by_version.items() if since <= minor for name in names)
