"""The number of training processes of a Pod, compared with its GPUs.

Sources: docs/evidence/torchrun.md#processes-per-node, docs/evidence/t9k-deepspeedjob.md#slots-per-worker,
docs/evidence/accelerate.md#processes-per-machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import trace_to_source
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.launchers.commands import (
    AccelerateCommand,
    ColossalAICommand,
    DeepSpeedCommand,
    MpirunCommand,
    TorchrunCommand,
)
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.features import PYTHON_TEXT, list_features
from podplan.lint.analysis.jobs import count_pods, find_torchrun_switch, has_trait, is_mode_enabled, spec_of
from podplan.lint.analysis.launches import (
    ContainerLaunch,
    find_assignment_place,
    find_launches,
    find_option_path,
    find_variable_path,
    gives_several_gpus,
    is_single_process,
)
from podplan.lint.analysis.pod_hosts import count_hostfile_slots, read_hostfile
from podplan.lint.analysis.resources import count_accelerators, find_training_container, get_resource_entries
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.analysis.training import iter_env
from podplan.lint.checks.gpus import count_listed_devices
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation


class ProcessCount(NamedTuple):
    """The processes that ``launcher`` starts in each Pod of ``group``, and the ``path`` that states how many.

    ``gpus`` are those that the processes see, stated at ``gpus_path``; ``requested_gpus`` are those that the
    Pod requests. The count ``is_restricted`` if the command sets CUDA_VISIBLE_DEVICES, runs the program in
    the background, or says that the processes share all GPUs, several for each of them. ``cr_path`` is the
    path in the CR that states the count, if it does. ``gpus_group`` has ``gpus_path`` if it is another one.
    """

    processes: int
    launcher: str
    group: ReplicaGroup
    path: Path
    gpus: int
    gpus_path: Path
    cr_path: Path | None = None
    is_restricted: bool = False
    requested_gpus: int = 0
    gpus_group: ReplicaGroup | None = None

    @property
    def is_mig(self) -> bool:
        """Whether the devices are slices of a GPU."""
        return str(self.gpus_path[-1]).startswith(MIG)


# Variables with the number of threads of each process.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
MOST_DIGITS = 5
# The prefix of the resource names of MIG slices.
MIG = "nvidia.com/mig-"
_GPUS_PER_PROCESS = compile_lazily(
    r"(?:num_|n_?)?(?:gpus?|devices?)_per_(?:process|proc|rank|replica|trainer)"
)
# The field in each section of a CR with the number of processes.
_PROCESS_FIELDS = {
    "torchrunConfig": "procPerNode",
    "config": "slotsPerWorker",
    "torchConfig": "procPerWorker",
    "worker": "procPerWorker",
}


@check()
def idle_gpus(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Fewer processes than GPUs. Values: ``starts``, ``idle``, ``gpus``, ``instead``."""
    job = target.job
    for count in (*_iter_process_counts(job), *_iter_unlaunched_counts(job)):
        if count.is_restricted or count.is_mig or not 0 < count.processes < count.gpus:
            continue
        if _takes_several_gpus(job, count.group):
            continue
        idle = count.gpus - count.processes
        values = {
            "starts": f"{count.launcher} starts {format_count(count.processes, 'process', 'processes')}",
            "gpus": count.gpus,
            "idle": f"{idle} of its {count.gpus} GPUs {'is' if idle == 1 else 'are'}",
            "instead": _suggest_processes(target, count),
        }
        change = _build_process_change(target, count)
        violation = _build_violation(target, count, values)
        if count.launcher == "python" and has_trait(job, "torchrun-by-controller"):
            violation = violation._replace(related=(*violation.related, *find_torchrun_switch(job)))
        yield violation._replace(change=change, change_doc=target.doc)


def _takes_several_gpus(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether a script takes several devices for each of its processes, as a model on two GPUs needs."""
    if PYTHON_TEXT not in list_features(job):
        return False
    from podplan.lint.checks.source_devices import multiplies_local_rank

    return multiplies_local_rank(job, group)


def _find_cr_field(target: Target, count: ProcessCount) -> Path | None:
    """Return the field of the CR with the number of processes, if it has one."""
    if count.cr_path is None and "env" in count.path and target.job.cr is not None:
        steps = trace_to_source(count.group.doc, count.path)
        return next((step.path for step in steps if step.doc is target.job.cr), None)
    field: Path = ("spec", "torchrunConfig", "procPerNode")
    if count.cr_path is None and value_at(target.data, field) == str(count.processes):
        return field
    return count.cr_path


def _build_process_change(target: Target, count: ProcessCount) -> tuple[str, Path, Any] | None:
    """Build the fix that sets one process per GPU, in the current type: procPerNode is a string.

    None if the CR has no such field: it may have an old spelling, which is fixed first.
    """
    field = _find_cr_field(target, count)
    current = value_at(target.data, field) if field is not None else None
    if field is None or not isinstance(current, str | int):
        return None
    return "set", field, str(count.gpus) if isinstance(current, str) else count.gpus


def _suggest_processes(target: Target, count: ProcessCount) -> str:
    """Describe how to give each GPU a process: the field or the option to write."""
    gpus, from_profile = count.gpus, target.job.profile is not None
    if count.launcher == "python" and has_trait(target.job, "deepspeed-by-controller"):
        from podplan.kinds.t9k.deepspeed_job.behaviors import DEEPSPEED_HOSTFILE_PATH

        hostfile = DEEPSPEED_HOSTFILE_PATH.value
        return f"start it with deepspeed --hostfile={hostfile} with slotsPerWorker: {gpus}"
    if count.launcher == "python" and not has_trait(target.job, "torchrun-by-controller"):
        field = f"start it with torchrun --nproc_per_node={gpus}"
        return "write launcher: torchrun" if from_profile else field
    if count.launcher == "python":
        field = f'torchrunConfig: {{enabled: true, procPerNode: "{gpus}"}}'
        return "write launcher: torchrun" if from_profile else f"write {field}"
    if has_trait(target.job, "hostfile"):
        return f"write processes: {gpus}" if from_profile else f"write slotsPerWorker: {gpus}"
    _, section, *remaining = (
        _find_cr_field(target, count) or _find_torchrun_section(target, count) or ("", "")
    )
    if section in ("nprocPerNode", "elasticPolicy"):
        written = ".".join(map(str, (section, *remaining)))
        return f"write processes: {gpus}" if from_profile else f'write {written}: "{gpus}"'
    field = _PROCESS_FIELDS.get(str(section), "")
    if field and remaining in ([], [field]):
        number = f'"{gpus}"' if section == "torchrunConfig" else gpus
        return f"write processes: {gpus}" if from_profile else f"write {section}.{field}: {number}"
    option = _PER_POD_OPTIONS.get(count.launcher)
    return f"write --{option}={gpus}" if option else f"start more processes with {count.launcher}"


def _find_torchrun_section(target: Target, count: ProcessCount) -> Path:
    """Return the section of the CR that enables torchrun, if it has no number of processes."""
    config = get_mapping(spec_of(target.job), "torchrunConfig")
    uses_torchrun = (
        count.launcher == "torchrun" and config.get("enabled") is True and "procPerNode" not in config
    )
    return ("spec", "torchrunConfig") if uses_torchrun else ()


@check()
def more_processes_than_gpus(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """More processes than GPUs, where there are any. Values: ``starts``, ``gpus``, ``instead``."""
    for count in _iter_process_counts(target.job):
        if count.processes > count.gpus > 0 and count.launcher != "mpirun" and not count.is_mig:
            starts = f"{count.launcher} starts {format_count(count.processes, 'process', 'processes')}"
            gpus, instead = format_count(count.gpus, "GPU"), "request as many GPUs as there are processes"
            if count.gpus < count.requested_gpus:
                gpus = (
                    f"{format_count(count.requested_gpus, 'GPU')}, of which CUDA_VISIBLE_DEVICES exposes"
                    f" {count.gpus}"
                )
                instead = "make as many GPUs visible as there are processes"
            yield _build_violation(target, count, {"starts": starts, "gpus": gpus, "instead": instead})


@check(aliases=("mig-slices",))
def mig_slices_as_gpus(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several processes on MIG slices, or one process with several slices.

    Values: ``starts``, ``slices``, ``effect``.
    """
    for count in (*_iter_process_counts(subject.job), *_iter_unlaunched_counts(subject.job)):
        if (
            not count.is_mig
            or count.is_restricted
            or count.processes < 1
            or count.gpus == count.processes == 1
        ):
            continue
        effect = "the others have no device"
        if count.processes == 1:
            effect = "the other slices stay idle"
        values = {
            "starts": f"{count.launcher} starts {format_count(count.processes, 'process', 'processes')}",
            "slices": format_count(count.gpus, "MIG slice"),
            "effect": effect,
        }
        yield _build_violation(subject, count, values)


@check(aliases=("processes-by-gpus-of-none",))
def auto_nproc_without_gpu(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """``--nproc_per_node gpu`` or ``auto`` in a container without GPUs. Values: ``given``, ``happens``."""
    for launch in find_launches(target.job):
        facts = launch.torchrun
        if facts is None or facts.processes not in ("gpu", "auto") or launch.invocation.is_conditional:
            continue
        if _may_see_gpus(launch.container):
            continue
        fails = facts.processes == "gpu"
        happens = (
            "torchrun exits with an error" if fails else "torchrun starts one process per core of the node"
        )
        values = {"given": facts.processes, "happens": happens}
        path = find_option_path(launch, facts, "nproc_per_node")
        yield Violation(path, values, doc=launch.group.doc, group=launch.group)


@check(params=object_schema({"factor": COUNT}))
def threads_beyond_cpus(subject: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Threads of all processes of a container that are ``params["factor"]`` times its CPUs or more.

    Values: ``name``, ``threads``, ``processes``, ``cpus``, ``each``: how many fit.
    """
    job = subject.job
    if is_mode_enabled(job, "debug"):
        return
    for group, path, container, processes in _process_counts(job):
        cpus = quantities.parse_quantity(get_resource_entries(container, "limits").get("cpu"))
        if cpus is None or cpus < quantities.UNITS_PER_ONE:
            continue
        for at, name, entry in iter_env(container):
            value = get_text(entry, "value")
            if name not in THREADS or not value.isdecimal() or len(value) > MOST_DIGITS:
                continue
            if int(value) * processes * quantities.UNITS_PER_ONE >= params["factor"] * cpus:
                values = {
                    "name": name,
                    "threads": format_count(int(value), "thread"),
                    "processes": format_count(processes, "process", "processes"),
                    "cpus": format_count(cpus // quantities.UNITS_PER_ONE, "CPU"),
                    "each": max(cpus // quantities.UNITS_PER_ONE // processes, 1),
                }
                related = [(group.doc, (*path, "resources", "limits", "cpu"), "the CPUs of the container")]
                yield Violation((*path, "env", at, "value"), values, related, doc=group.doc, group=group)
                break


def _process_counts(job: LoweredJob) -> Iterator[tuple[ReplicaGroup, Path, Mapping[str, Any], int]]:
    """Yield the training containers of a job with their number of processes."""
    if has_trait(job, "deepspeed-by-controller") and not _is_custom_on_single_worker(job):
        counts = list(_iter_hostfile_counts(job))
        found = find_training_container(counts[0].group) if counts else None
        if found is not None:
            yield counts[0].group, *found, counts[0].processes
        return
    pods = sum(each.replicas for each in job.pods)
    for launch in find_launches(job):
        if (
            launch.invocation.is_conditional
            or launch.invocation.started_by
            or has_trait(job, "launcher-replica")
        ):
            continue
        # Another program, such as that of the image, is at least one process.
        is_one = launch.invocation.launcher == "other" or is_single_process(launch, allow_modules=True)
        number = _count_processes(launch, pods) or (1 if is_one else 0)
        if number:
            yield launch.group, launch.path, launch.container, number


def _build_violation(target: Target, count: ProcessCount, values: Mapping[str, Any]) -> Violation:
    related = (
        (count.gpus_group or count.group).doc,
        count.gpus_path,
        format_count(count.gpus, "MIG slice" if count.is_mig else "GPU"),
    )
    if count.cr_path is not None:
        return Violation(count.cr_path, values, [related], doc=target.doc)
    return Violation(count.path, values, [related], doc=count.group.doc, group=count.group)


def _iter_process_counts(job: LoweredJob) -> Iterator[ProcessCount]:
    """Yield the processes that launchers start, for each container of each replica group."""
    if is_mode_enabled(job, "debug"):
        return
    if has_trait(job, "deepspeed-by-controller") and not _is_custom_on_single_worker(job):
        yield from _iter_hostfile_counts(job)
        return
    if has_trait(job, "hostfile"):
        yield from _iter_slot_counts(job)
    pods = sum(each.replicas for each in job.pods)
    for launch in find_launches(job):
        invocation = launch.invocation
        number = _count_processes(launch, pods)
        if number is None or invocation.is_conditional or invocation.started_by:
            continue
        if has_trait(job, "launcher-replica") and isinstance(invocation.parsed, MpirunCommand):
            continue  # the number is the total of all workers
        path = _find_process_path(launch)
        group = launch.group
        if has_trait(job, "launcher-replica"):
            group = next((each for each in job.pods if each.replica_type == "worker"), group)
        gpus = _find_training_gpus(group)
        if gpus is None:
            continue
        visible_devices = invocation.variables.get("CUDA_VISIBLE_DEVICES")
        is_restricted = (
            "CUDA_VISIBLE_DEVICES" in invocation.variables
            or invocation.operator_after == "&"
            or number * _count_gpus_per_process(job, launch) == gpus[0]
        )
        requested_gpus, gpus_group = gpus[0], group
        if visible_devices is not None and count_listed_devices(visible_devices) < requested_gpus:
            variable = find_variable_path(launch, "CUDA_VISIBLE_DEVICES")
            assigned = variable or find_assignment_place(launch, "CUDA_VISIBLE_DEVICES")
            gpus = (count_listed_devices(visible_devices), assigned or gpus[1])
            gpus_group = launch.group if assigned is not None else group
        count = ProcessCount(
            number,
            invocation.launcher,
            launch.group,
            path,
            *gpus,
            is_restricted=is_restricted,
            requested_gpus=requested_gpus,
            gpus_group=gpus_group,
        )
        yield (
            count._replace(group=group, path=path)
            if group is launch.group
            else _to_worker_count(job, count, group)
        )


def _count_gpus_per_process(job: LoweredJob, launch: ContainerLaunch) -> int:
    """The GPUs over which a script says that each process splits its model; 0 where it does not."""
    options = (placed.option for placed in list_program_options(job, launch))
    return next((each.number or 0 for each in options if _GPUS_PER_PROCESS.fullmatch(each.last)), 0)


def _to_worker_count(job: LoweredJob, count: ProcessCount, workers: ReplicaGroup) -> ProcessCount:
    """Return the count of a launcher, related to the workers with the GPUs."""
    spec = spec_of(job)
    section = "torchConfig" if "torchConfig" in spec else "worker"
    is_written = "procPerWorker" in get_mapping(spec, section)
    path: Path = ("spec", section, "procPerWorker") if is_written else ("spec", section)
    return count._replace(group=workers, cr_path=path, launcher="colossalai run")


def _iter_hostfile_counts(job: LoweredJob) -> Iterator[ProcessCount]:
    """Yield the processes of DeepSpeedJob workers: slots of the hostfile, or options of deepspeed."""
    hosts = read_hostfile(job)
    workers = next((group for group in job.pods if group.replica_type == "worker"), None)
    line = find_deepspeed_line(job)
    gpus = _find_training_gpus(workers) if workers is not None else None
    if not hosts or workers is None or gpus is None or line is None:
        return
    process_count = line.command_line.processes
    if (
        line.command_line.include is not None
        or line.command_line.exclude is not None
        or not line.command_line.command_line.is_certain
    ):
        return
    if process_count is not None and process_count > 0:
        path = line.locate_word(line.command_line.command_line.options["num_gpus"].word)
        yield ProcessCount(process_count, "deepspeed", workers, path, *gpus, cr_path=path)
    elif hosts[0].slots is not None:
        config = get_mapping(spec_of(job), "config")
        path = ("spec", "config", "slotsPerWorker") if "slotsPerWorker" in config else ("spec", "config")
        yield ProcessCount(hosts[0].slots, "deepspeed", workers, path, *gpus, cr_path=path)


def _iter_slot_counts(job: LoweredJob) -> Iterator[ProcessCount]:
    """Yield the processes of mpirun workers if mpirun fills the slots of the controller's hostfile."""
    hosts = read_hostfile(job)
    slots = {host.slots for host in hosts}
    lines = [
        (launch, launch.invocation.parsed)
        for launch in find_launches(job)
        if isinstance(launch.invocation.parsed, MpirunCommand)
    ]
    if len(lines) != 1 or len(slots) != 1:
        return
    launch, facts = lines[0]
    total = count_hostfile_slots(job)
    words = " ".join(word.text for word in launch.invocation.words).lower()
    is_plain = not facts.hosts and facts.hostfile is None and facts.per_node is None and "ppr" not in words
    if not is_plain or launch.invocation.is_conditional or facts.processes not in (None, total):
        return
    # Programs other than Python may use all GPUs of a Pod in one process, as nccl-tests do with -g.
    if not facts.program_words or not facts.program_words[0].base_name.startswith("python"):
        return
    field: Path = ("spec", "slotsPerWorker")
    path = field if "slotsPerWorker" in spec_of(job) else ("spec",)
    for group in job.pods:
        gpus = _find_training_gpus(group) if group is not launch.group else None
        if gpus is not None:
            yield ProcessCount(slots.pop() or 0, "mpirun", group, path, *gpus, cr_path=path)
            return


def _is_custom_on_single_worker(job: LoweredJob) -> bool:
    """Whether the customCommand of a DeepSpeedJob with one worker starts another program than deepspeed."""
    return (
        has_trait(job, "deepspeed-by-controller")
        and len(job.pods) == 1
        and count_pods(job) == 1
        and find_deepspeed_line(job) is None
    )


def _count_processes(launch: ContainerLaunch, pods: int) -> int | None:
    """Count the processes of a line in its Pod; None if that is unknown, or depends on the GPUs.

    The number of accelerate is the total of all machines, whose number may be in a file.
    """
    facts = launch.invocation.parsed
    if isinstance(facts, TorchrunCommand):
        return int(facts.processes) if facts.processes is not None and facts.processes.isdigit() else None
    if isinstance(facts, AccelerateCommand):
        is_known = (
            facts.processes is not None and facts.config_file is None and not facts.flags & {"cpu", "tpu"}
        )
        machines = facts.machines or (1 if pods == 1 else 0)
        return (facts.processes or 0) // machines if is_known and machines > 0 else None
    if isinstance(facts, ColossalAICommand):
        return facts.processes
    if isinstance(facts, DeepSpeedCommand):
        return facts.processes if facts.processes is not None and facts.processes > 0 else None
    if isinstance(facts, MpirunCommand) and not facts.hosts and facts.hostfile is None:
        return None if gives_several_gpus(facts.program_words) else facts.processes
    return None


# The launcher option for the processes of one Pod.
_PER_POD_OPTIONS = {
    "torchrun": "nproc_per_node",
    "torch.distributed.launch": "nproc_per_node",
    "deepspeed": "num_gpus",
}
_PROCESS_OPTIONS = {"accelerate": "num_processes", "deepspeed": "num_gpus", "mpirun": "np"}


def _find_process_path(launch: ContainerLaunch) -> Path:
    """Return the path of the number of processes: an option, or the variable of torchrun."""
    if launch.torchrun is not None:
        return find_option_path(launch, launch.torchrun, "nproc_per_node")
    return launch.locate_word(_find_process_word(launch))


def _find_process_word(launch: ContainerLaunch) -> Any:
    invocation = launch.invocation
    option = invocation.options.get(_PROCESS_OPTIONS.get(invocation.launcher, "nproc_per_node"))
    return option.word if option is not None else invocation.program_word


def _iter_unlaunched_counts(job: LoweredJob) -> Iterator[ProcessCount]:
    """Yield single python processes without launcher, in a job whose Pods all have GPUs.

    Its controller sets the variables of torch, or runs a customCommand instead of deepspeed.
    """
    if is_mode_enabled(job, "debug") or not (has_trait(job, "torch-env") or _is_custom_on_single_worker(job)):
        return
    if any(_find_training_gpus(group) is None for group in job.pods):
        return
    launches_by_group: dict[int, list[ContainerLaunch]] = {}
    for launch in find_launches(job):
        launches_by_group.setdefault(id(launch.group), []).append(launch)
    for group in job.pods:
        group_launches = launches_by_group.get(id(group), [])
        gpus = _find_training_gpus(group)
        if (
            gpus is None
            or not group_launches
            or not all(is_single_process(launch, allow_modules=True) for launch in group_launches)
        ):
            continue
        launch = group_launches[-1]
        path = launch.locate_word(launch.invocation.program_word)
        yield ProcessCount(1, "python", group, path, *gpus)


def _find_training_gpus(group: ReplicaGroup) -> tuple[int, Path] | None:
    """Return the GPUs of the training container and their path; None without GPUs, or if Pods share them."""
    training_container = find_training_container(group)
    if training_container is None:
        return None
    amount = count_accelerators(training_container[1])
    if not amount.number or amount.path is None or "shared" in amount.resource:
        return None
    return amount.number, (*training_container[0], *amount.path)


def _may_see_gpus(container: Mapping[str, Any]) -> bool:
    """Whether a container may see GPUs: it requests devices, or accesses those of the node otherwise."""
    requests_devices = any(
        "/" in name for section in ("limits", "requests") for name in get_resource_entries(container, section)
    )
    has_visible_devices = any(
        isinstance(entry, dict) and entry.get("name") == "NVIDIA_VISIBLE_DEVICES"
        for entry in container.get("env") or ()
    )
    return (
        requests_devices
        or has_visible_devices
        or get_mapping(container, "securityContext").get("privileged") is True
    )
