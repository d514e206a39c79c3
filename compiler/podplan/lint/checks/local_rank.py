"""``--local_rank`` as an argument of a script whose launcher gives each process its own.

Sources: https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/launcher/launch.py,
https://docs.pytorch.org/docs/stable/elastic/run.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.launchers.deepspeed import DeepSpeed
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import line_of
from podplan.lint.analysis.jobs import mode
from podplan.lint.analysis.launches import LAUNCHERS, Launch, launches
from podplan.lint.analysis.pod_hosts import hostfile
from podplan.lint.target import Hit, Subject

_OPTION = pattern(r"--local[-_]rank(?:=(.*))?")
_VALUE = pattern(r"-?\d+|\$(?:LOCAL_RANK|\{LOCAL_RANK\S*)")


def local_rank_argument(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """One local rank for all processes. Values: ``argument``, ``by`` whom they are started, ``effect``."""
    job = subject.job
    line = line_of(job)
    if line is not None:
        slots = max((hosts.slots or 0 for hosts in hostfile(job)), default=0)
        passes = "no_local_rank" not in line.read.flags
        if (line.read.processes or slots) != 1:
            for word, argument in _given(line.read.line.arguments, passes):
                yield Hit(line.place(word), _values(argument, "deepspeed", passes))
    for launch in launches(job) if line is None and not mode(job, "debug") else ():
        by = launch.invocation.under or launch.invocation.launcher
        if by not in (*LAUNCHERS, "mpirun", "horovodrun") or _is_single(launch):
            continue
        passes = _passes(launch)
        for word, argument in _given(launch.invocation.arguments, passes):
            yield Hit(
                launch.place(word), _values(argument, by, passes), doc=launch.group.doc, group=launch.group
            )


def _given(arguments: Sequence[Word], passes: bool) -> Iterator[tuple[Word, str]]:
    """The words that give a local rank, and the option with its value.

    Scripts replace -1 by what the environment says, if the launcher ``passes`` no option of its own.
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


def _passes(launch: Launch) -> bool:
    """Whether a launcher gives the script an argument with the local rank."""
    found = launch.invocation
    if isinstance(found.facts, DeepSpeed):
        return "no_local_rank" not in found.facts.flags
    return found.launcher == "torch.distributed.launch" and "use_env" not in found.options


def _is_single(launch: Launch) -> bool:
    """Whether a launcher starts one process in each Pod."""
    return launch.torchrun is not None and launch.torchrun.processes == "1"
