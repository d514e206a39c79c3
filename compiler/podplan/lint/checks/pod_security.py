"""Pod Security Standards as a check: one control, by the level and version of Kubernetes in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any, NamedTuple
from podplan.launchers.sshd import CAPABILITIES_AS_ROOT, CAPABILITIES_OF_SOME, starts_sshd
from podplan.lint.checks.networks import rdma_device
from podplan.lint.pod_security import beyond_baseline, may_break
from podplan.lint.pod_security.pod import CONTAINER_LISTS, containers, mapping, members, spec, texts, written
from podplan.lint.target import Hit, Job, Subject, for_one

WITHOUT_IPC_LOCK = " and raise the limit of locked memory on the nodes instead (NET003)"
# A folder of data: none of the system, of users, or of what runs there.
_DATA = pattern(
    r"(?!/(?:bin|boot|dev|etc|home|lib\w*|opt|proc|root|run|sbin|sys|tmp|usr|var)(?:/|\Z))(?!.*/\.\.(?:/|\Z))"
    r"/[^/]+(?:/.*)?"
)
_NEEDED = f"{', '.join(CAPABILITIES_AS_ROOT[:-1])} and {CAPABILITIES_AS_ROOT[-1]}"
_BY_SOME = ", ".join(f"{name} {why}" for name, why in CAPABILITIES_OF_SOME.items())
_OTHER_USER = (
    "sshd of another user lets in that user only, and needs host keys that this user can read: where the "
    "image is not made for that, leave the job in a namespace of the level baseline"
)


class Advice(NamedTuple):
    """What to add to a message, and what to do, where the container starts sshd."""

    note: str = ""
    help: str = ""


# By the control.
AS_ROOT = {
    "restrictedCapabilities": Advice(
        f", and capabilities.add {_NEEDED} for sshd",
        f"sshd needs {_NEEDED} as root, or it refuses every login: add them beside drop: [ALL] ({_BY_SOME}), "
        "and leave the job in a namespace of the level baseline; restricted allows NET_BIND_SERVICE alone",
    ),
    "runAsNonRoot": Advice(", unless sshd needs root", _OTHER_USER),
    "runAsUser": Advice(", unless sshd needs root", _OTHER_USER),
}
AS_OTHER_USER = {
    "restrictedCapabilities": Advice(
        help="beside drop: [ALL] sshd needs NET_BIND_SERVICE for a port below 1024"
    ),
    "allowPrivilegeEscalation": Advice(
        help="sshd with a port below 1024 by a file capability (setcap) loses it: let it listen on another"
    ),
}


def pod_security(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Where a Pod breaks the control ``params["control"]``.

    Values: ``what``, ``otherwise``: by what else, and ``sshd``: what to do where the container starts sshd.
    The rules are those of Kubernetes ``params["version"]``, else of the run. ``params["enforced"]`` is there
    where the namespace is known to refuse such Pods; elsewhere some are taken for intended (_TOLERATED).
    """
    control = params["control"]
    fields = _written(subject.job).get(id(subject.data))
    if fields is not None and not may_break(control, fields):
        return
    tolerated = _TOLERATED.get(control)
    allowed = tuple(tolerated(subject.data)) if tolerated and "enforced" not in params else ()
    version = params.get("version", subject.job.version)
    for path, what in beyond_baseline(subject.data, control, version):
        if path in allowed:
            continue
        advice = _for_sshd(subject.data, control, path)
        otherwise = WITHOUT_IPC_LOCK if "IPC_LOCK" in what else ""
        yield Hit(path, {"what": what + advice.note, "otherwise": otherwise, "sshd": advice.help})


def _locked_memory(pod: Any) -> Iterator[Path]:
    """Where containers with an RDMA device add IPC_LOCK, needed on nodes that limit locked memory."""
    for one in containers(pod):
        if rdma_device(one.data) is not None:
            for number, name in texts(mapping(one.context.get("capabilities")).get("add")):
                if name == "IPC_LOCK":
                    yield (*one.base, "securityContext", "capabilities", "add", number)


def _network_of_devices(pod: Any) -> Iterator[Path]:
    """The hostNetwork of a Pod with an RDMA device, whose network interface may exist on the node alone."""
    if any(rdma_device(one.data) is not None for one in containers(pod)):
        yield "spec", "hostNetwork"


def _data_of_nodes(pod: Any) -> Iterator[Path]:
    """Volumes with data of the node that no container can change, and that are no part of its system."""
    mounts = [
        (name, mount.get("readOnly") is True)
        for one in containers(pod)
        for _, mount in members(one.data.get("volumeMounts"))
        if isinstance(name := mount.get("name"), str)
    ]
    for number, volume in members(spec(pod).get("volumes")):
        path = mapping(volume.get("hostPath")).get("path")
        is_read_only = [read_only for name, read_only in mounts if name == volume.get("name")]
        if isinstance(path, str) and is_read_only and all(is_read_only) and _DATA.fullmatch(path):
            yield "spec", "volumes", number, "hostPath"


# What a Pod needs on some clusters, by the control that it breaks.
_TOLERATED: dict[str, Callable[[Any], Iterator[Path]]] = {
    "capabilities": _locked_memory,
    "hostNamespaces": _network_of_devices,
    "hostPorts": _network_of_devices,
    "hostPathVolumes": _data_of_nodes,
}


def _for_sshd(pod: Any, control: str, path: Path) -> Advice:
    """The advice on a control that is broken at ``path``, where sshd is started there."""
    if control not in AS_ROOT and control not in AS_OTHER_USER:
        return Advice()
    of_pod = mapping(spec(pod).get("securityContext"))
    for one in containers(pod):
        about_pod = len(path) < 2 or path[1] not in CONTAINER_LISTS
        if (about_pod or path[: len(one.base)] == one.base) and starts_sshd(one.data):
            context = {**of_pod, **one.context}
            as_root = not context.get("runAsUser") and context.get("runAsNonRoot") is not True
            advice = (AS_ROOT if as_root else AS_OTHER_USER).get(control, Advice())
            added = value_at(pod, path) if "add" in path else None
            needed = added in CAPABILITIES_AS_ROOT or added in CAPABILITIES_OF_SOME
            return advice._replace(note=", but sshd needs it" if needed else "") if added else advice
    return Advice()


@for_one
def _written(job: Job) -> dict[int, frozenset[str]]:
    """The fields of each Pod of a job, by the id of its data."""
    return {id(group.doc.data): written(group.doc.data) for group in job.pods}
