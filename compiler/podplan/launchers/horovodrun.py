"""Parses ``horovodrun``: the number of processes, and the hosts.

Source: https://horovod.readthedocs.io/en/stable/running_include.html and its command line of release 0.28.
"""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.launchers.argparse import parse_command_line
from podplan.launchers.arguments import CommandLine, OptionGrammar, parse_option_table
from podplan.launchers.words import CommandLineError, Word

GRAMMAR = OptionGrammar(
    "horovodrun",
    tuple(
        parse_option_table("""
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


class HorovodrunCommand(NamedTuple):
    """A parsed horovodrun command line; None is not given, or unknown offline."""

    command_line: CommandLine
    processes: int | None
    hosts: str | None
    hostfile: str | None
    program_words: tuple[Word, ...]
    errors: tuple[CommandLineError, ...]


def parse_horovodrun(words: tuple[Word, ...], launcher_word: Word) -> HorovodrunCommand:
    """Parse a horovodrun command line after the name of the program."""
    command_line = parse_command_line(GRAMMAR, words, launcher_word)
    program_words = (command_line.script, *command_line.arguments) if command_line.script is not None else ()
    option_values = (
        command_line.get_number("num_proc"),
        command_line.get_value("hosts"),
        command_line.get_value("hostfile"),
    )
    return HorovodrunCommand(command_line, *option_values, program_words, command_line.errors)
