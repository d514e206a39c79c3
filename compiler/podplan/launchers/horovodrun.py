"""horovodrun: how many processes on which hosts.

Source: https://horovod.readthedocs.io/en/stable/running_include.html and its command line of release 0.28.
"""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.launchers.argparse import parse
from podplan.launchers.arguments import Grammar, Line, options
from podplan.launchers.words import Fault, Word

GRAMMAR = Grammar(
    "horovodrun",
    tuple(
        options("""
        -v --version flag
        -np --num-proc int
        -cb --check-build flag
        --disable-cache flag
        --start-timeout int
        --network-interfaces text
        --output-filename text
        --verbose flag
        --config-file text
        -p --ssh-port int
        -i --ssh-identity-file text
        --fusion-threshold-mb int
        --cycle-time-ms float
        --cache-capacity int
        --autotune flag
        --autotune-log-file text
        --min-np int
        --max-np int
        --slots-per-host int
        --elastic-timeout int
        --reset-limit int
        --host-discovery-script text
        --timeline-filename text
        --no-stall-check flag
        --stall-check-warning-time-seconds int
        --stall-check-shutdown-time-seconds int
        --mpi-threads-disable flag
        --mpi-args text
        --tcp flag
        --binding-args text
        --num-nccl-streams int
        --thread-affinity int
        --log-level TRACE|DEBUG|INFO|WARNING|ERROR|FATAL
        -H --hosts text
        -hostfile --hostfile text
        --gloo flag
        --mpi flag
        --jsrun flag
        """)
    ),
)


class Horovodrun(NamedTuple):
    """What a horovodrun line asks for; None is what is not given, or not known offline."""

    line: Line
    processes: int | None
    hosts: str | None
    hostfile: str | None
    rest: tuple[Word, ...]
    errors: tuple[Fault, ...]


def read(words: tuple[Word, ...], start: Word) -> Horovodrun:
    """A horovodrun line after the name of the program."""
    line = parse(GRAMMAR, words, start)
    rest = (line.script, *line.arguments) if line.script is not None else ()
    found = line.number("num_proc"), line.value("hosts"), line.value("hostfile")
    return Horovodrun(line, *found, rest, line.faults)
