"""Pod Security Standards as a check: one control, by the level and version of Kubernetes in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.findings import Path, value_at
from podplan.launchers.sshd import CAPABILITIES_AS_ROOT, CAPABILITIES_OF_SOME, starts_sshd
from podplan.lint.checks.networks import rdma_device
from podplan.lint.pod_security import beyond_baseline, may_break
from podplan.lint.pod_security.pod import CONTAINER_LISTS, containers, mapping, spec, texts, written
from podplan.lint.subject import Hit, Job, Subject, for_one
from podplan.typing import Any, NamedTuple

WITHOUT_IPC_LOCK = " and raise the limit of locked memory on the nodes instead (NET003)"
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
    where the namespace is known to refuse such Pods; elsewhere a container with an RDMA device may
    add IPC_LOCK, which it needs on nodes that limit locked memory (NET003).
    """
    control = params["control"]
    allowed = () if "enforced" in params else _for_rdma(subject.data, control)
    fields = _written(subject.job).get(id(subject.data))
    if fields is not None and not may_break(control, fields):
        return
    version = params.get("version", subject.job.version)
    for path, what in beyond_baseline(subject.data, control, version):
        if path in allowed:
            continue
        advice = _for_sshd(subject.data, control, path)
        otherwise = WITHOUT_IPC_LOCK if "IPC_LOCK" in what else ""
        yield Hit(path, {"what": what + advice.note, "otherwise": otherwise, "sshd": advice.help})


def _for_rdma(pod: Any, control: str) -> tuple[Path, ...]:
    """Where containers with an RDMA device add IPC_LOCK."""
    if control != "capabilities":
        return ()
    return tuple(
        (*one.base, "securityContext", "capabilities", "add", number)
        for one in containers(pod)
        if rdma_device(one.data) is not None
        for number, name in texts(mapping(one.context.get("capabilities")).get("add"))
        if name == "IPC_LOCK"
    )


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
