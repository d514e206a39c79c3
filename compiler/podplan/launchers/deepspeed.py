"""Parses the deepspeed launcher: the hosts and slots that it uses, and what it rejects.

Source: https://deepspeed.readthedocs.io, docs/evidence/deepspeed-launcher.md, and deepspeed 0.19 itself. The
table includes options that only some releases have; other releases reject them.
"""

from __future__ import annotations

from podplan.launchers.argparse import parse_command_line
from podplan.launchers.arguments import (
    CommandLine,
    OptionGrammar,
    find_flags,
    parse_integer,
    parse_option_table,
)
from podplan.launchers.commands import DEFAULT_HOSTFILE, DeepSpeedCommand, HostSlots
from podplan.launchers.words import CommandLineError, Word

GRAMMAR = OptionGrammar(
    "deepspeed",
    tuple(
        parse_option_table("""
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
DEFAULT_MASTER_PORT = 29500
MULTI_NODE_LAUNCHERS = ("pdsh", "openmpi", "mvapich", "slurm", "mpich", "impi")
# The MPI launchers that select hosts and slots themselves.
_SELECTING_LAUNCHERS = ("openmpi", "mpich", "mvapich", "impi")
_SEVERAL_HOSTS_CONDITION = "with more than one host"


def parse_deepspeed(words: tuple[Word, ...], launcher_word: Word) -> DeepSpeedCommand:
    """Parse a deepspeed command line after the name of the program."""
    command_line = parse_command_line(GRAMMAR, words, launcher_word)
    errors = list(command_line.errors)
    launcher = command_line.get_value("launcher", "pdsh")
    command = DeepSpeedCommand(
        command_line,
        command_line.get_value("hostfile", DEFAULT_HOSTFILE),
        _parse_host_slots(command_line, "include", errors),
        _parse_host_slots(command_line, "exclude", errors),
        command_line.get_number("num_nodes"),
        command_line.get_number("num_gpus"),
        command_line.get_value("master_addr"),
        command_line.get_number("master_port", DEFAULT_MASTER_PORT),
        launcher.lower() if launcher is not None else None,
        find_flags(GRAMMAR, command_line),
        (),
    )
    errors += _find_conflicts(command)
    return command._replace(errors=tuple(errors) if command_line.is_certain else ())


def _find_conflicts(command: DeepSpeedCommand) -> list[CommandLineError]:
    """Return the errors of options that exclude each other."""
    options = command.command_line.options
    errors: list[CommandLineError] = []

    def add_error(name: str, message: str, condition: str = "") -> None:
        errors.append(CommandLineError(options[name].flag, message, condition))

    host_filters = [name for name in ("include", "exclude") if name in options and options[name].value != ""]
    numbers = {name: command.command_line.get_number(name) for name in ("num_nodes", "num_gpus")}
    counting_options = [name for name, number in numbers.items() if number is not None and number >= 0]
    if len(host_filters) > 1:
        add_error("exclude", "--include and --exclude exclude each other")
    for name in counting_options:
        if host_filters:
            add_error(name, f"--{name} cannot be combined with --{host_filters[0]}")
    if {"module", "no_python"} <= command.flags:
        add_error("no_python", "--no_python and --module exclude each other")
    if "no_ssh" in command.flags and (
        "node_rank" not in options or _is_negative(command.command_line, "node_rank")
    ):
        add_error("no_ssh", "--no_ssh needs --node_rank, from 0 to the number of hosts minus 1")
    if "elastic_training" in command.flags and "master_addr" not in options:
        add_error("elastic_training", "--elastic_training needs --master_addr")
    if {"elastic_training", "no_local_rank"} <= command.flags:
        add_error("no_local_rank", "--elastic_training cannot be combined with --no_local_rank")
    if command.launcher is not None and command.launcher not in MULTI_NODE_LAUNCHERS:
        add_error(
            "launcher",
            f'--launcher must be one of {", ".join(MULTI_NODE_LAUNCHERS)}, not "{command.launcher}"',
            _SEVERAL_HOSTS_CONDITION,
        )
    if command.launcher in _SELECTING_LAUNCHERS:
        for name in (*host_filters, *counting_options):
            add_error(
                name,
                f"--launcher {command.launcher} cannot be combined with --{name}",
                _SEVERAL_HOSTS_CONDITION,
            )
    return errors


def _is_negative(command_line: CommandLine, name: str) -> bool:
    number = command_line.get_number(name)
    return number is not None and number < 0


def _parse_host_slots(
    command_line: CommandLine, name: str, errors: list[CommandLineError]
) -> HostSlots | None:
    """Parse ``NODE[:SLOT,…]@NODE…`` into slots by host."""
    option = command_line.options.get(name)
    if option is None or not option.value:
        return None
    host_slots: HostSlots = {}
    for node in option.value.split("@"):
        host, colon, slot_text = node.partition(":")
        slots = [parse_integer(slot) for slot in slot_text.split(",")] if colon else []
        if None in slots:
            message = f'--{name} must be HOST:SLOT,SLOT with "@" between hosts, not "{option.value}"'
            errors.append(CommandLineError(option.word, message))
            return None
        host_slots[host] = sorted({*host_slots.get(host, []), *(slot for slot in slots if slot is not None)})
    return host_slots
