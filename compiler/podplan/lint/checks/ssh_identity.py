"""Users and modes with which ssh refuses the keys of a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.jobs import find_kind_spec, has_trait, is_mode_enabled, namespace_of, spec_of
from podplan.lint.checks.registration import check
from podplan.lint.namespaces import find_pod_security
from podplan.lint.target import Target, Violation

_SYSTEM_SSHD = "/usr/sbin/sshd"


@check(aliases=("ssh-user",))
def ssh_identity(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Users that cannot read the ssh keys; value ``what``."""
    training_container = _find_container_with_keys(target)
    if training_container is None:
        return
    path, container, keys = training_container
    pod_context = get_mapping(get_mapping(target.data, "spec"), "securityContext")
    container_context = get_mapping(container, "securityContext")
    for field, base, context in _iter_effective_settings(path, container_context, pod_context):
        value = context[field]
        if field == "runAsUser" and value != 0:
            message = f"the container runs as user {value}"
        elif field == "runAsNonRoot" and value is True and not _sets_user(container_context, pod_context):
            message = "the container must not run as root"
        else:
            continue
        yield Violation((*base, field), {"what": f"{message}, but only root can read the ssh keys in {keys}"})


@check(aliases=("keys-outside-home",))
def ssh_keys_outside_home(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """``ssh.authMountPath`` where neither ssh nor sshd searches keys; values ``path`` and ``home``."""
    job = target.job
    path = get_text(get_mapping(spec_of(job), "ssh"), "authMountPath").rstrip("/")
    sshd = get_text(get_mapping(spec_of(job), "ssh"), "sshdPath")
    if not path or is_mode_enabled(job, "debug") or sshd not in ("", _SYSTEM_SSHD):
        return  # another sshd has another configuration
    users = {found[0] if (found := _find_user(group)) is not None else None for group in job.pods}
    # The image may have another user than root, whose home is not known here.
    home = "/root/.ssh" if users == {0} else ""
    if path != home if home else path.rpartition("/")[2] != ".ssh":
        values = {
            "path": path,
            "home": home or "the folder .ssh in the home of the user, /root/.ssh for root",
        }
        yield Violation(("spec", "ssh", "authMountPath"), values)


@check()
def ssh_root_refused(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A namespace that refuses root, the user of the ssh keys; values ``namespace`` and ``keys``."""
    job = target.job
    level = find_pod_security(job)
    if level is None or level.value != "restricted":
        return
    pods = (target._replace(data=group.doc.data, group=group) for group in job.pods)
    training_container = next((pod for pod in map(_find_container_with_keys, pods) if pod is not None), None)
    if training_container is not None:
        job_namespace = namespace_of(job)
        related = [(level.doc, level.path, "it enforces the level restricted")]
        yield Violation(
            ("metadata", "namespace"), {"namespace": job_namespace, "keys": training_container[2]}, related
        )


@check(aliases=("ssh-key-modes",))
def ssh_key_mode(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """fsGroup, which makes root's keys readable by a group; values ``group`` and ``keys``."""
    training_container = _find_container_with_keys(target)
    pod_context = get_mapping(get_mapping(target.data, "spec"), "securityContext")
    group = pod_context.get("fsGroup")
    if training_container is None or not isinstance(group, int):
        return
    container, keys = training_container[1:]
    user = get_mapping(container, "securityContext").get("runAsUser", pod_context.get("runAsUser"))
    if user in (None, 0):
        yield Violation(("spec", "securityContext", "fsGroup"), {"group": group, "keys": keys})


@check()
def ssh_users_differ(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A launcher of a ColossalAIJob and workers that run as different users; values ``one`` and ``other``."""
    if is_mode_enabled(target.job, "debug"):
        return
    users = {
        group.replica_type: found for group in target.job.pods if (found := _find_user(group)) is not None
    }
    if {"launcher", "worker"} <= users.keys():
        (launcher_user, doc, path, group), (worker_user, worker_doc, worker_path, _) = (
            users["launcher"],
            users["worker"],
        )
        if launcher_user != worker_user:
            related = [(worker_doc, worker_path, f"the workers run as user {worker_user}")]
            yield Violation(path, {"one": launcher_user, "other": worker_user}, related, doc=doc, group=group)


def _find_user(group: ReplicaGroup) -> tuple[int, TracedDocument, Path, ReplicaGroup] | None:
    """Return the user of the training container if one is stated, and its path."""
    containers = dict(get_entries(get_mapping(group.doc.data, "spec"), "containers"))
    container_context = get_mapping(containers.get(group.training_container_index or 0), "securityContext")
    pod_context = get_mapping(get_mapping(group.doc.data, "spec"), "securityContext")
    path = ("spec", "containers", group.training_container_index or 0)
    for field, base, context in _iter_effective_settings(path, container_context, pod_context):
        if field == "runAsUser" and isinstance(context[field], int):
            return context[field], group.doc, (*base, field), group
    return None


def _iter_effective_settings(
    path: Path, container_context: Mapping[str, Any], pod_context: Mapping[str, Any]
) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """Yield the effective user settings: those of the container, else those of the Pod."""
    for field in ("runAsUser", "runAsNonRoot"):
        if container_context.get(field) is not None:
            yield field, (*path, "securityContext"), container_context
        elif pod_context.get(field) is not None:
            yield field, ("spec", "securityContext"), pod_context


def _sets_user(container_context: Mapping[str, Any], pod_context: Mapping[str, Any]) -> bool:
    return container_context.get("runAsUser", pod_context.get("runAsUser")) is not None


def _find_container_with_keys(target: Target) -> tuple[Path, Mapping[str, Any], str] | None:
    """Return the training container of a Pod with ssh keys below /root, and the path of the keys."""
    job, group = target.job, target.group
    if group is None or not has_trait(job, "ssh") or is_mode_enabled(job, "debug"):
        return None
    kind_spec = find_kind_spec(job)
    keys_volume = kind_spec.ssh_keys_volume if kind_spec is not None else ""
    for index, container in get_entries(get_mapping(target.data, "spec"), "containers"):
        if index != (group.training_container_index or 0):
            continue
        for _, mount in get_entries(container, "volumeMounts"):
            keys = mount.get("mountPath")
            if isinstance(keys, str) and "subPath" in mount:
                keys = keys.rpartition("/")[0]
            if mount.get("name") == keys_volume and isinstance(keys, str) and f"{keys}/".startswith("/root/"):
                return ("spec", "containers", index), container, keys
    return None
