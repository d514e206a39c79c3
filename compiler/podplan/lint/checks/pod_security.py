"""Pod Security Standards as a check: one control, by the level and version of Kubernetes in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.launchers.sshd import CAPABILITIES_AS_ROOT, OPTIONAL_CAPABILITIES, starts_sshd
from podplan.lint.checks.networks import find_rdma_device
from podplan.lint.checks.registration import check, object_schema
from podplan.lint.pod_security import CONTROLS, find_violations_beyond_baseline, may_violate
from podplan.lint.pod_security.pod import (
    CONTAINER_LISTS,
    as_mapping,
    find_written_fields,
    get_spec,
    list_containers,
    list_mappings,
    list_strings,
)
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

IPC_LOCK_ADVICE = " and raise the limit of locked memory on the nodes instead (NET003)"
# A data folder: no folder of the system, of users, or of running programs.
_DATA = compile_lazily(
    r"(?!/(?:bin|boot|dev|etc|home|lib\w*|opt|proc|root|run|sbin|sys|tmp|usr|var)(?:/|\Z))(?!.*/\.\.(?:/|\Z))"
    r"/[^/]+(?:/.*)?"
)
_SSHD_CAPABILITIES = f"{', '.join(CAPABILITIES_AS_ROOT[:-1])} and {CAPABILITIES_AS_ROOT[-1]}"
_CONDITIONAL_CAPABILITIES = ", ".join(f"{name} {why}" for name, why in OPTIONAL_CAPABILITIES.items())
_OTHER_USER_ADVICE = (
    "sshd of another user lets in that user only, and needs host keys that this user can read: where the "
    "image is not made for that, leave the job in a namespace of the level baseline"
)


class SshdAdvice(NamedTuple):
    """Additions to message and fix for a container that starts sshd."""

    note: str = ""
    help: str = ""


# By the control.
ROOT_SSHD_ADVICE = {
    "restrictedCapabilities": SshdAdvice(
        f", and capabilities.add {_SSHD_CAPABILITIES} for sshd",
        f"sshd needs {_SSHD_CAPABILITIES} as root, or it refuses every login: add them beside drop: [ALL]"
        f" ({_CONDITIONAL_CAPABILITIES}), and leave the job in a namespace of the level baseline; restricted"
        " allows NET_BIND_SERVICE alone",
    ),
    "runAsNonRoot": SshdAdvice(", unless sshd needs root", _OTHER_USER_ADVICE),
    "runAsUser": SshdAdvice(", unless sshd needs root", _OTHER_USER_ADVICE),
}
OTHER_USER_SSHD_ADVICE = {
    "restrictedCapabilities": SshdAdvice(
        help="beside drop: [ALL] sshd needs NET_BIND_SERVICE for a port below 1024"
    ),
    "allowPrivilegeEscalation": SshdAdvice(
        help="sshd with a port below 1024 by a file capability (setcap) loses it: let it listen on another"
    ),
}


_PARAMS = object_schema(
    {
        "control": {"enum": list(CONTROLS)},
        "level": {"enum": ["baseline", "restricted"]},
    },
    {"version": {"type": "string", "pattern": r"^1\.[0-9]{1,3}$"}},
)


@check(params=_PARAMS)
def pod_security(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A field of a Pod that violates the control ``params["control"]``.

    Values: ``what``, ``otherwise`` (other violations), ``sshd`` (advice if the container starts sshd).
    The rules are those of Kubernetes ``params["version"]``, else of the run. ``params["enforced"]`` is set
    if the namespace is known to refuse such Pods; otherwise some are tolerated (_TOLERATED).
    """
    control = params["control"]
    fields = _find_written_fields(target.job).get(id(target.data))
    if fields is not None and not may_violate(control, fields):
        return
    tolerated = _TOLERATED.get(control)
    allowed_paths = tuple(tolerated(target.data)) if tolerated and "enforced" not in params else ()
    version = params.get("version", target.job.kubernetes_version)
    for path, message in find_violations_beyond_baseline(target.data, control, version):
        if path in allowed_paths:
            continue
        advice = _find_sshd_advice(target.data, control, path)
        alternative = IPC_LOCK_ADVICE if "IPC_LOCK" in message else ""
        yield Violation(path, {"what": message + advice.note, "otherwise": alternative, "sshd": advice.help})


def _iter_locked_memory(pod: Any) -> Iterator[Path]:
    """Yield the paths where containers with an RDMA device add IPC_LOCK, which may be necessary."""
    for one in list_containers(pod):
        if find_rdma_device(one.data) is not None:
            for number, name in list_strings(as_mapping(one.security_context.get("capabilities")).get("add")):
                if name == "IPC_LOCK":
                    yield (*one.path, "securityContext", "capabilities", "add", number)


def _network_of_devices(pod: Any) -> Iterator[Path]:
    """Yield hostNetwork of a Pod with an RDMA device, whose interface may exist on the node only."""
    if any(find_rdma_device(one.data) is not None for one in list_containers(pod)):
        yield "spec", "hostNetwork"


def _data_of_nodes(pod: Any) -> Iterator[Path]:
    """Yield volumes with read-only data of the node outside of its system folders."""
    mounts = [
        (name, mount.get("readOnly") is True)
        for one in list_containers(pod)
        for _, mount in list_mappings(one.data.get("volumeMounts"))
        if isinstance(name := mount.get("name"), str)
    ]
    for number, volume in list_mappings(get_spec(pod).get("volumes")):
        path = as_mapping(volume.get("hostPath")).get("path")
        is_read_only = [read_only for name, read_only in mounts if name == volume.get("name")]
        if isinstance(path, str) and is_read_only and all(is_read_only) and _DATA.fullmatch(path):
            yield "spec", "volumes", number, "hostPath"


# Fields that Pods need on some clusters, by the control that they violate.
_TOLERATED: dict[str, Callable[[Any], Iterator[Path]]] = {
    "capabilities": _iter_locked_memory,
    "hostNamespaces": _network_of_devices,
    "hostPorts": _network_of_devices,
    "hostPathVolumes": _data_of_nodes,
}


def _find_sshd_advice(pod: Any, control: str, path: Path) -> SshdAdvice:
    """Return the advice on a control that is violated at ``path`` of a container with sshd."""
    if control not in ROOT_SSHD_ADVICE and control not in OTHER_USER_SSHD_ADVICE:
        return SshdAdvice()
    pod_context = as_mapping(get_spec(pod).get("securityContext"))
    for container in list_containers(pod):
        is_about_pod = len(path) < 2 or path[1] not in CONTAINER_LISTS
        if (is_about_pod or path[: len(container.path)] == container.path) and starts_sshd(container.data):
            context = {**pod_context, **container.security_context}
            as_root = not context.get("runAsUser") and context.get("runAsNonRoot") is not True
            advice = (ROOT_SSHD_ADVICE if as_root else OTHER_USER_SSHD_ADVICE).get(control, SshdAdvice())
            capability = value_at(pod, path) if "add" in path else None
            is_needed = capability in CAPABILITIES_AS_ROOT or capability in OPTIONAL_CAPABILITIES
            return advice._replace(note=", but sshd needs it" if is_needed else "") if capability else advice
    return SshdAdvice()


@cache_latest
def _find_written_fields(job: LoweredJob) -> dict[int, frozenset[str]]:
    """Return the fields of each Pod of a job, by the id of its data."""
    return {id(group.doc.data): find_written_fields(group.doc.data) for group in job.pods}
