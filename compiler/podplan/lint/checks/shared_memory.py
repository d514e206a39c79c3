"""/dev/shm of training containers: that it is there, and that its size fits the memory of the Pod.

A container has 64 MiB at /dev/shm unless an emptyDir in memory is mounted there, and what lies in such an
emptyDir counts as memory of the Pod (https://kubernetes.io/docs/concepts/storage/volumes/#emptydir).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Doc
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import line_of
from podplan.lint.analysis.jobs import SSH_KINDS, kind_of, shown_list
from podplan.lint.analysis.launches import launches, of_replica, one_process
from podplan.lint.analysis.resources import accelerators, containers, init_containers, shown, training
from podplan.lint.analysis.resources import entries as resource_entries
from podplan.lint.analysis.words import options_in
from podplan.lint.checks.gpus import only_launches
from podplan.lint.target import Hit, Job, Subject, for_one

SHM = "/dev/shm"
LOADERS = pattern(
    r"--(?:num[-_]workers|dataloader[-_]num[-_]workers|data[-_]workers|workers|loader[-_]workers)(?:=(\d+))?"
)
# multiprocessing.Pool, which prepares data, hands objects over through pipes, and a DataLoader does not.
_OF_ANY_POOL = pattern(r"--(?:num[-_]workers|workers)(?:=(\d+))?")
_TRAINS = pattern(r"train|tune|fit|pretrain|learn|main|run|eval|infer")


class Mounted(NamedTuple):
    """The volume at /dev/shm of a container: where it is in the Pod, and its data."""

    path: Path
    volume: Mapping[str, Any]

    @property
    def in_memory(self) -> bool:
        return mapping(self.volume, "emptyDir").get("medium") == "Memory"

    @property
    def limit(self) -> int | None:
        return quantities.parse(mapping(self.volume, "emptyDir").get("sizeLimit"))


class Sized(NamedTuple):
    """A volume in memory at /dev/shm, with the memory limit of the Pod (None for none) and its place."""

    group: Group
    mounted: Mounted
    memory: int | None
    limit: Path


def shm_missing(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A training container that shares memory between processes and has only the default /dev/shm.

    Values: ``name``, ``why`` it needs more, and ``has``, what it has instead.
    """
    group = subject.group
    found = training(group) if group is not None else None
    if group is None or found is None or mapping(group.doc.data, "spec").get("hostIPC") is True:
        return
    if only_launches(subject.job, group):
        return
    path, container = found
    mounted = _mounted(group, container)
    if mounted is not None and (mounted.in_memory or "emptyDir" not in mounted.volume):
        return
    why = _why(subject.job, group, container)
    others = [text(c, "name") for p, c in containers(group) if p != path and _mounted(group, c) is not None]
    if not why and (not others or _gpus_elsewhere(group, container)):
        return
    if mounted is not None:
        at, has = (*mounted.path, "emptyDir"), "an emptyDir on the disk of the node"
    else:
        at, has = path, "the 64Mi of the container runtime"
        has += f"; the volume there is mounted in {shown_list(others)} only" if others else ""
    change = ("set", (*at, "medium"), "Memory") if mounted is not None else None
    values = {"name": text(container, "name"), "why": why.text if why else "trains", "has": has}
    related = list(_places(group, path, container, mounted))
    related += [(group.doc, (*path, *below), label) for below, label in why.written] if why else []
    yield Hit(at, values, related=related, change=change)


def _places(
    group: Group, path: Path, container: Mapping[str, Any], mounted: Mounted | None
) -> Iterator[tuple[Doc, Path, str]]:
    """What one would change: the mounts of a container, and a volume in memory that nothing mounts."""
    if mounted is not None:
        return
    if "volumeMounts" in container:
        yield group.doc, (*path, "volumeMounts"), "its mounts, none at /dev/shm"
    every = (one for _, one in (*containers(group), *init_containers(group)))
    used = {text(mount, "name") for one in every for _, mount in entries(one, "volumeMounts")}
    for number, volume in entries(mapping(group.doc.data, "spec"), "volumes"):
        if mapping(volume, "emptyDir").get("medium") == "Memory" and text(volume, "name") not in used:
            yield group.doc, ("spec", "volumes", number), "a volume in memory that no container mounts"


def _gpus_elsewhere(group: Group, container: Mapping[str, Any]) -> bool:
    """Whether another container of a Pod has its GPUs, and so is the one that shares memory."""
    return not accelerators(container).number and any(accelerators(c).number for _, c in containers(group))


class Why(NamedTuple):
    """What a container does that needs shared memory, and where below the container that is written."""

    text: str
    written: list[tuple[Path, str]]


def _why(job: Job, group: Group, container: Mapping[str, Any]) -> Why | None:
    """What the training container of a Pod does that needs shared memory; None for nothing that is known."""
    has = accelerators(container)
    loaders, number = [], ""
    for words in _command_lines(job, group, container):
        for value, at in options_in([(at, word.text) for at, word in enumerate(words)], LOADERS):
            is_number = value.isascii() and value.isdecimal() and value.strip("0")
            if is_number and (has.number or not _is_pool(job, group, words, at)):
                number = number or value
                loaders += [(words[at].path, "its data loaders")] if kind_of(job) not in SSH_KINDS else []
    if has.number > 1 and not _alone(group):
        gpus = [(has.path, "its GPUs")] if has.path is not None else []
        return Why(f"has {has.number} GPUs", gpus + loaders)
    plural = "es" if number != "1" else ""
    return Why(f"loads data with {number} process{plural}", loaders) if number else None


def _is_pool(job: Job, group: Group, words: Sequence[Word], at: int) -> bool:
    """Whether an option of a Pod without GPUs may be the size of a pool that prepares data."""
    named = any(_OF_ANY_POOL.fullmatch(words[number].text) for number in (at, at - 1) if number >= 0)
    if kind_of(job) != "GenericJob" or not named:
        return False
    started = of_replica(group, group.start)
    names = [launch.invocation.script.name for launch in started if launch.invocation.script is not None]
    return not any(launch.is_launcher for launch in started) and not any(
        _TRAINS.search(name.lower()) for name in names
    )


def _command_lines(job: Job, group: Group, container: Mapping[str, Any]) -> Iterator[tuple[Word, ...]]:
    """The words with which programs are started in a training container, over ssh or by its command."""
    if kind_of(job) in SSH_KINDS:
        line = line_of(job)
        if line is not None:
            yield line.read.line.arguments
        elif kind_of(job) == "ColossalAIJob" and group.role != "launcher":
            yield from (launch.invocation.arguments for launch in launches(job) if launch.is_launcher)
    elif any("workers" in word for key in ("command", "args") for _, word in texts(container, key)):
        yield from (launch.invocation.words for launch in of_replica(group, group.start))


def _alone(group: Group) -> bool:
    """Whether one process has all the GPUs of a Pod, as far as its command tells."""
    started = of_replica(group, group.start)
    return bool(started) and all(map(one_process, started))


def _mounted(group: Group, container: Mapping[str, Any]) -> Mounted | None:
    """The volume that a container has at /dev/shm."""
    for _, mount in entries(container, "volumeMounts"):
        if text(mount, "mountPath").rstrip("/") == SHM:
            for number, volume in entries(mapping(group.doc.data, "spec"), "volumes"):
                if text(volume, "name") == text(mount, "name"):
                    return Mounted(("spec", "volumes", number), volume)
    return None


def _sized(subject: Subject) -> Iterator[Sized]:
    """The volume in memory at /dev/shm of a Pod, if it has one."""
    return (sized for sized in _of_all_pods(subject.job) if sized.group is subject.group)


@for_one
def _of_all_pods(job: Job) -> list[Sized]:
    return [sized for group in job.pods for sized in _in_memory(group)]


def _in_memory(group: Group) -> Iterator[Sized]:
    found = training(group)
    mounted = _mounted(group, found[1]) if found is not None else None
    if found is None or mounted is None or not mounted.in_memory:
        return
    of_pod = quantities.parse(resource_entries(mapping(group.doc.data, "spec"), "limits").get("memory"))
    if of_pod is not None:
        yield Sized(group, mounted, of_pod, ("spec", "resources", "limits", "memory"))
        return
    limits = [quantities.parse(resource_entries(c, "limits").get("memory")) for _, c in containers(group)]
    whole = sum(limit or 0 for limit in limits) if None not in limits else None
    yield Sized(group, mounted, whole, (*found[0], "resources", "limits", "memory"))


def shm_over_memory(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A size of /dev/shm beyond the memory limit. Values: ``size``, ``memory``."""
    for group, mounted, memory, limit in _sized(subject):
        if memory is not None and mounted.limit is not None and mounted.limit > memory:
            yield _hit(group, mounted, memory, limit)


def shm_large_share(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """A size of /dev/shm above ``params["percent"]`` of the memory limit.

    Values: ``size``, ``memory``, ``rest`` for the processes, ``half`` of the memory.
    """
    for group, mounted, memory, limit in _sized(subject):
        size = mounted.limit
        if (
            memory is not None
            and size is not None
            and memory * params["percent"] < size * 100 <= memory * 100
        ):
            hit = _hit(group, mounted, memory, limit)
            rest = shown(memory - size, "memory") if memory > size else "nothing"
            yield hit._replace(values={**hit.values, "rest": rest, "half": shown(memory // 2, "memory")})


def shm_unbounded(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A volume in memory that nothing bounds, neither a size of its own nor a limit of the Pod."""
    for _, mounted, memory, _ in _sized(subject):
        if memory is None and mounted.limit is None:
            yield Hit((*mounted.path, "emptyDir"), {"volume": text(mounted.volume, "name")})


def _hit(group: Group, mounted: Mounted, memory: int, limit: Path) -> Hit:
    values = {"size": shown(mounted.limit or 0, "memory"), "memory": shown(memory, "memory")}
    return Hit(
        (*mounted.path, "emptyDir", "sizeLimit"), values, related=[(group.doc, limit, "the memory limit")]
    )
