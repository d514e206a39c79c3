"""PersistentVolumeClaims: which Pods mount them, and whether their access modes allow it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.cross_job import RebuildJob, SharingJobs
from podplan.lint.analysis.inventory import (
    describe_absence,
    describe_namespaces,
    find_inventory_place,
    get_entry,
    get_section,
    is_available_in,
)
from podplan.lint.analysis.jobs import (
    JobNameSummary,
    build_name_summary,
    count_pods,
    find_replica_places,
    format_list,
    get_job_label,
    namespace_of,
)
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

FILESET_PATTERN = compile_lazily(r"t9k://pvc/([^/]+)")
SINGLE_NODE_MODES = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})
HOSTNAME_LABEL = "kubernetes.io/hostname"
# Devices and installed software: the same on every node, and no data.
SYSTEM_PATHS = ("/dev", "/sys", "/proc", "/run", "/var/run", "/etc", "/lib", "/opt", "/usr")


class ClaimUser(NamedTuple):
    """A replica group or a TensorBoard that mounts a claim: the path that names it, and whether it writes."""

    group: ReplicaGroup
    path: Path
    writes: bool


@cache_latest
def find_claim_users(job: LoweredJob) -> dict[str, list[ClaimUser]]:
    """Return the users of each claim that a job mounts."""
    users_by_claim: dict[str, list[ClaimUser]] = {}
    other_groups = (group for group in job.groups if group.doc.data["kind"] != "Pod")
    for group in (*job.pods, *other_groups):
        kind = group.doc.data["kind"]
        group_users = (
            _iter_pod_claims(group)
            if kind == "Pod"
            else _iter_tensorboard_claims(group)
            if kind == "TensorBoard"
            else ()
        )
        for claim, user in group_users:
            users_by_claim.setdefault(claim, []).append(user)
    return users_by_claim


def _iter_pod_claims(group: ReplicaGroup) -> Iterator[tuple[str, ClaimUser]]:
    for number, volume in get_entries(get_mapping(group.doc.data, "spec"), "volumes"):
        claim = get_mapping(volume, "persistentVolumeClaim")
        name = get_text(claim, "claimName")
        if name:
            writes = claim.get("readOnly") is not True and _is_written_to(group, get_text(volume, "name"))
            path = ("spec", "volumes", number, "persistentVolumeClaim", "claimName")
            yield name, ClaimUser(group, path, writes)


def _is_written_to(group: ReplicaGroup, volume: str) -> bool:
    """Whether a container of a Pod mounts a volume writable."""
    pod_containers = (c for _, c in (*list_containers(group), *list_init_containers(group)))
    mounts = (mount for c in pod_containers for _, mount in get_entries(c, "volumeMounts"))
    return any(get_text(mount, "name") == volume and mount.get("readOnly") is not True for mount in mounts)


def _iter_tensorboard_claims(group: ReplicaGroup) -> Iterator[tuple[str, ClaimUser]]:
    spec = get_mapping(group.doc.data, "spec")
    for number, fileset in get_texts(spec, "trainingLogFilesets"):
        match = FILESET_PATTERN.match(fileset)
        if match is not None:
            yield match[1], ClaimUser(group, ("spec", "trainingLogFilesets", number), False)
    for number, claim in get_entries(get_mapping(spec, "logDir"), "pvc"):
        if get_text(claim, "name"):
            yield get_text(claim, "name"), ClaimUser(group, ("spec", "logDir", "pvc", number, "name"), False)


def _get_access_modes(job: LoweredJob, claim: str) -> list[str]:
    return [mode for _, mode in get_texts(get_entry(job, "pvcs", claim), "accessModes")]


@check()
def claim_on_one_node(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A ReadWriteOnce claim that several Pods mount. Values: ``claim``, ``pods``, ``users``."""
    for claim, claim_users in find_claim_users(target.job).items():
        if are_on_several_nodes(claim_users, _get_access_modes(target.job, claim)):
            yield hit_of_claim(target.job, claim, claim_users)


def are_on_several_nodes(listed: list[ClaimUser], modes: Collection[str]) -> bool:
    """Whether the users of a ReadWriteOnce claim may run on several nodes."""
    if "ReadWriteOnce" not in modes or "ReadWriteMany" in modes:
        return False
    read_only = "ReadOnlyMany" in modes and not any(user.writes for user in listed)
    apart = [user for user in listed if not _is_colocated(user.group)]
    return not read_only and mounting(listed) > 1 and bool(apart)


@check()
def claim_for_one_pod(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A ReadWriteOncePod claim that several Pods mount. Values: ``claim``, ``pods``, ``users``."""
    for claim, claim_users in find_claim_users(target.job).items():
        if _get_access_modes(target.job, claim) == ["ReadWriteOncePod"] and mounting(claim_users) > 1:
            yield hit_of_claim(target.job, claim, claim_users)


@check()
def claim_read_only(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A ReadOnlyMany claim that a Pod mounts writable. Values: ``claim``, ``users``."""
    for claim, claim_users in find_claim_users(target.job).items():
        writers = [user for user in claim_users if user.writes]
        if _get_access_modes(target.job, claim) == ["ReadOnlyMany"] and writers:
            yield hit_of_claim(target.job, claim, writers)


def mounting(listed: list[ClaimUser]) -> int:
    return sum(user.group.replicas for user in listed)


def _is_colocated(group: ReplicaGroup) -> bool:
    """Whether a Pod requires to run on the node of others: by a pinned node or required affinity."""
    spec = get_mapping(group.doc.data, "spec")
    pod_affinity = get_mapping(get_mapping(spec, "affinity"), "podAffinity")
    required = get_entries(pod_affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    return (
        bool(get_text(spec, "nodeName"))
        or HOSTNAME_LABEL in get_mapping(spec, "nodeSelector")
        or any(get_text(term, "topologyKey") == HOSTNAME_LABEL for _, term in required)
    )


def hit_of_claim(job: LoweredJob, claim: str, listed: list[ClaimUser]) -> Violation:
    first = listed[0]
    related: list[tuple[TracedDocument, Path, str]] = [
        (user.group.doc, user.path, f"{_get_user_label(user.group)} also mounts it")
        for user in listed[1:]
        if user.group.replica_type != first.group.replica_type
    ]
    types = {user.group.replica_type for user in listed}
    related += [
        (doc, path, label) for role, (doc, path, label) in find_replica_places(job).items() if role in types
    ]
    if job.inventory is not None:
        related.append((job.inventory, ("spec", "pvcs", claim, "accessModes"), "its access modes"))
    values = {"claim": claim, "pods": mounting(listed), "users": _describe_users(listed)}
    return Violation(first.path, values, related=related, doc=first.group.doc, group=first.group)


def _describe_users(claim_users: list[ClaimUser]) -> str:
    """Format the users for a message: "4 Pods of worker and the TensorBoard"."""
    pod_counts: dict[str, int] = {}
    for user in claim_users:
        pod_counts[_get_user_label(user.group)] = (
            pod_counts.get(_get_user_label(user.group), 0) + user.group.replicas
        )
    return format_list(
        [
            label if label.startswith("the ") else f"{number} Pod{'s' if number > 1 else ''} of {label}"
            for label, number in pod_counts.items()
        ]
    )


def _get_user_label(group: ReplicaGroup) -> str:
    return group.replica_type if group.doc.data["kind"] == "Pod" else "the TensorBoard"


@check()
def unknown_claim(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A claim that the inventory does not have, or not in the namespace. Values: ``claim``, ``why``."""
    job, known_claims = target.job, get_section(target.job, "pvcs")
    if not known_claims:
        return
    job_namespace = namespace_of(job)
    for claim, claim_users in find_claim_users(job).items():
        if claim not in known_claims:
            reason = describe_absence(claim, known_claims)
        elif not is_available_in(get_entry(job, "pvcs", claim), job_namespace):
            reason = f'is in {describe_namespaces(get_entry(job, "pvcs", claim))}, not in "{job_namespace}"'
        else:
            continue
        values, related = (
            {"claim": claim, "why": reason},
            find_inventory_place(job, "pvcs", claim, "namespaces"),
        )
        for user in claim_users:
            yield Violation(user.path, values, related, doc=user.group.doc, group=user.group)


class MountSummary(NamedTuple):
    """The claims with ReadWriteOnce or ReadWriteOncePod that a job mounts."""

    job: JobNameSummary
    modes: Mapping[str, str]

    @property
    def keys(self) -> list[Hashable]:
        return [(self.job.namespace, claim) for claim in self.modes]

    @property
    def owner(self) -> Hashable:
        return self.job.identity


def summarize_mounts(job: LoweredJob) -> MountSummary | None:
    """Return the claims of a job for one node or Pod; None for other objects, and if there are none."""
    if job.cr is None:
        return None
    modes = {claim: _get_access_modes(job, claim) for claim in find_claim_users(job)}
    not_for_all = {
        claim: those[0] for claim, those in modes.items() if those and SINGLE_NODE_MODES.issuperset(those)
    }
    return MountSummary(build_name_summary(job), not_for_all) if not_for_all else None


@check(summarize=summarize_mounts)
def claim_of_several_jobs(
    summaries: Mapping[int, MountSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A claim for one node or Pod that an earlier job mounts too.

    Values: ``claim``, ``mode``, ``others``.
    """
    sharing_jobs: dict[tuple[str, str], SharingJobs] = {}
    for number, summary in summaries.items():
        for claim in summary.modes:
            sharing_jobs.setdefault((summary.job.namespace, claim), SharingJobs()).add(number, summary.job)
    for number, summary in summaries.items():
        for claim, mode in summary.modes.items():
            other_numbers, names = sharing_jobs[summary.job.namespace, claim].find_earlier_jobs(summary.job)
            if other_numbers:
                values = {"claim": claim, "mode": mode, "others": format_list(names)}
                related = [_find_first_mount(rebuild_job(other), claim) for other in other_numbers]
                user = find_claim_users(rebuild_job(number))[claim][0]
                yield (
                    number,
                    Violation(user.path, values, related=related, doc=user.group.doc, group=user.group),
                )


def _find_first_mount(job: LoweredJob, claim: str) -> tuple[TracedDocument, Path, str]:
    """Return the first mount of a claim by a job as a related location."""
    user = find_claim_users(job)[claim][0]
    return user.group.doc, user.path, f"{get_job_label(job)} mounts it"


@check()
def host_path_data(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A directory of the node in a job of several Pods. Values: ``path``, ``pods``."""
    if count_pods(target.job) < 2:
        return
    for number, volume in get_entries(get_mapping(target.data, "spec"), "volumes"):
        path = get_text(get_mapping(volume, "hostPath"), "path")
        if path and not any(path == one or path.startswith(f"{one}/") for one in SYSTEM_PATHS):
            yield Violation(
                ("spec", "volumes", number, "hostPath", "path"),
                {"path": path, "pods": count_pods(target.job)},
            )
