"""The deepspeed launcher: which hosts and slots it uses, and what it refuses.

Source: https://deepspeed.readthedocs.io, docs/evidence/deepspeed-launcher.md, and deepspeed 0.19 itself.
Options that only
some releases know are in the table: a newer or an older one refuses them.
"""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.launchers.argparse import parse
from podplan.launchers.arguments import Grammar, Line, flags, integer, options
from podplan.launchers.words import Fault, Word

GRAMMAR = Grammar(
    "deepspeed",
    tuple(
        options("""
        -H --hostfile text
        -i --include text
        -e --exclude text
        --num_nodes int
        --num_gpus --num_accelerators int
        --master_port int
        --master_addr text
        --node_rank int
        --launcher text
        --launcher_args text
        --module flag
        --no_python flag
        --no_local_rank flag
        --no_ssh flag
        --no_ssh_check flag
        --force_multi flag
        --save_pid flag
        --enable_each_rank_log text
        --autotuning tune|run
        --bind_cores_to_rank flag
        --bind_core_list text
        --ssh_port int
        --venv_script text
        --log_level debug|info|warning|error|critical
        -q --quiet flag
        --elastic_training flag
        --min_elastic_nodes int
        --max_elastic_nodes int
        """)
    ),
)
HOSTFILE = "/job/hostfile"
MASTER_PORT = 29500
LAUNCHERS = ("pdsh", "openmpi", "mvapich", "slurm", "mpich", "impi")
# The MPI launchers that choose hosts and slots by themselves.
_CHOOSING = ("openmpi", "mpich", "mvapich", "impi")
_SEVERAL = "with more than one host"

# Host to slots; none listed are all of them.
Hosts = dict[str, list[int]]


class DeepSpeed(NamedTuple):
    """What a deepspeed line asks for; None is what is not given, or not known offline.

    ``include`` and ``exclude`` are hosts with their slots, where an empty list stands for all slots.
    """

    line: Line
    hostfile: str | None
    include: Hosts | None
    exclude: Hosts | None
    nodes: int | None
    processes: int | None
    master_addr: str | None
    master_port: int | None
    launcher: str | None
    flags: frozenset[str]
    errors: tuple[Fault, ...]


def read(words: tuple[Word, ...], start: Word) -> DeepSpeed:
    """A deepspeed line after the name of the program."""
    line = parse(GRAMMAR, words, start)
    faults = list(line.faults)
    launcher = line.value("launcher", "pdsh")
    found = DeepSpeed(
        line,
        line.value("hostfile", HOSTFILE),
        _hosts(line, "include", faults),
        _hosts(line, "exclude", faults),
        line.number("num_nodes"),
        line.number("num_gpus"),
        line.value("master_addr"),
        line.number("master_port", MASTER_PORT),
        launcher.lower() if launcher is not None else None,
        flags(GRAMMAR, line),
        (),
    )
    faults += _exclusions(found)
    return found._replace(errors=tuple(faults) if line.sure else ())


def _exclusions(found: DeepSpeed) -> list[Fault]:
    """Options that do not go together."""
    given = found.line.options
    faults: list[Fault] = []

    def fault(name: str, sentence: str, only: str = "") -> None:
        faults.append(Fault(given[name].flag, sentence, only))

    chosen = [name for name in ("include", "exclude") if name in given and given[name].value != ""]
    numbers = {name: found.line.number(name) for name in ("num_nodes", "num_gpus")}
    counted = [name for name, number in numbers.items() if number is not None and number >= 0]
    if len(chosen) > 1:
        fault("exclude", "--include and --exclude exclude each other")
    for name in counted:
        if chosen:
            fault(name, f"--{name} does not go with --{chosen[0]}")
    if {"module", "no_python"} <= found.flags:
        fault("no_python", "--no_python and --module exclude each other")
    if "no_ssh" in found.flags and ("node_rank" not in given or _below_zero(found.line, "node_rank")):
        fault("no_ssh", "--no_ssh needs --node_rank, from 0 to the number of hosts less 1")
    if "elastic_training" in found.flags and "master_addr" not in given:
        fault("elastic_training", "--elastic_training needs --master_addr")
    if {"elastic_training", "no_local_rank"} <= found.flags:
        fault("no_local_rank", "--elastic_training does not go with --no_local_rank")
    if found.launcher is not None and found.launcher not in LAUNCHERS:
        fault("launcher", f'--launcher takes {", ".join(LAUNCHERS)}; not "{found.launcher}"', _SEVERAL)
    if found.launcher in _CHOOSING:
        for name in (*chosen, *counted):
            fault(name, f"--launcher {found.launcher} does not go with --{name}", _SEVERAL)
    return faults


def _below_zero(line: Line, name: str) -> bool:
    number = line.number(name)
    return number is not None and number < 0


def _hosts(line: Line, name: str, faults: list[Fault]) -> Hosts | None:
    """``NODE[:SLOT,…]@NODE…`` as hosts and their slots."""
    option = line.options.get(name)
    if option is None or not option.value:
        return None
    found: Hosts = {}
    for node in option.value.split("@"):
        host, colon, listed = node.partition(":")
        slots = [integer(slot) for slot in listed.split(",")] if colon else []
        if None in slots:
            sentence = f'--{name} takes HOST:SLOT,SLOT with "@" between hosts, not "{option.value}"'
            faults.append(Fault(option.word, sentence))
            return None
        found[host] = sorted({*found.get(host, []), *(slot for slot in slots if slot is not None)})
    return found
