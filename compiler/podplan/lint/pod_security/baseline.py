"""The controls of the level baseline: what no Pod may do, because it breaks out of the container.

Each is a function of a Pod and the minor version of Kubernetes that yields violations. Source of all lists:
https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.typing import Any
from podplan.lint.pod_security.pod import (
    Violation,
    containers,
    in_user_namespace,
    mapping,
    members,
    nearest,
    setters,
    short,
    spec,
    texts,
)

HOST_NAMESPACES = {
    "hostNetwork": "network",
    "hostPID": "processes",
    "hostIPC": "shared memory",
}
CAPABILITIES = (
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
PROFILE_TYPES = ("RuntimeDefault", "Localhost")
APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
SELINUX_TYPES = {
    0: ("container_t", "container_init_t", "container_kvm_t"),
    31: ("container_engine_t",),
}
# Minor version -> the sysctls that it added to those that a Pod may set.
SYSCTLS = {
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
PROBES = (("livenessProbe",), ("readinessProbe",), ("startupProbe",))
HOOKS = (("lifecycle", "postStart"), ("lifecycle", "preStop"))


def host_namespaces(pod: Any, _minor: int) -> Iterator[Violation]:
    for field, what in HOST_NAMESPACES.items():
        if spec(pod).get(field) is True:
            yield (
                ("spec", field),
                f"{field} is true, so the Pod shares the node's {what}; leave it out or set it to false",
            )


def privileged(pod: Any, _minor: int) -> Iterator[Violation]:
    for setter in containers(pod):
        if setter.context.get("privileged") is True:
            yield (
                (*setter.base, "securityContext", "privileged"),
                f"{setter.who} runs privileged; leave privileged out or set it to false",
            )


def capabilities(pod: Any, _minor: int) -> Iterator[Violation]:
    return added_capabilities(pod, CAPABILITIES)


def added_capabilities(pod: Any, allowed: tuple[str, ...]) -> Iterator[Violation]:
    """The capabilities that containers add and that are not among the allowed ones."""
    for setter in containers(pod):
        for number, name in texts(mapping(setter.context.get("capabilities")).get("add")):
            if name not in allowed:
                yield (
                    (*setter.base, "securityContext", "capabilities", "add", number),
                    f"{setter.who} adds the capability {short(name)}, {_beyond(allowed)}",
                )


def _beyond(allowed: tuple[str, ...]) -> str:
    """How a capability departs from the allowed ones; many are not listed."""
    if len(allowed) == 1:
        return f"and {allowed[0]} is the only one allowed"
    return f"which is none of the {len(allowed)} that the level baseline allows"


def host_path_volumes(pod: Any, _minor: int) -> Iterator[Violation]:
    for number, volume in members(spec(pod).get("volumes")):
        source = volume.get("hostPath")
        if source is not None:
            path = short(mapping(source).get("path", ""))
            yield (
                ("spec", "volumes", number, "hostPath"),
                f'volume "{short(volume.get("name", number))}" is "{path}" of the node; {_instead_of(path)}',
            )


def _instead_of(path: str) -> str:
    """What to use instead of a path of the node."""
    if path.rstrip("/") == "/dev/shm":
        return "use an emptyDir with medium: Memory"
    if path.startswith("/dev/"):
        return "ask for the device as a resource of its device plugin, such as nvidia.com/gpu"
    return "use a persistentVolumeClaim or another type of volume"


def host_ports(pod: Any, _minor: int) -> Iterator[Violation]:
    """The ports taken from the node. With hostNetwork the API server makes each containerPort one."""
    implied = []
    for setter in containers(pod):
        for number, port in members(setter.data.get("ports")):
            taken = port.get("hostPort")
            if taken:
                yield (
                    (*setter.base, "ports", number, "hostPort"),
                    f"{setter.who} takes port {short(taken)} of the node; leave hostPort out",
                )
            elif port.get("containerPort"):
                implied.append(short(port["containerPort"]))
    if implied and spec(pod).get("hostNetwork") is True:
        ports = "port" if len(implied) == 1 else "ports"
        yield (
            ("spec", "hostNetwork"),
            f"hostNetwork is true, so the Pod takes the {ports} {', '.join(implied)} of the node; "
            "leave hostNetwork out",
        )


def host_probes(pod: Any, _minor: int) -> Iterator[Violation]:
    for setter in containers(pod):
        for steps in (steps for steps in (*PROBES, *HOOKS) if steps[0] in setter.data):
            handler = setter.data
            for step in steps:
                handler = mapping(handler.get(step))
            for action in ("httpGet", "tcpSocket"):
                host = mapping(handler.get(action)).get("host")
                if host:
                    yield (
                        (*setter.base, *steps, action, "host"),
                        f'{setter.who} has the kubelet connect to the host "{short(host)}" in its '
                        f"{steps[-1]}; leave host out to reach the Pod itself",
                    )


def app_armor_profile(pod: Any, _minor: int) -> Iterator[Violation]:
    annotations = mapping(mapping(mapping(pod).get("metadata")).get("annotations"))
    for key, value in annotations.items():
        named = str(value or "")
        if str(key).startswith(APPARMOR_ANNOTATION) and not (
            named in ("", "runtime/default") or named.startswith("localhost/")
        ):
            yield (
                ("metadata", "annotations", key),
                f'the AppArmor profile of container "{short(key[len(APPARMOR_ANNOTATION) :])}" is '
                f'"{short(named)}"; allowed: runtime/default, localhost/…',
            )
    yield from forbidden_profiles(pod, "appArmorProfile", "AppArmor")


def seccomp_profile(pod: Any, _minor: int) -> Iterator[Violation]:
    return forbidden_profiles(pod, "seccompProfile", "seccomp")


def forbidden_profiles(pod: Any, field: str, name: str) -> Iterator[Violation]:
    """The profiles, of AppArmor or seccomp, that switch the protection off."""
    for setter in setters(pod):
        profile = setter.context.get(field)
        if profile is not None and mapping(profile).get("type") not in PROFILE_TYPES:
            named = short(mapping(profile).get("type") or "empty")
            yield (
                nearest(pod, (*setter.base, "securityContext", field, "type")),
                f"the {name} profile of {setter.who} is {named}; allowed: {', '.join(PROFILE_TYPES)}",
            )


def se_linux_options(pod: Any, minor: int) -> Iterator[Violation]:
    types = _until(SELINUX_TYPES, minor)
    for setter in setters(pod):
        options = mapping(setter.context.get("seLinuxOptions"))
        base = (*setter.base, "securityContext", "seLinuxOptions")
        if options.get("type") and options["type"] not in types:
            yield (
                (*base, "type"),
                f"the SELinux type of {setter.who} is {short(options['type'])}; allowed: {', '.join(types)}",
            )
        for field in ("user", "role"):
            if options.get(field):
                yield (
                    (*base, field),
                    f"the SELinux {field} of {setter.who} is {short(options[field])}; leave {field} out",
                )


def proc_mount(pod: Any, minor: int) -> Iterator[Violation]:
    return iter(()) if in_user_namespace(pod, minor) else unmasked_proc(pod)


def unmasked_proc(pod: Any) -> Iterator[Violation]:
    """The containers that see more of /proc than a container should."""
    for setter in containers(pod):
        mount = setter.context.get("procMount")
        if mount is not None and mount != "Default":
            yield (
                (*setter.base, "securityContext", "procMount"),
                f"{setter.who} has the procMount {short(mount)}; leave it out or set it to Default",
            )


def sysctls(pod: Any, minor: int) -> Iterator[Violation]:
    safe = _until(SYSCTLS, minor)
    context = mapping(spec(pod).get("securityContext"))
    for number, sysctl in members(context.get("sysctls")):
        name = sysctl.get("name")
        if isinstance(name, str) and name not in safe:
            yield (
                ("spec", "securityContext", "sysctls", number, "name"),
                f"the Pod sets the sysctl {short(name)}; "
                f"allowed in Kubernetes 1.{minor}: {', '.join(sorted(safe))}",
            )


def host_process(pod: Any, _minor: int) -> Iterator[Violation]:
    for setter in setters(pod):
        if mapping(setter.context.get("windowsOptions")).get("hostProcess") is True:
            yield (
                (*setter.base, "securityContext", "windowsOptions", "hostProcess"),
                f"{setter.who} runs as a process of the Windows node; "
                "leave hostProcess out or set it to false",
            )


def _until(added: dict[int, tuple[str, ...]], minor: int) -> tuple[str, ...]:
    """All that was added up to a minor version."""
    return tuple(name for since, names in added.items() if since <= minor for name in names)
