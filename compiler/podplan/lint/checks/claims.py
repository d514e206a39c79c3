"""PersistentVolumeClaims: who mounts them, and whether their access modes let them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Doc
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.lint.analysis.cross_job import Again, Sharers
from podplan.lint.analysis.inventory import absent, elsewhere, entry, is_for, section
from podplan.lint.analysis.jobs import Named, called, named, namespace, pods, replicas_of, shown_list
from podplan.lint.analysis.resources import containers, init_containers
from podplan.lint.target import Hit, Job, Subject, for_one

FILESET = pattern(r"t9k://pvc/([^/]+)")
FOR_ONE = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})
HOSTNAME = "kubernetes.io/hostname"
# Devices, and what the node has installed: the same on every node, and not data.
OF_SYSTEM = ("/dev", "/sys", "/proc", "/run", "/var/run", "/etc", "/lib", "/opt", "/usr")


class User(NamedTuple):
    """A group of Pods, or a TensorBoard, that mounts a claim: where it names it, and whether it writes."""

    group: Group
    path: Path
    writes: bool


@for_one
def users(job: Job) -> dict[str, list[User]]:
    """Who of a job mounts a claim, by claim."""
    found: dict[str, list[User]] = {}
    others = (group for group in job.groups if group.doc.data["kind"] != "Pod")
    for group in (*job.pods, *others):
        kind = group.doc.data["kind"]
        listed = _of_pod(group) if kind == "Pod" else _of_board(group) if kind == "TensorBoard" else ()
        for claim, user in listed:
            found.setdefault(claim, []).append(user)
    return found


def _of_pod(group: Group) -> Iterator[tuple[str, User]]:
    for number, volume in entries(mapping(group.doc.data, "spec"), "volumes"):
        claim = mapping(volume, "persistentVolumeClaim")
        name = text(claim, "claimName")
        if name:
            writes = claim.get("readOnly") is not True and _written_to(group, text(volume, "name"))
            path = ("spec", "volumes", number, "persistentVolumeClaim", "claimName")
            yield name, User(group, path, writes)


def _written_to(group: Group, volume: str) -> bool:
    """Whether some container of a Pod mounts a volume so that it may write."""
    every = (c for _, c in (*containers(group), *init_containers(group)))
    mounts = (mount for c in every for _, mount in entries(c, "volumeMounts"))
    return any(text(mount, "name") == volume and mount.get("readOnly") is not True for mount in mounts)


def _of_board(group: Group) -> Iterator[tuple[str, User]]:
    spec = mapping(group.doc.data, "spec")
    for number, fileset in texts(spec, "trainingLogFilesets"):
        found = FILESET.match(fileset)
        if found is not None:
            yield found[1], User(group, ("spec", "trainingLogFilesets", number), False)
    for number, claim in entries(mapping(spec, "logDir"), "pvc"):
        if text(claim, "name"):
            yield text(claim, "name"), User(group, ("spec", "logDir", "pvc", number, "name"), False)


def _modes(job: Job, claim: str) -> list[str]:
    return [mode for _, mode in texts(entry(job, "pvcs", claim), "accessModes")]


def claim_on_one_node(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A claim for one node that several Pods mount. Values: ``claim``, ``pods``, ``users``."""
    for claim, listed in users(subject.job).items():
        if are_on_several_nodes(listed, _modes(subject.job, claim)):
            yield hit_of_claim(subject.job, claim, listed)


def are_on_several_nodes(listed: list[User], modes: Collection[str]) -> bool:
    """Whether the users of a claim that is for one node may run on several."""
    if "ReadWriteOnce" not in modes or "ReadWriteMany" in modes:
        return False
    read_only = "ReadOnlyMany" in modes and not any(user.writes for user in listed)
    apart = [user for user in listed if not _kept_together(user.group)]
    return not read_only and mounting(listed) > 1 and bool(apart)


def claim_for_one_pod(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A claim for one Pod that several Pods mount. Values: ``claim``, ``pods``, ``users``."""
    for claim, listed in users(subject.job).items():
        if _modes(subject.job, claim) == ["ReadWriteOncePod"] and mounting(listed) > 1:
            yield hit_of_claim(subject.job, claim, listed)


def claim_read_only(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A claim that is only for reading, mounted so that a Pod may write. Values: ``claim``, ``users``."""
    for claim, listed in users(subject.job).items():
        writers = [user for user in listed if user.writes]
        if _modes(subject.job, claim) == ["ReadOnlyMany"] and writers:
            yield hit_of_claim(subject.job, claim, writers)


def mounting(listed: list[User]) -> int:
    return sum(user.group.replicas for user in listed)


def _kept_together(group: Group) -> bool:
    """Whether a Pod says itself that it runs on the node of others: a pinned node or required affinity."""
    spec = mapping(group.doc.data, "spec")
    near = mapping(mapping(spec, "affinity"), "podAffinity")
    required = entries(near, "requiredDuringSchedulingIgnoredDuringExecution")
    return (
        bool(text(spec, "nodeName"))
        or HOSTNAME in mapping(spec, "nodeSelector")
        or any(text(term, "topologyKey") == HOSTNAME for _, term in required)
    )


def hit_of_claim(job: Job, claim: str, listed: list[User]) -> Hit:
    first = listed[0]
    related: list[tuple[Doc, Path, str]] = [
        (user.group.doc, user.path, f"{_label(user.group)} mounts it too")
        for user in listed[1:]
        if user.group.role != first.group.role
    ]
    types = {user.group.role for user in listed}
    related += [(doc, path, label) for role, (doc, path, label) in replicas_of(job).items() if role in types]
    if job.inventory is not None:
        related.append((job.inventory, ("spec", "pvcs", claim, "accessModes"), "its access modes"))
    values = {"claim": claim, "pods": mounting(listed), "users": _who(listed)}
    return Hit(first.path, values, related=related, doc=first.group.doc, group=first.group)


def _who(listed: list[User]) -> str:
    """The users as messages name them: "4 Pods of worker and the TensorBoard"."""
    numbers: dict[str, int] = {}
    for user in listed:
        numbers[_label(user.group)] = numbers.get(_label(user.group), 0) + user.group.replicas
    return shown_list(
        [
            label if label.startswith("the ") else f"{number} Pod{'s' if number > 1 else ''} of {label}"
            for label, number in numbers.items()
        ]
    )


def _label(group: Group) -> str:
    return group.role if group.doc.data["kind"] == "Pod" else "the TensorBoard"


def unknown_claim(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A claim that the inventory does not have, or not in the namespace. Values: ``claim``, ``why``."""
    job, known = subject.job, section(subject.job, "pvcs")
    if not known:
        return
    where = namespace(job)
    for claim, listed in users(job).items():
        if claim not in known:
            why = absent(claim, known)
        elif not is_for(entry(job, "pvcs", claim), where):
            why = f'is in {elsewhere(entry(job, "pvcs", claim))}, not in "{where}"'
        else:
            continue
        for user in listed:
            yield Hit(user.path, {"claim": claim, "why": why}, doc=user.group.doc, group=user.group)


class Mounts(NamedTuple):
    """The claims for one node or Pod that a job mounts, each with its access mode."""

    job: Named
    modes: Mapping[str, str]

    @property
    def keys(self) -> list[Hashable]:
        return [(self.job.namespace, claim) for claim in self.modes]

    @property
    def party(self) -> Hashable:
        return self.job.instance


def mounts_left(job: Job) -> Mounts | None:
    """What a job mounts that is not for all; None for an object, and where there is no such claim."""
    if job.cr is None:
        return None
    modes = {claim: _modes(job, claim) for claim in users(job)}
    not_for_all = {claim: those[0] for claim, those in modes.items() if those and FOR_ONE.issuperset(those)}
    return Mounts(named(job), not_for_all) if not_for_all else None


def claim_of_several_jobs(left: Mapping[int, Mounts], again: Again) -> Iterator[tuple[int, Hit]]:
    """A claim for one node or Pod that another job, further up, mounts too.

    Values: ``claim``, ``mode``, ``others``.
    """
    mounting: dict[tuple[str, str], Sharers] = {}
    for number, one in left.items():
        for claim in one.modes:
            mounting.setdefault((one.job.namespace, claim), Sharers()).add(number, one.job)
    for number, one in left.items():
        for claim, mode in one.modes.items():
            others, names = mounting[one.job.namespace, claim].before(one.job)
            if others:
                values = {"claim": claim, "mode": mode, "others": shown_list(names)}
                related = [_mount(again(other), claim) for other in others]
                user = users(again(number))[claim][0]
                yield number, Hit(user.path, values, related=related, doc=user.group.doc, group=user.group)


def _mount(job: Job, claim: str) -> tuple[Doc, Path, str]:
    """The first mount of a claim by a job, as a related place."""
    user = users(job)[claim][0]
    return user.group.doc, user.path, f"{called(job)} mounts it"


def host_path_data(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A directory of the node in a job of several Pods. Values: ``path``, ``pods``."""
    if pods(subject.job) < 2:
        return
    for number, volume in entries(mapping(subject.data, "spec"), "volumes"):
        path = text(mapping(volume, "hostPath"), "path")
        if path and not any(path == one or path.startswith(f"{one}/") for one in OF_SYSTEM):
            yield Hit(
                ("spec", "volumes", number, "hostPath", "path"), {"path": path, "pods": pods(subject.job)}
            )
