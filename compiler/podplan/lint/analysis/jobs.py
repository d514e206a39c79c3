"""A job as checks about several of its objects see it: roles of the CR, Pods, GPUs, places to point at."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Doc, trace
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple, TypeVar
from podplan.kinds.registry import find_kind, load_spec
from podplan.kinds.spec import KindSpec
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.resources import accelerators, containers
from podplan.lint.target import Job, for_one

T = TypeVar("T")

SSH_KINDS = ("DeepSpeedJob", "ColossalAIJob")


class Role(NamedTuple):
    """An entry of a CR that has replicas: its place in the CR and what is written there."""

    type: str
    path: Path
    data: Mapping[str, Any]


class Instance(NamedTuple):
    """Which job of the repository this is: the file and document that it is written in, and its name.

    A profile in several environments is one instance, the entries of a matrix are several. ``entry`` is the
    path to an entry of a List.
    """

    file: str
    document: int
    name: str
    entry: Path = ()


class Named(NamedTuple):
    """What a job leaves for those that are compared with it: its name, and which job it is."""

    namespace: str
    called: str
    instance: Instance

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, self.called)]

    @property
    def party(self) -> Hashable:
        return self.instance


@for_one
def spec_of(job: Job) -> Mapping[str, Any]:
    """The spec of the CR."""
    return mapping(job.cr.data, "spec") if job.cr is not None else {}


@for_one
def kind_of(job: Job) -> str:
    return text(job.cr.data, "kind") if job.cr is not None else ""


def find_kind_spec(job: Job) -> KindSpec | None:
    """What the kind of the job answers; None without a CR."""
    kind = find_kind(job.cr.data.get("apiVersion"), kind_of(job)) if job.cr is not None else None
    return load_spec(kind) if kind is not None else None


def called(job: Job) -> str:
    """The job as messages name it: kind and name."""
    metadata = mapping(job.cr.data, "metadata") if job.cr is not None else {}
    return f"{kind_of(job)}/{text(metadata, 'name') or text(metadata, 'generateName')}"


def namespace(job: Job) -> str:
    """The namespace that the CR names, or ""."""
    return text(mapping(job.cr.data, "metadata"), "namespace") if job.cr is not None else ""


@for_one
def roles(job: Job) -> tuple[Role, ...]:
    """The replica types of the CR, in the order written."""
    spec = spec_of(job)
    listed = [
        Role(text(entry, "type"), ("spec", "replicaSpecs", number), entry)
        for number, entry in entries(spec, "replicaSpecs")
    ]
    fixed = [
        Role(key, ("spec", key), mapping(spec, key)) for key in ("launcher", "worker") if mapping(spec, key)
    ]
    return (*listed, *fixed)


@for_one
def replicas_by_type(job: Job) -> dict[str, int]:
    """How many Pods of each replica type there are."""
    numbers: dict[str, int] = {}
    for group in job.pods:
        numbers[group.role] = numbers.get(group.role, 0) + group.replicas
    return numbers


@for_one
def replicas_of(job: Job) -> dict[str, tuple[Doc, Path, str]]:
    """Where the number of replicas of each type is written, as a related place: "4 Pods"."""
    numbers = replicas_by_type(job)
    found: dict[str, tuple[Doc, Path, str]] = {}
    for role in roles(job):
        number = numbers.get(role.type, 0)
        if job.cr is not None and "replicas" in role.data and number:
            found[role.type] = (job.cr, (*role.path, "replicas"), counted(number, "Pod"))
    return found


def replicas_written(job: Job) -> list[tuple[Doc, Path, str]]:
    """Where the numbers of replicas are written, of all types."""
    return list(replicas_of(job).values())


@for_one
def pods(job: Job) -> int:
    """How many Pods the job has."""
    return sum(group.replicas for group in job.pods)


def training_pods(job: Job) -> list[Group]:
    """The Pods that train: all but the one that only launches."""
    return [group for group in job.pods if not (kind_of(job) in SSH_KINDS and group.role == "launcher")]


def gpus(group: Group) -> int:
    """How many GPUs one Pod of a group has."""
    return sum(accelerators(container).number for _, container in containers(group))


def gpu_place(group: Group) -> Path | None:
    """Where the first container that has GPUs says so."""
    for path, container in containers(group):
        amount = accelerators(container)
        if amount.number and amount.path is not None:
            return (*path, *amount.path)
    return None


def total(groups: list[Group]) -> tuple[int, int]:
    """How many Pods there are in groups, and how many GPUs they have together."""
    return sum(g.replicas for g in groups), sum(g.replicas * gpus(g) for g in groups)


def pod_group(job: Job) -> Group | None:
    """The PodGroup of the job, where it is scheduled as a gang."""
    return next((group for group in job.groups if group.doc.data["kind"] == "PodGroup"), None)


def queue_of(gang: Group) -> str:
    """The queue of a PodGroup."""
    return text(mapping(gang.doc.data, "spec"), "queue")


def strangers(job: Job) -> bool:
    """Whether the replicas cannot reach each other: a GenericJob whose Pods have no Service.

    Source: docs/evidence/t9k-genericjob.md#services.
    """
    return kind_of(job) == "GenericJob" and not mapping(spec_of(job), "service")


def mode(job: Job, name: str) -> bool:
    """Whether the CR turns a run mode on: debug or pause."""
    return name in _modes(job)


@for_one
def _modes(job: Job) -> list[str]:
    modes = mapping(spec_of(job), "runMode")
    return [name for name in modes if mapping(modes, name).get("enabled") is True]


def written(data: object, *path: str | int) -> Path:
    """``path`` as far as it is written in ``data``: the place to point at for what is missing."""
    for depth, step in enumerate(path):
        below = _below(data, step)
        if below is None:
            return path[:depth]
        data = below
    return path


def _below(data: object, step: str | int) -> object:
    if isinstance(data, dict):
        return data.get(step)
    if isinstance(data, list) and isinstance(step, int) and 0 <= step < len(data):
        return data[step]
    return None


def instance(job: Job) -> Instance:
    """Which job of the repository a job is."""
    assert job.cr is not None
    end = trace(job.cr, written(job.cr.data, "metadata", "name"))[-1]
    name = called(job)
    if end.doc.source is None:
        return Instance(end.doc.name, 0, name)
    entry = end.path[:-2] if end.path[:1] == ("items",) else ()
    return Instance(end.doc.source.file, end.doc.source.index, name, entry)


@for_one
def gpu_pods(job: Job) -> list[Group]:
    """The groups of Pods that have GPUs."""
    return [group for group in job.pods if gpus(group)]


@for_one
def named(job: Job) -> Named:
    """The name of a job, and which one it is."""
    which = instance(job)
    return Named(namespace(job), which.name, which)


def counted(number: int, noun: str) -> str:
    """A number with what is counted: "1 Pod", "4 Pods"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shown_list(words: list[str], most: int = 4) -> str:
    """Some words as a list for people."""
    shown = words[:most]
    rest = len(words) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
