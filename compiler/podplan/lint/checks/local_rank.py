"""``--local_rank`` as an argument of a script whose launcher gives each process its own.

Sources: https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/launcher/launch.py,
https://docs.pytorch.org/docs/stable/elastic/run.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.launchers.commands import DeepSpeedCommand
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.launches import TRAINING_LAUNCHERS, ContainerLaunch, find_launches
from podplan.lint.analysis.pod_hosts import read_hostfile
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_OPTION = compile_lazily(r"--local[-_]rank(?:=(.*))?")
_VALUE = compile_lazily(r"-?\d+|\$(?:LOCAL_RANK|\{LOCAL_RANK\S*)")


@check()
def local_rank_argument(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """One local rank for all processes. Values: ``argument``, ``by`` (the launcher), ``effect``."""
    job = subject.job
    line = find_deepspeed_line(job)
    if line is not None:
        slots = max((hosts.slots or 0 for hosts in read_hostfile(job)), default=0)
        passes = "no_local_rank" not in line.command_line.flags
        if (line.command_line.processes or slots) != 1:
            for word, argument in _iter_local_ranks(line.command_line.command_line.arguments, passes):
                yield Violation(line.locate_word(word), _values(argument, "deepspeed", passes))
    for launch in find_launches(job) if line is None and not is_mode_enabled(job, "debug") else ():
        by = launch.invocation.started_by or launch.invocation.launcher
        if by not in (*TRAINING_LAUNCHERS, "mpirun", "horovodrun") or _is_single(launch):
            continue
        passes = _passes(launch)
        for word, argument in _iter_local_ranks(launch.invocation.arguments, passes):
            yield Violation(
                launch.locate_word(word),
                _values(argument, by, passes),
                doc=launch.group.doc,
                group=launch.group,
            )


def _iter_local_ranks(arguments: Sequence[Word], passes: bool) -> Iterator[tuple[Word, str]]:
    """Yield the words with a local rank, and the option with its value.

    Scripts replace -1 by the value in the environment, unless the launcher ``passes`` an option.
    """
    for at, word in enumerate(arguments):
        option = _OPTION.fullmatch(word.text)
        place = word if option is None or option[1] is not None else next(iter(arguments[at + 1 :]), None)
        if option is None or place is None:
            continue
        value = option[1] if option[1] is not None else place.text
        if _VALUE.fullmatch(value) and (passes or value != "-1"):
            yield place, f"{word.text.partition('=')[0]}={value}"


def _values(argument: str, by: str, passes: bool) -> dict[str, str]:
    if "$" in argument:
        effect = f"the shell replaces it before {by} starts them"
    elif passes:
        effect = f"{by} passes --local_rank=N before it, and the last one wins"
    else:
        effect = "each process has a rank of its own, in the variable LOCAL_RANK"
    return {"argument": argument, "by": by, "effect": effect}


def _passes(launch: ContainerLaunch) -> bool:
    """Whether a launcher passes the local rank to the script as an argument."""
    found = launch.invocation
    if isinstance(found.parsed, DeepSpeedCommand):
        return "no_local_rank" not in found.parsed.flags
    return found.launcher == "torch.distributed.launch" and "use_env" not in found.options


def _is_single(launch: ContainerLaunch) -> bool:
    """Whether a launcher starts one process in each Pod."""
    return launch.torchrun is not None and launch.torchrun.processes == "1"
