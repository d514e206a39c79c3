"""Users and modes with which ssh refuses the keys of a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Doc
from podplan.core.replica_groups import Group
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.jobs import SSH_KINDS, kind_of, mode, namespace, spec_of
from podplan.lint.rule_selection import enforced
from podplan.lint.target import Hit, Subject

KEYS = "ssh-keys"  # the volume of the keys in the lowered Pods


def ssh_user(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Users that cannot read the ssh keys; value ``what``."""
    found = _training_pod(subject)
    if found is None:
        return
    path, container, keys = found
    pod = mapping(mapping(subject.data, "spec"), "securityContext")
    own = mapping(container, "securityContext")
    for field, base, context in _effective(path, own, pod):
        value = context[field]
        if field == "runAsUser" and value != 0:
            what = f"the container runs as user {value}"
        elif field == "runAsNonRoot" and value is True and not _sets_user(own, pod):
            what = "the container may not run as root"
        else:
            continue
        yield Hit((*base, field), {"what": f"{what}, and the ssh keys are in {keys}, which is for root only"})


def keys_outside_home(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """``ssh.authMountPath`` where neither ssh nor sshd look for keys; values ``path`` and ``home``."""
    job = subject.job
    path = text(mapping(spec_of(job), "ssh"), "authMountPath").rstrip("/")
    if not path or mode(job, "debug"):
        return
    users = {found[0] if (found := _user(group)) is not None else None for group in job.pods}
    # The image may have another user than root, whose home is not known here.
    home = "/root/.ssh" if users == {0} else ""
    if path != home if home else path.rpartition("/")[2] != ".ssh":
        values = {
            "path": path,
            "home": home or "the folder .ssh in the home of the user, /root/.ssh for root",
        }
        yield Hit(("spec", "ssh", "authMountPath"), values)


def ssh_root_refused(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A namespace that refuses root, which the ssh keys are for; values ``namespace`` and ``keys``."""
    job = subject.job
    if job.inventory is None or enforced(job) != "restricted":
        return
    pods = (subject._replace(data=group.doc.data, group=group) for group in job.pods)
    found = next((pod for pod in map(_training_pod, pods) if pod is not None), None)
    if found is not None:
        where = namespace(job)
        at: Path = ("spec", "namespaces", where, "podSecurity")
        related = [(job.inventory, at, "it enforces the level restricted")]
        yield Hit(("metadata", "namespace"), {"namespace": where, "keys": found[2]}, related)


def ssh_key_modes(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """fsGroup, which makes the keys of root readable by a group; values ``group`` and ``keys``."""
    found = _training_pod(subject)
    pod = mapping(mapping(subject.data, "spec"), "securityContext")
    group = pod.get("fsGroup")
    if found is None or not isinstance(group, int):
        return
    container, keys = found[1:]
    user = mapping(container, "securityContext").get("runAsUser", pod.get("runAsUser"))
    if user in (None, 0):
        yield Hit(("spec", "securityContext", "fsGroup"), {"group": group, "keys": keys})


def ssh_users_differ(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A launcher of a ColossalAIJob and workers that run as different users; values ``one`` and ``other``."""
    if mode(subject.job, "debug"):
        return
    users = {group.role: found for group in subject.job.pods if (found := _user(group)) is not None}
    if {"launcher", "worker"} <= users.keys():
        (one, doc, path, group), (other, there, other_path, _) = users["launcher"], users["worker"]
        if one != other:
            related = [(there, other_path, f"the workers run as user {other}")]
            yield Hit(path, {"one": one, "other": other}, related, doc=doc, group=group)


def _user(group: Group) -> tuple[int, Doc, Path, Group] | None:
    """The user of the training container of a Pod, where one is given, and the place that says so."""
    listed = dict(entries(mapping(group.doc.data, "spec"), "containers"))
    own = mapping(listed.get(group.training or 0), "securityContext")
    pod = mapping(mapping(group.doc.data, "spec"), "securityContext")
    path = ("spec", "containers", group.training or 0)
    for field, base, context in _effective(path, own, pod):
        if field == "runAsUser" and isinstance(context[field], int):
            return context[field], group.doc, (*base, field), group
    return None


def _effective(
    path: Path, own: Mapping[str, Any], pod: Mapping[str, Any]
) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """The settings of the user in force: those of the container, else those of the Pod."""
    for field in ("runAsUser", "runAsNonRoot"):
        if own.get(field) is not None:
            yield field, (*path, "securityContext"), own
        elif pod.get(field) is not None:
            yield field, ("spec", "securityContext"), pod


def _sets_user(own: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    return own.get("runAsUser", pod.get("runAsUser")) is not None


def _training_pod(subject: Subject) -> tuple[Path, Mapping[str, Any], str] | None:
    """The training container of a Pod that has its ssh keys below /root, and where they are."""
    job, group = subject.job, subject.group
    if group is None or kind_of(job) not in SSH_KINDS or mode(job, "debug"):
        return None
    for index, container in entries(mapping(subject.data, "spec"), "containers"):
        if index != (group.training or 0):
            continue
        for _, mount in entries(container, "volumeMounts"):
            keys = mount.get("mountPath")
            if isinstance(keys, str) and "subPath" in mount:
                keys = keys.rpartition("/")[0]
            if mount.get("name") == KEYS and isinstance(keys, str) and f"{keys}/".startswith("/root/"):
                return ("spec", "containers", index), container, keys
    return None
