"""/dev/shm of training containers: a missing volume, and a size that does not fit the memory of the Pod.

A container has 64 MiB at /dev/shm unless an emptyDir in memory is mounted there, and files in such an
emptyDir counts as memory of the Pod (https://kubernetes.io/docs/concepts/storage/volumes/#emptydir).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument, find_origin
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers import endings
from podplan.launchers.kubelet import resolve_environment
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import format_list, has_trait, is_number_of_workers
from podplan.lint.analysis.launches import (
    ContainerLaunch,
    find_launches,
    find_replica_launches,
    is_single_process,
)
from podplan.lint.analysis.processes import process_of, programs_of
from podplan.lint.analysis.resources import (
    count_accelerators,
    find_training_container,
    format_amount,
    has_own_software,
    list_containers,
    list_init_containers,
)
from podplan.lint.analysis.resources import get_resource_entries as resource_entries
from podplan.lint.analysis.words import iter_word_option_values
from podplan.lint.checks.gpus import only_launches
from podplan.lint.checks.registration import check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

SHM_PATH = "/dev/shm"
DEFAULT_SIZE = 64 * 2**20 * quantities.UNITS_PER_ONE  # of the container runtimes
_MAX_PLACES = 3  # options for the number of data loader processes
DATA_LOADER_OPTION = compile_lazily(
    r"--(?:num[-_]workers|dataloader[-_]num[-_]workers|data[-_]workers|workers|loader[-_]workers)(?:=(\d+))?"
)
_LOADER_VARIABLE = compile_lazily(
    r"(?:\w+_)?(?:DATALOADER_(?:NUM_)?WORKERS|(?:DATA_)?LOADER_(?:NUM_)?WORKERS|NUM_(?:DATA|LOADER|DATALOADER)_WORKERS)"
)
# multiprocessing.Pool, which prepares data, uses pipes; a DataLoader uses shared memory.
_OF_ANY_POOL = compile_lazily(r"--(?:num[-_]workers|workers)(?:=(\d+))?")
# Variables with which processes of one training find each other.
_WORLD_VARIABLES = frozenset(("RANK", "LOCAL_RANK", "WORLD_SIZE"))
# Programs that use no GPU and no shared memory; a demonstration or a test of a queue consists of them.
_IDLE_PROGRAMS = frozenset(("date", "echo", "env", "hostname", "nvidia-smi", "printf", "sleep", "true"))
_TRAINS = compile_lazily(r"train|tune|fit|pretrain|learn|main|run|eval|infer")


class ShmMount(NamedTuple):
    """The volume at /dev/shm of a container: its path in the Pod, and its data."""

    path: Path
    volume: Mapping[str, Any]

    @property
    def is_in_memory(self) -> bool:
        return get_mapping(self.volume, "emptyDir").get("medium") == "Memory"

    @property
    def size_limit(self) -> int | None:
        return quantities.parse_quantity(get_mapping(self.volume, "emptyDir").get("sizeLimit"))


class SizedShm(NamedTuple):
    """A volume in memory at /dev/shm, with the memory limit of the Pod (None without one) and its path."""

    group: ReplicaGroup
    mount: ShmMount
    memory_limit: int | None
    limit_path: Path


@check()
def shm_missing(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A training container that shares memory between processes and has only the default /dev/shm.

    Values: ``name``, ``why`` (the need), ``has`` (the current volume).
    """
    group = target.group
    training_container = find_training_container(group) if group is not None else None
    if (
        group is None
        or training_container is None
        or get_mapping(group.doc.data, "spec").get("hostIPC") is True
    ):
        return
    if only_launches(target.job, group) or has_trait(target.job, "shm-by-controller"):
        return
    path, container = training_container
    if _is_idle(container):
        return
    mount = find_shm_mount(group, container)
    size = mount.size_limit if mount is not None and mount.is_in_memory else None
    is_small = size is not None and DEFAULT_SIZE // 64 <= size <= DEFAULT_SIZE
    if mount is not None and not is_small and (mount.is_in_memory or "emptyDir" not in mount.volume):
        return
    reason = explain_shm_need(target.job, group, container)
    other_names = [
        get_text(c, "name")
        for p, c in list_containers(group)
        if p != path and find_shm_mount(group, c) is not None
    ]
    if not reason and (not other_names or _has_gpus_elsewhere(group, container)):
        return
    if mount is not None and is_small:
        violation_path = (*mount.path, "emptyDir", "sizeLimit")
        current = f"limited to {get_mapping(mount.volume, 'emptyDir')['sizeLimit']}"
    elif mount is not None:
        medium = get_text(get_mapping(mount.volume, "emptyDir"), "medium")
        violation_path = (*mount.path, "emptyDir")
        current = f"an emptyDir with medium {medium}" if medium else "an emptyDir on disk"
    else:
        violation_path, current = path, "the default of 64Mi"
        current += f"; only {format_list(other_names)} mounts the volume there" if other_names else ""
    is_on_disk = mount is not None and not is_small
    change = ("set", (*violation_path, "medium"), "Memory") if is_on_disk else None
    values = {"name": get_text(container, "name"), "why": reason.text if reason else "trains", "has": current}
    related = list(_places(group, path, container, mount))
    related += [(group.doc, (*path, *below), label) for below, label in reason.written] if reason else []
    yield Violation(violation_path, values, related=related, change=change)


def _is_idle(container: Mapping[str, Any]) -> bool:
    """Whether a container prints and sleeps for a time, and ends.

    One that sleeps for ever may be used by hand.
    """
    programs = programs_of(container)
    if not programs or endings.find_endless(process_of(container)) is not None:
        return False
    has_substitution = any(
        "$(" in word.text or "`" in word.text
        for command, _ in programs
        if command is not None
        for word in command.words
    )
    return not has_substitution and all(process.name in _IDLE_PROGRAMS for _, process in programs)


@check()
def unknown_medium(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A medium of an emptyDir that the kubelet does not know. Values: ``medium``."""
    for number, volume in get_entries(get_mapping(target.data, "spec"), "volumes"):
        medium = get_text(get_mapping(volume, "emptyDir"), "medium")
        if medium not in ("", "Memory", "HugePages") and not medium.startswith("HugePages-"):
            yield Violation(("spec", "volumes", number, "emptyDir", "medium"), {"medium": medium})


def _places(
    group: ReplicaGroup, path: Path, container: Mapping[str, Any], mounted: ShmMount | None
) -> Iterator[tuple[TracedDocument, Path, str]]:
    """Yield the paths to change: the mounts of a container, and an unmounted volume in memory."""
    if mounted is not None:
        return
    mounts = (*path, "volumeMounts")
    entries = get_entries(container, "volumeMounts")
    if any(find_origin(group.doc, (*mounts, number))[0].behavior is None for number, _ in entries):
        yield group.doc, mounts, "the mounts of the container, none of them at /dev/shm"
    every = (one for _, one in (*list_containers(group), *list_init_containers(group)))
    used = {get_text(mount, "name") for one in every for _, mount in get_entries(one, "volumeMounts")}
    for number, volume in get_entries(get_mapping(group.doc.data, "spec"), "volumes"):
        if get_mapping(volume, "emptyDir").get("medium") == "Memory" and get_text(volume, "name") not in used:
            yield group.doc, ("spec", "volumes", number), "a volume in memory that no container mounts"


def _has_gpus_elsewhere(group: ReplicaGroup, container: Mapping[str, Any]) -> bool:
    """Whether another container of a Pod has its GPUs, and so is the one that shares memory."""
    return not count_accelerators(container).number and any(
        count_accelerators(c).number for _, c in list_containers(group)
    )


class ShmNeed(NamedTuple):
    """The reason why a container needs shared memory, and its path in the container."""

    text: str
    written: list[tuple[Path, str]]


def explain_shm_need(job: LoweredJob, group: ReplicaGroup, container: Mapping[str, Any]) -> ShmNeed | None:
    """Return why the training container of a Pod needs shared memory; None if no reason is known."""
    amount = count_accelerators(container)
    loaders, number = [], ""
    for words in _iter_command_lines(job, group, container):
        for value, at in iter_word_option_values(
            [(at, word.text) for at, word in enumerate(words)], DATA_LOADER_OPTION
        ):
            is_number = value.isascii() and value.isdecimal() and value.strip("0")
            names = [word.text.partition("=")[0] for word in words[max(at - 1, 0) : at + 1]]
            if is_number and any(is_number_of_workers(job, name, int(value)) for name in names):
                continue
            if is_number and (amount.number or not _is_pool(job, group, words, at)):
                number = number or value
                loaders += [(words[at].path, "its data loaders")] if not has_trait(job, "ssh") else []
    for at, entry in get_entries(container, "env"):
        value = get_text(entry, "value")
        is_number = value.isascii() and value.isdecimal() and value.strip("0")
        if is_number and _LOADER_VARIABLE.fullmatch(get_text(entry, "name")):
            number = number or value
            loaders.append((("env", at, "value"), "its data loaders"))
    if amount.number > 1 and not has_own_software(amount.resource) and not _has_single_process(group):
        gpus = [(amount.path, "its GPUs")] if amount.path is not None else []
        return ShmNeed(f"has {amount.number} GPUs", gpus + loaders[:_MAX_PLACES])
    plural = "es" if number != "1" else ""
    return ShmNeed(f"loads data with {number} process{plural}", loaders[:_MAX_PLACES]) if number else None


def _is_pool(job: LoweredJob, group: ReplicaGroup, words: Sequence[Word], at: int) -> bool:
    """Whether an option of a Pod without GPUs may be the size of a pool that prepares data."""
    named = any(_OF_ANY_POOL.fullmatch(words[number].text) for number in (at, at - 1) if number >= 0)
    if not has_trait(job, "self-launched") or not named:
        return False
    started = find_replica_launches(group, group.start)
    names = [launch.invocation.script.base_name for launch in started if launch.invocation.script is not None]
    return not any(launch.is_launcher for launch in started) and not any(
        _TRAINS.search(name.lower()) for name in names
    )


def _iter_command_lines(
    job: LoweredJob, group: ReplicaGroup, container: Mapping[str, Any]
) -> Iterator[tuple[Word, ...]]:
    """Yield the command lines in a training container, over ssh or by its command."""
    if has_trait(job, "ssh"):
        line = find_deepspeed_line(job)
        if line is not None:
            yield line.command_line.command_line.arguments
        elif has_trait(job, "launcher-replica") and group.replica_type != "launcher":
            yield from (launch.invocation.arguments for launch in find_launches(job) if launch.is_launcher)
    elif any("workers" in word for key in ("command", "args") for _, word in get_texts(container, key)):
        yield from (launch.invocation.words for launch in find_replica_launches(group, group.start))


def _has_single_process(group: ReplicaGroup) -> bool:
    """Whether a single process uses the GPUs of a Pod, according to its command.

    One process uses all, as in TensorFlow, or each of several processes uses one.
    """
    replica_launches = find_replica_launches(group, group.start)
    is_tensorflow = any("TF_CONFIG" in resolve_environment(each.container) for each in replica_launches)
    return bool(replica_launches) and all(
        is_single_process(each)
        or _has_one_gpu(each)
        or _has_device_map(each)
        or (is_tensorflow and each.invocation.launcher == "python")
        for each in replica_launches
    )


def _has_one_gpu(launch: ContainerLaunch) -> bool:
    """Whether the shell starts a script in the background that sees one GPU and trains alone."""
    invocation = launch.invocation
    devices = invocation.variables.get("CUDA_VISIBLE_DEVICES", "")
    is_one = devices is None or devices.isdecimal()
    is_of_shell = "CUDA_VISIBLE_DEVICES" not in resolve_environment(launch.container)
    is_alone = _WORLD_VARIABLES.isdisjoint(invocation.variables)
    return (
        invocation.launcher == "python"
        and invocation.operator_after == "&"
        and is_one
        and is_of_shell
        and is_alone
    )


def _has_device_map(launch: ContainerLaunch) -> bool:
    """Whether a script places the layers of a model on all GPUs of one process.

    Source: https://huggingface.co/docs/accelerate/concept_guides/big_model_inference.
    """
    invocation = launch.invocation
    return invocation.launcher == "python" and any(
        word.text.partition("=")[0].lstrip("-").replace("-", "_") == "device_map"
        for word in invocation.arguments
    )


def find_shm_mount(group: ReplicaGroup, container: Mapping[str, Any]) -> ShmMount | None:
    """Return the volume that a container has at /dev/shm."""
    for _, mount in get_entries(container, "volumeMounts"):
        if get_text(mount, "mountPath").rstrip("/") == SHM_PATH:
            for number, volume in get_entries(get_mapping(group.doc.data, "spec"), "volumes"):
                if get_text(volume, "name") == get_text(mount, "name"):
                    return ShmMount(("spec", "volumes", number), volume)
    return None


def _iter_sized_shm(target: Target) -> Iterator[SizedShm]:
    """Yield the volume in memory at /dev/shm of a Pod, if it has one."""
    return (sized for sized in _list_sized_shm(target.job) if sized.group is target.group)


@cache_latest
def _list_sized_shm(job: LoweredJob) -> list[SizedShm]:
    pods = [group for group in job.pods if not only_launches(job, group)]
    return [sized for group in pods for sized in _iter_pod_shm(group)]


def _iter_pod_shm(group: ReplicaGroup) -> Iterator[SizedShm]:
    training_container = find_training_container(group)
    mount = find_shm_mount(group, training_container[1]) if training_container is not None else None
    if training_container is not None and mount is not None and mount.is_in_memory:
        yield SizedShm(group, mount, *_find_memory_limit(group, training_container[0]))


def _iter_memory_volumes(group: ReplicaGroup) -> Iterator[tuple[ShmMount, str, int | None, Path]]:
    """Yield the volumes in memory of the training container, with their paths and the limit."""
    training_container = find_training_container(group)
    volumes = {
        get_text(volume, "name"): ShmMount(("spec", "volumes", number), volume)
        for number, volume in get_entries(get_mapping(group.doc.data, "spec"), "volumes")
    }
    if training_container is None:
        return
    for _, mount in get_entries(training_container[1], "volumeMounts"):
        found = volumes.get(get_text(mount, "name"))
        if found is not None and found.is_in_memory:
            where = get_text(mount, "mountPath").rstrip("/")
            yield found, where, *_find_memory_limit(group, training_container[0])


def _find_memory_limit(group: ReplicaGroup, training_path: Path) -> tuple[int | None, Path]:
    """Return the memory limit of a Pod (None if a container has none) and its path."""
    pod_limit = quantities.parse_quantity(
        resource_entries(get_mapping(group.doc.data, "spec"), "limits").get("memory")
    )
    if pod_limit is not None:
        return pod_limit, ("spec", "resources", "limits", "memory")
    limits = [
        quantities.parse_quantity(resource_entries(c, "limits").get("memory"))
        for _, c in list_containers(group)
    ]
    total_limit = sum(limit or 0 for limit in limits) if None not in limits else None
    return total_limit, (*training_path, "resources", "limits", "memory")


@check()
def shm_over_memory(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A volume in memory larger than the memory limit. Values: ``volume``, ``size``, ``memory``."""
    for group in target.job.pods:
        if group is not target.group or only_launches(target.job, group):
            continue
        for mount, where, memory_limit, limit_path in _iter_memory_volumes(group):
            if memory_limit is not None and mount.size_limit is not None and mount.size_limit > memory_limit:
                violation = _build_violation(group, mount, memory_limit, limit_path)
                yield violation._replace(values={**violation.values, "volume": where})


@check(params=object_schema({"percent": {"type": "integer", "minimum": 1, "maximum": 100}}))
def shm_large_share(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A size of /dev/shm above ``params["percent"]`` of the memory limit.

    Values: ``size``, ``memory``, ``rest`` (for the processes), ``half`` (of the memory).
    """
    for group, mount, memory_limit, limit_path in _iter_sized_shm(target):
        size = mount.size_limit
        if (
            memory_limit is not None
            and size is not None
            and memory_limit * params["percent"] < size * 100 <= memory_limit * 100
        ):
            violation = _build_violation(group, mount, memory_limit, limit_path)
            remainder = format_amount(memory_limit - size, "memory") if memory_limit > size else "nothing"
            yield violation._replace(
                values={
                    **violation.values,
                    "rest": remainder,
                    "half": format_amount(memory_limit // 2, "memory"),
                }
            )


@check()
def shm_unbounded(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A volume in memory without its own size limit and without a memory limit of the Pod."""
    for _, mount, memory_limit, _ in _iter_sized_shm(target):
        if memory_limit is None and mount.size_limit is None:
            yield Violation((*mount.path, "emptyDir"), {"volume": get_text(mount.volume, "name")})


def _build_violation(group: ReplicaGroup, mount: ShmMount, memory_limit: int, limit_path: Path) -> Violation:
    values = {
        "size": format_amount(mount.size_limit or 0, "memory"),
        "memory": format_amount(memory_limit, "memory"),
    }
    return Violation(
        (*mount.path, "emptyDir", "sizeLimit"), values, related=[(group.doc, limit_path, "the memory limit")]
    )
