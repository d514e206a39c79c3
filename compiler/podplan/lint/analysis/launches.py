"""The command lines with which the Pods of a job start their processes, and their paths in the Pods."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from podplan.core.findings import Path, TextPath, below, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup, build_folded_at_index
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.commands import HorovodrunCommand, MpirunCommand, TorchrunCommand
from podplan.launchers.discovery import Invocation, find_programs
from podplan.launchers.kubelet import resolve_environment
from podplan.launchers.words import Word
from podplan.launchers.wrappers import parse_python_call
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.target import LoweredJob, Target, cache_latest, cache_recent

_ASSIGNMENT = compile_lazily(r"(?:\A|(?<=[\s;&|(]))(([A-Za-z_]\w*)=\S*)")
_ASSIGNED_TEXT = compile_lazily(r"(?<![\w$-])([A-Za-z_]\w*)=([^;&|\n]{1,200})")
_CHOOSES = compile_lazily(r"\b(?:if|case|while|until)\b|\[|&&|\|\|")
TRAINING_LAUNCHERS = ("torchrun", "torch.distributed.launch", "accelerate", "deepspeed", "colossalai")
# Options of scripts that start a process per GPU themselves.
_PROCESS_OPTION_PREFIXES = ("gpu", "device", "nproc", "num_proc", "world", "ngpus", "strategy", "accelerator")
# Options that name the only GPU of a script.
_ONE_DEVICE_OPTIONS = ("device", "gpu")
_ONE_DEVICE = compile_lazily(r"(?:cuda|gpu):\d{1,3}|0")
# The same words anywhere in an option, and in the name of a script; dp is torch.nn.DataParallel.
_SPAWNING_OPTIONS = """
    spawn spawned nproc nprocs procs processes world ngpu ngpus gpus devices ranks ddp fsdp strategy
"""
_SPAWNS = frozenset(_SPAWNING_OPTIONS.split())
_SPAWNING_SCRIPT = frozenset(
    ("spawn", "spawner", "multiproc", "multiprocess", "multiprocessing", "launch", "launcher", "dp")
)
_NAME_PARTS = compile_lazily(r"[a-z0-9]+")
# Packages with programs that start such processes, and with programs that train nothing.
_NON_TRAINING_TEXT = """
    axolotl build compileall http ipykernel jupyter lightning lightning_fabric llamafactory openrlhf pip
    pytest pytorch_lightning ray sglang swift tensorboard torchtune torchx trl unittest venv verl vllm xtuner
"""
NON_TRAINING_PACKAGES = frozenset(_NON_TRAINING_TEXT.split())


class ContainerLaunch(NamedTuple):
    """A program that the training container of a group of Pods starts; ``path`` is that container.

    ``metadata`` is that of the Pod.
    """

    group: ReplicaGroup
    path: Path
    container: Mapping[str, Any]
    invocation: Invocation
    metadata: Mapping[str, Any] = {}

    def resolve_environment(self) -> dict[str, str | None]:
        """Return the variables that the container sets, without those of a shell."""
        return resolve_environment(self.container, self.metadata)

    def locate_word(self, word: Word) -> Path:
        """Return the path of a word in the Pod."""
        return below(self.path, word.place)

    @property
    def is_launcher(self) -> bool:
        """Whether the program starts the processes of a training."""
        return self.invocation.launcher in TRAINING_LAUNCHERS

    @property
    def torchrun(self) -> TorchrunCommand | None:
        """The parsed command line of torchrun; None for other programs."""
        facts = self.invocation.parsed
        return facts if isinstance(facts, TorchrunCommand) else None

    @property
    def mpirun(self) -> MpirunCommand | None:
        """The parsed command line of mpirun, or that of horovodrun; None for other programs."""
        facts = self.invocation.parsed
        if isinstance(facts, HorovodrunCommand):
            from podplan.launchers.horovodrun import read_as_mpirun

            return read_as_mpirun(facts, self.invocation.program_word, self.invocation.variables)
        return facts if isinstance(facts, MpirunCommand) else None


@cache_latest
def find_launches(job: LoweredJob) -> tuple[ContainerLaunch, ...]:
    """Return the programs that training containers start, from the first replica of each group."""
    return tuple(launch for group in job.pods for launch in find_replica_launches(group, group.start))


def find_replica_launches(group: ReplicaGroup, index: int) -> list[ContainerLaunch]:
    """Return the programs that the training container of one replica starts, computed once for all checks."""
    launches_by_index = _get_launches_by_index(group)
    if index not in launches_by_index:
        launches_by_index[index] = _read_replica_launches(group, index)
    return launches_by_index[index]


@cache_recent
def _get_launches_by_index(_group: ReplicaGroup) -> dict[int, list[ContainerLaunch]]:
    return {}


def _read_replica_launches(group: ReplicaGroup, index: int) -> list[ContainerLaunch]:
    training_container = find_training_container(group)
    if training_container is None:
        return []
    path, container = training_container
    pod = build_folded_at_index(group.doc, index) if group.doc.replica_texts else group.doc.data
    if group.doc.replica_texts:
        container = pod["spec"]["containers"][path[-1]]
    metadata = get_mapping(pod, "metadata")
    return [
        ContainerLaunch(group, path, container, invocation, metadata)
        for invocation in find_programs(container, metadata).invocations
    ]


def find_invocations(target: Target) -> list[Invocation]:
    """Return the programs that a container of the first replica starts."""
    group_launches = (launch for launch in find_launches(target.job) if launch.group is target.group)
    invocations = [launch.invocation for launch in group_launches if launch.path == target.base_path]
    return invocations or list(find_programs(target.data).invocations)


def find_launch_on_replica(launch: ContainerLaunch, index: int) -> ContainerLaunch | None:
    """Return the same program on another replica of its group; None if that replica starts others."""
    number = [
        each.invocation.program_word for each in find_replica_launches(launch.group, launch.group.start)
    ].index(launch.invocation.program_word)
    replica_launches = find_replica_launches(launch.group, index)
    return replica_launches[number] if number < len(replica_launches) else None


def find_variable_path(launch: ContainerLaunch, name: str) -> Path | None:
    """Return the path at which the container sets a variable; None if it does not."""
    entries = [one for one in get_entries(launch.container, "env") if get_text(one[1], "name") == name]
    if not entries:
        return None
    index, entry = entries[-1]
    return (*launch.path, "env", index, "valueFrom" if "valueFrom" in entry else "value")


def find_option_path(launch: ContainerLaunch, torchrun: TorchrunCommand, name: str) -> Path:
    """Return the place of an option of torchrun: its word, its variable, or else torchrun itself."""
    if name not in torchrun.command_line.options and name in torchrun.value_origins:
        path = find_variable_path(launch, f"PET_{name.upper()}")
        if path is not None:
            return path
    return launch.locate_word(torchrun.find_option_word(name, launch.invocation.program_word))


def find_assignment_place(launch: ContainerLaunch, name: str) -> Path:
    """Return the place at which the shell sets a variable before a program, or else the program itself."""
    word = launch.invocation.program_word
    string = value_at(launch.container, word.path)
    if not isinstance(string, str):
        return launch.locate_word(word)
    found = [match.span(1) for match in _ASSIGNMENT.finditer(string, 0, word.start) if match[2] == name]
    return TextPath((*launch.path, *word.path), found[-1]) if found else launch.locate_word(word)


def find_only_assignment(launch: ContainerLaunch, name: str) -> str:
    """Return the value of a variable that the shell sets once, and in no branch, before a program.

    "" otherwise. The text is as written, so that it may hold a command that the shell runs.
    """
    string = value_at(launch.container, launch.invocation.program_word.path)
    if not isinstance(string, str):
        return ""
    assignments = [match for match in _ASSIGNED_TEXT.finditer(string) if match[1] == name]
    if len(assignments) != 1 or _CHOOSES.search(string, 0, assignments[0].start()):
        return ""
    return assignments[0][2]


def gives_several_gpus(program_words: tuple[Word, ...]) -> bool:
    """Whether each process of a program uses several GPUs, as NCCL tests do with -g."""
    texts = [word.text for word in program_words]
    return any(flag in ("-g", "--ngpus") and value != "1" for flag, value in pairwise(texts))


def is_single_process(launch: ContainerLaunch, *, allow_modules: bool = False) -> bool:
    """Whether a launch is a script that python runs as the only process, judged by its options.

    With ``allow_modules`` also a module that python runs, unless its package is known to start other
    processes.
    """
    invocation = launch.invocation
    script = invocation.script
    if (
        invocation.launcher != "python"
        or invocation.is_conditional
        or invocation.operator_after == "&"
        or script is None
        or "CUDA_VISIBLE_DEVICES" in invocation.variables
    ):
        return False
    is_script = script.text.endswith(".py") or (allow_modules and _is_own_module(invocation))
    return is_script and not _starts_others(script, invocation.arguments)


def _starts_others(script: Word, arguments: tuple[Word, ...]) -> bool:
    """Whether a script may start a process per GPU itself, judged by its name and its options."""
    if not _SPAWNING_SCRIPT.isdisjoint(_NAME_PARTS.findall(script.base_name.lower())):
        return True
    for at, word in enumerate(arguments):
        option, equals, value = word.text.lower().partition("=")
        flag = option.lstrip("-").replace("-", "_")
        following = arguments[at + 1].text if at + 1 < len(arguments) else ""
        if flag in _ONE_DEVICE_OPTIONS and _ONE_DEVICE.fullmatch(value if equals else following.lower()):
            continue
        if flag.startswith(_PROCESS_OPTION_PREFIXES):
            return True
        parts = _NAME_PARTS.findall(option.replace("_", "-"))
        if option.startswith("-") and parts[:1] != ["per"] and not _SPAWNS.isdisjoint(parts):
            return True
    return False


def _is_own_module(invocation: Invocation) -> bool:
    started = parse_python_call((invocation.program_word, *invocation.words))
    module = started.module if started is not None else None
    return (
        module is not None and module.is_known and module.text.partition(".")[0] not in NON_TRAINING_PACKAGES
    )


def get_last_index(group: ReplicaGroup) -> int:
    """Return the highest index of a group."""
    return group.start + max(group.replicas, 1) - 1
