"""The command lines with which the Pods of a job start their processes, with their places in the Pods."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Path, TextPath, below, value_at
from podplan.core.lazy_regex import pattern
from podplan.core.replica_groups import Group, at_index
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, text
from podplan.launchers.discovery import Invocation, find
from podplan.launchers.torchrun import Torchrun
from podplan.launchers.words import Word
from podplan.launchers.wrappers import python
from podplan.lint.analysis.resources import training
from podplan.lint.target import Job, Subject, for_one

_ASSIGNMENT = pattern(r"(?:\A|(?<=[\s;&|(]))(([A-Za-z_]\w*)=\S*)")
LAUNCHERS = ("torchrun", "torch.distributed.launch", "accelerate", "deepspeed", "colossalai")
# Options of scripts that start a process per GPU themselves.
_OWN_PROCESSES = ("gpu", "device", "nproc", "num_proc", "world", "ngpus", "strategy", "accelerator")
# The same words anywhere in an option, and in the name of a script.
_SPAWNING_OPTIONS = """
    spawn spawned nproc nprocs procs processes world ngpu ngpus gpus devices ranks ddp fsdp strategy
"""
_SPAWNS = frozenset(_SPAWNING_OPTIONS.split())
_SPAWNING_SCRIPT = frozenset(
    ("spawn", "spawner", "multiproc", "multiprocess", "multiprocessing", "launch", "launcher")
)
_NAME_PARTS = pattern(r"[a-z0-9]+")
# Packages with programs that start such processes, and with programs that train nothing.
_NOT_TRAINING = """
    axolotl build compileall http ipykernel jupyter lightning lightning_fabric llamafactory openrlhf pip
    pytest pytorch_lightning ray sglang swift tensorboard torchtune torchx trl unittest venv verl vllm xtuner
"""
NOT_TRAINING = frozenset(_NOT_TRAINING.split())


class Launch(NamedTuple):
    """A program that the training container of a group of Pods starts; ``path`` is that container."""

    group: Group
    path: Path
    container: Mapping[str, Any]
    invocation: Invocation

    def place(self, word: Word) -> Path:
        """Where a word stands in the Pod."""
        return below(self.path, word.place)

    @property
    def is_launcher(self) -> bool:
        """Whether it starts the processes of a training."""
        return self.invocation.launcher in LAUNCHERS

    @property
    def torchrun(self) -> Torchrun | None:
        """What a line of torchrun asks for; None for other programs."""
        facts = self.invocation.facts
        return facts if isinstance(facts, Torchrun) else None


@for_one
def launches(job: Job) -> tuple[Launch, ...]:
    """The programs that the training containers of a job start, read from the first replica of each group."""
    return tuple(launch for group in job.pods for launch in of_replica(group, group.start))


def of_replica(group: Group, index: int) -> list[Launch]:
    """The programs that the training container of one replica starts."""
    found = training(group)
    if found is None:
        return []
    path, container = found
    if group.doc.varies:
        container = at_index(group.doc, index)["spec"]["containers"][path[-1]]
    return [Launch(group, path, container, invocation) for invocation in find(container).invocations]


def programs(subject: Subject) -> list[Invocation]:
    """The programs that a container of the first replica starts."""
    of_group = (launch for launch in launches(subject.job) if launch.group is subject.group)
    here = [launch.invocation for launch in of_group if launch.path == subject.base]
    return here or list(find(subject.data).invocations)


def same_on(launch: Launch, index: int) -> Launch | None:
    """The same program of another replica of its group; None where that starts others."""
    number = [each.invocation.word for each in of_replica(launch.group, launch.group.start)].index(
        launch.invocation.word
    )
    others = of_replica(launch.group, index)
    return others[number] if number < len(others) else None


def variable_path(launch: Launch, name: str) -> Path | None:
    """Where the container sets a variable; None where only the command line or the image does."""
    found = [at for at, entry in entries(launch.container, "env") if text(entry, "name") == name]
    return (*launch.path, "env", found[-1], "value") if found else None


def assignment_place(launch: Launch, name: str) -> Path:
    """Where the shell that starts a program sets a variable before it, else the program itself."""
    word = launch.invocation.word
    string = value_at(launch.container, word.path)
    if not isinstance(string, str):
        return launch.place(word)
    found = [match.span(1) for match in _ASSIGNMENT.finditer(string, 0, word.start) if match[2] == name]
    return TextPath((*launch.path, *word.path), found[-1]) if found else launch.place(word)


def one_process(launch: Launch, *, modules: bool = False) -> bool:
    """Whether it is a script that python runs as the only process, as far as its options tell.

    With ``modules`` also one that python runs as a module, unless its package is known to start others.
    """
    found = launch.invocation
    script = found.script
    if (
        found.launcher != "python"
        or found.conditional
        or found.after == "&"
        or script is None
        or "CUDA_VISIBLE_DEVICES" in found.variables
    ):
        return False
    alone = script.text.endswith(".py") or (modules and _is_own_module(found))
    return alone and not _starts_others(script, found.arguments)


def _starts_others(script: Word, arguments: tuple[Word, ...]) -> bool:
    """Whether a script may start a process for each GPU itself, by its name and its options."""
    if not _SPAWNING_SCRIPT.isdisjoint(_NAME_PARTS.findall(script.name.lower())):
        return True
    for word in arguments:
        option = word.text.partition("=")[0].lower()
        flag = option.lstrip("-").replace("-", "_")
        if flag.startswith(_OWN_PROCESSES):
            return True
        parts = _NAME_PARTS.findall(option.replace("_", "-"))
        if option.startswith("-") and parts[:1] != ["per"] and not _SPAWNS.isdisjoint(parts):
            return True
    return False


def _is_own_module(found: Invocation) -> bool:
    started = python((found.word, *found.words))
    module = started.module if started is not None else None
    return module is not None and module.known and module.text.partition(".")[0] not in NOT_TRAINING


def last(group: Group) -> int:
    """The highest index of a group."""
    return group.start + max(group.replicas, 1) - 1


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things: 1 process, 2 processes."""
    return f"{number} {one if number == 1 else many or one + 's'}"
