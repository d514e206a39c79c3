"""How many processes train in a Pod, beside how many GPUs it has.

Sources: docs/evidence/torchrun.md#processes-per-node, docs/evidence/t9k-deepspeedjob.md#slots-per-worker,
docs/evidence/accelerate.md#processes-per-machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.t9k.behaviors import DEEPSPEED_HOSTFILE_PATH as HOSTFILE_PATH
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import mapping, text
from podplan.launchers.accelerate import Accelerate
from podplan.launchers.colossalai import ColossalAI
from podplan.launchers.deepspeed import DeepSpeed
from podplan.launchers.mpirun import Mpirun
from podplan.launchers.torchrun import Torchrun
from podplan.lint.analysis.deepspeed_line import line_of
from podplan.lint.analysis.jobs import kind_of, mode, pods, spec_of
from podplan.lint.analysis.launches import Launch, counted, launches, one_process, variable_path
from podplan.lint.analysis.pod_hosts import hostfile
from podplan.lint.analysis.resources import accelerators, entries, training
from podplan.lint.analysis.training import env
from podplan.lint.checks.gpus import listed_devices
from podplan.lint.target import Hit, Job, Subject


class Count(NamedTuple):
    """The processes of a Pod: how many, who starts them, the Pod, and the place that says so.

    ``gpus`` are those that they see, at ``gpus_path``, of ``asked`` that the Pod has.
    """

    number: int
    by: str
    group: Group
    path: Path
    gpus: int
    gpus_path: Path
    cr_path: Path | None = None
    visible: bool = False
    asked: int = 0

    @property
    def is_mig(self) -> bool:
        """Whether the devices are slices of a GPU."""
        return str(self.gpus_path[-1]).startswith(MIG)


# Variables that say how many threads each process starts.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
MOST_DIGITS = 5
# What the names of MIG slices begin with.
MIG = "nvidia.com/mig-"
# The field in each section of a CR that says how many processes there are.
_FIELDS = {
    "torchrunConfig": "procPerNode",
    "config": "slotsPerWorker",
    "torchConfig": "procPerWorker",
    "worker": "procPerWorker",
}


def idle_gpus(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Fewer processes than GPUs. Values: ``starts``, ``idle``, ``gpus``, ``instead``."""
    job = subject.job
    for count in (*_counts(job), *_without_launcher(job)):
        if count.visible or count.is_mig or not 0 < count.number < count.gpus:
            continue
        idle = count.gpus - count.number
        values = {
            "starts": f"{count.by} starts {counted(count.number, 'process', 'processes')}",
            "gpus": count.gpus,
            "idle": f"{idle} of its {count.gpus} GPUs {'has' if idle == 1 else 'have'}",
            "instead": _instead(subject, count),
        }
        change = _all_gpus(subject, count)
        yield _hit(subject, count, values)._replace(change=change, change_in=subject.doc)


def _said_in_cr(subject: Subject, count: Count) -> Path | None:
    """The field of the CR that says how many processes there are, where one does."""
    field: Path = ("spec", "torchrunConfig", "procPerNode")
    if count.cr_path is None and value_at(subject.data, field) == str(count.number):
        return field
    return count.cr_path


def _all_gpus(subject: Subject, count: Count) -> tuple[str, Path, Any] | None:
    """As many processes as GPUs, in the type that the number has now: procPerNode is a string.

    None where no field of the CR says it yet: it may be there under another name, which is mended first.
    """
    field = _said_in_cr(subject, count)
    now = value_at(subject.data, field) if field is not None else None
    if field is None or not isinstance(now, str | int):
        return None
    return "set", field, str(count.gpus) if isinstance(now, str) else count.gpus


def _instead(subject: Subject, count: Count) -> str:
    """What to do so that each GPU has a process: the field or the option to write, where there is one."""
    gpus, from_profile = count.gpus, subject.job.profile is not None
    if count.by == "python" and kind_of(subject.job) == "DeepSpeedJob":
        return f"start it by deepspeed --hostfile={HOSTFILE_PATH.value} with slotsPerWorker: {gpus}"
    if count.by == "python":
        field = f'torchrunConfig: {{enabled: true, procPerNode: "{gpus}"}}'
        return "write launcher: torchrun" if from_profile else f"write {field}"
    _, section, *rest = _said_in_cr(subject, count) or _of_controller(subject, count) or ("", "")
    field = _FIELDS.get(str(section), "")
    if field and rest in ([], [field]):
        number = f'"{gpus}"' if section == "torchrunConfig" else gpus
        return f"write processes: {gpus}" if from_profile else f"write {section}.{field}: {number}"
    option = _OPTION_PER_POD.get(count.by)
    return f"write --{option}={gpus}" if option else f"tell {count.by} of more processes"


def _of_controller(subject: Subject, count: Count) -> Path:
    """The section of the CR by which the controller starts torchrun, if it does and has no number yet."""
    config = mapping(spec_of(subject.job), "torchrunConfig")
    is_it = count.by == "torchrun" and config.get("enabled") is True and "procPerNode" not in config
    return ("spec", "torchrunConfig") if is_it else ()


def more_processes_than_gpus(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """More processes than GPUs, where there are any. Values: ``starts``, ``gpus``, ``instead``."""
    for count in _counts(subject.job):
        if count.number > count.gpus > 0 and count.by != "mpirun" and not count.is_mig:
            starts = f"{count.by} starts {counted(count.number, 'process', 'processes')}"
            gpus, instead = counted(count.gpus, "GPU"), "ask for as many GPUs as there are processes"
            if count.gpus < count.asked:
                gpus = f"{counted(count.asked, 'GPU')}, of which CUDA_VISIBLE_DEVICES shows {count.gpus}"
                instead = "make as many GPUs visible as there are processes"
            yield _hit(subject, count, {"starts": starts, "gpus": gpus, "instead": instead})


def mig_slices(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Several processes, or one with several MIG slices. Values: ``starts``, ``slices``, ``effect``."""
    for count in (*_counts(subject.job), *_without_launcher(subject.job)):
        if not count.is_mig or count.visible or count.number < 1 or count.gpus == count.number == 1:
            continue
        effect = "the others have no device"
        if count.number == 1:
            effect = "the other slices stay idle"
        values = {
            "starts": f"{count.by} starts {counted(count.number, 'process', 'processes')}",
            "slices": counted(count.gpus, "MIG slice"),
            "effect": effect,
        }
        yield _hit(subject, count, values)


def processes_by_gpus_of_none(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """``--nproc_per_node gpu`` or ``auto`` in a container without GPUs. Values: ``given``, ``happens``."""
    for launch in launches(subject.job):
        facts = launch.torchrun
        if facts is None or facts.processes not in ("gpu", "auto") or launch.invocation.conditional:
            continue
        if _has_devices(launch.container):
            continue
        fails = facts.processes == "gpu"
        happens = "torchrun refuses that" if fails else "torchrun starts a process per core of the node"
        word = facts.where("nproc_per_node", launch.invocation.word)
        values = {"given": facts.processes, "happens": happens}
        yield Hit(launch.place(word), values, doc=launch.group.doc, group=launch.group)


def threads_beyond_cpus(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Threads of all processes of a container that are ``params["factor"]`` times its CPUs or more.

    Values: ``name``, ``threads``, ``processes``, ``cpus``, ``each``: how many fit.
    """
    job = subject.job
    if mode(job, "debug"):
        return
    for group, path, container, processes in _process_counts(job):
        cpus = quantities.parse(entries(container, "limits").get("cpu"))
        if cpus is None or cpus < quantities.ONE:
            continue
        for at, name, entry in env(container):
            value = text(entry, "value")
            if name not in THREADS or not value.isdecimal() or len(value) > MOST_DIGITS:
                continue
            if int(value) * processes * quantities.ONE >= params["factor"] * cpus:
                values = {
                    "name": name,
                    "threads": counted(int(value), "thread"),
                    "processes": counted(processes, "process", "processes"),
                    "cpus": counted(cpus // quantities.ONE, "CPU"),
                    "each": max(cpus // quantities.ONE // processes, 1),
                }
                related = [(group.doc, (*path, "resources", "limits", "cpu"), "the CPUs of the container")]
                yield Hit((*path, "env", at, "value"), values, related, doc=group.doc, group=group)
                break


def _process_counts(job: Job) -> Iterator[tuple[Group, Path, Mapping[str, Any], int]]:
    """The training containers of a job with the number of processes that are started in them."""
    if kind_of(job) == "DeepSpeedJob" and not _is_custom_on_one(job):
        counts = list(_by_hostfile(job))
        found = training(counts[0].group) if counts else None
        if found is not None:
            yield counts[0].group, *found, counts[0].number
        return
    pods = sum(each.replicas for each in job.pods)
    for launch in launches(job):
        if launch.invocation.conditional or launch.invocation.under or kind_of(job) == "ColossalAIJob":
            continue
        number = _number(launch, pods) or (1 if one_process(launch, modules=True) else 0)
        if number:
            yield launch.group, launch.path, launch.container, number


def _hit(subject: Subject, count: Count, values: Mapping[str, Any]) -> Hit:
    where = (count.group.doc, count.gpus_path, counted(count.gpus, "MIG slice" if count.is_mig else "GPU"))
    if count.cr_path is not None:
        return Hit(count.cr_path, values, [where], doc=subject.doc)
    return Hit(count.path, values, [where], doc=count.group.doc, group=count.group)


def _counts(job: Job) -> Iterator[Count]:
    """The processes that launchers start, of each container and of each kind of Pod."""
    kind = kind_of(job)
    if mode(job, "debug"):
        return
    if kind == "DeepSpeedJob" and not _is_custom_on_one(job):
        yield from _by_hostfile(job)
        return
    pods = sum(each.replicas for each in job.pods)
    for launch in launches(job):
        found = launch.invocation
        number = _number(launch, pods)
        if number is None or found.conditional or found.under:
            continue
        path = launch.place(_word(launch))
        group = launch.group
        if kind == "ColossalAIJob":
            group = next((each for each in job.pods if each.role == "worker"), group)
        gpus = _gpus(group)
        if gpus is None:
            continue
        visible = found.variables.get("CUDA_VISIBLE_DEVICES")
        elsewhere = "CUDA_VISIBLE_DEVICES" in found.variables or found.after == "&"
        asked = gpus[0]
        if visible is not None and listed_devices(visible) < asked:
            gpus = listed_devices(visible), variable_path(launch, "CUDA_VISIBLE_DEVICES") or gpus[1]
        count = Count(number, found.launcher, launch.group, path, *gpus, visible=elsewhere, asked=asked)
        yield (
            count._replace(group=group, path=path)
            if group is launch.group
            else _of_workers(job, count, group)
        )


def _of_workers(job: Job, count: Count, workers: Group) -> Count:
    """The count of a launcher, told beside the workers that have the GPUs."""
    spec = spec_of(job)
    section = "torchConfig" if "torchConfig" in spec else "worker"
    written = "procPerWorker" in mapping(spec, section)
    path: Path = ("spec", section, "procPerWorker") if written else ("spec", section)
    return count._replace(group=workers, cr_path=path, by="colossalai run")


def _by_hostfile(job: Job) -> Iterator[Count]:
    """The processes of the workers of a DeepSpeedJob: the slots of the hostfile, or as deepspeed is told."""
    hosts = hostfile(job)
    workers = next((group for group in job.pods if group.role == "worker"), None)
    line = line_of(job)
    gpus = _gpus(workers) if workers is not None else None
    if not hosts or workers is None or gpus is None or line is None:
        return
    told = line.read.processes
    if line.read.include is not None or line.read.exclude is not None or not line.read.line.sure:
        return
    if told is not None and told > 0:
        path = line.place(line.read.line.options["num_gpus"].word)
        yield Count(told, "deepspeed", workers, path, *gpus, cr_path=path)
    elif hosts[0].slots is not None:
        config = mapping(spec_of(job), "config")
        path = ("spec", "config", "slotsPerWorker") if "slotsPerWorker" in config else ("spec", "config")
        yield Count(hosts[0].slots, "deepspeed", workers, path, *gpus, cr_path=path)


def _is_custom_on_one(job: Job) -> bool:
    """Whether the customCommand of a DeepSpeedJob of one worker starts something else than deepspeed."""
    return kind_of(job) == "DeepSpeedJob" and len(job.pods) == 1 and pods(job) == 1 and line_of(job) is None


def _number(launch: Launch, pods: int) -> int | None:
    """How many processes a line starts in its Pod; None where that is not known, or left to the GPUs.

    The number of accelerate is that of all machines together, and these may stand in a file.
    """
    facts = launch.invocation.facts
    if isinstance(facts, Torchrun):
        return int(facts.processes) if facts.processes is not None and facts.processes.isdigit() else None
    if isinstance(facts, Accelerate):
        told = facts.processes is not None and facts.config_file is None and not facts.flags & {"cpu", "tpu"}
        machines = facts.machines or (1 if pods == 1 else 0)
        return (facts.processes or 0) // machines if told and machines > 0 else None
    if isinstance(facts, ColossalAI):
        return facts.processes
    if isinstance(facts, DeepSpeed):
        return facts.processes if facts.processes is not None and facts.processes > 0 else None
    if isinstance(facts, Mpirun) and not facts.hosts and facts.hostfile is None:
        return facts.processes
    return None


# The option by which a launcher is told the processes of one Pod.
_OPTION_PER_POD = {
    "torchrun": "nproc_per_node",
    "torch.distributed.launch": "nproc_per_node",
    "deepspeed": "num_gpus",
}
_OPTION = {"accelerate": "num_processes", "deepspeed": "num_gpus", "mpirun": "np"}


def _word(launch: Launch) -> Any:
    found = launch.invocation
    option = found.options.get(_OPTION.get(found.launcher, "nproc_per_node"))
    return option.word if option is not None else found.word


def _without_launcher(job: Job) -> Iterator[Count]:
    """One process of python that no launcher starts, in a job whose Pods all have GPUs.

    It is a PyTorchTrainingJob, or a DeepSpeedJob with a customCommand.
    """
    if mode(job, "debug") or not (kind_of(job) == "PyTorchTrainingJob" or _is_custom_on_one(job)):
        return
    if any(_gpus(group) is None for group in job.pods):
        return
    started: dict[int, list[Launch]] = {}
    for launch in launches(job):
        started.setdefault(id(launch.group), []).append(launch)
    for group in job.pods:
        of_group = started.get(id(group), [])
        gpus = _gpus(group)
        if gpus is None or not of_group or not all(one_process(launch, modules=True) for launch in of_group):
            continue
        launch = of_group[-1]
        path = launch.place(launch.invocation.word)
        yield Count(1, "python", group, path, *gpus)


def _gpus(group: Group) -> tuple[int, Path] | None:
    """The GPUs of the training container and their place; None without, or where Pods share them."""
    found = training(group)
    if found is None:
        return None
    amount = accelerators(found[1])
    if not amount.number or amount.path is None or "shared" in amount.resource:
        return None
    return amount.number, (*found[0], *amount.path)


def _has_devices(container: Mapping[str, Any]) -> bool:
    """Whether a container may see GPUs: it asks for devices, or gets at those of the node in another way."""
    asked = any("/" in name for section in ("limits", "requests") for name in entries(container, section))
    visible = any(
        isinstance(entry, dict) and entry.get("name") == "NVIDIA_VISIBLE_DEVICES"
        for entry in container.get("env") or ()
    )
    return asked or visible or mapping(container, "securityContext").get("privileged") is True
