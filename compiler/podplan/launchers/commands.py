"""Parsed command lines of launchers, without their parsers.

A module of each launcher parses its own, and is loaded when a container starts that launcher.
"""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.launchers.arguments import CommandLine, ParsedOption
from podplan.launchers.words import CommandLineError, Word

DEFAULT_HOSTFILE = "/job/hostfile"  # of deepspeed
HOROVODRUN_HOST_OPTIONS = ("hosts", "hostfile", "host_discovery_script")
# Slots by host; an empty list means all slots.
HostSlots = dict[str, list[int]]


class TorchrunCommand(NamedTuple):
    """A parsed torchrun command line; None is unknown offline.

    ``node_range`` is the minimum and the maximum; ``processes`` is a number or auto, gpu, cpu, xpu.
    ``backend``, ``host`` and ``port`` are the effective ones: with ``standalone``, and with one node and no
    address, the rendezvous is at localhost. ``value_origins`` has the origin of each value: its option, or
    PET_….
    """

    command_line: CommandLine
    node_range: tuple[int, int] | None
    processes: str | None
    backend: str | None
    host: str | None
    port: int | None
    node_rank: int | None
    max_restarts: int | None
    standalone: bool
    rdzv_conf: dict[str, str] | None
    is_module: bool
    value_origins: dict[str, str]
    errors: tuple[CommandLineError, ...]

    def find_option_word(self, name: str, default: Word) -> Word:
        """Return the word with the value of an option, or ``default``."""
        option = self.command_line.options.get(name)
        return option.word if option is not None else default


class AccelerateCommand(NamedTuple):
    """A parsed accelerate command line; None is not given, or unknown offline.

    Options that are not given come from ``config_file``, or from the one in the home directory if it exists.
    ``processes`` is the total of all machines.
    """

    command_line: CommandLine
    processes: int | None
    machines: int | None
    machine_rank: int | None
    main_ip: str | None
    main_port: int | None
    multi_gpu: bool
    flags: frozenset[str]
    config_file: str | None
    errors: tuple[CommandLineError, ...]


class DeepSpeedCommand(NamedTuple):
    """A parsed deepspeed command line; None is not given, or unknown offline.

    ``include`` and ``exclude`` are hosts with their slots; an empty list means all slots.
    """

    command_line: CommandLine
    hostfile: str | None
    include: HostSlots | None
    exclude: HostSlots | None
    nodes: int | None
    processes: int | None
    master_addr: str | None
    master_port: int | None
    launcher: str | None
    flags: frozenset[str]
    errors: tuple[CommandLineError, ...]


class ColossalAICommand(NamedTuple):
    """A parsed colossalai run command line; None is not given, or unknown offline.

    ``extra_pieces`` are the parts of ``--extra_launch_args``, one for each further option of torchrun.
    """

    command_line: CommandLine
    hosts: tuple[str, ...]
    hostfile: str | None
    include: str | None
    exclude: str | None
    nodes: int | None
    processes: int | None
    master_addr: str | None
    master_port: int | None
    module: str | None
    extra_pieces: tuple[Word, ...]
    errors: tuple[CommandLineError, ...]


class MpirunCommand(NamedTuple):
    """A parsed mpirun command line; None is not given, or unknown offline.

    ``hostfile`` is the text of its option where the value is unknown: such a file is given, too.
    ``exported_variables`` are the names of the variables that are passed to other hosts; ``program_words`` is
    the program with its arguments, the first if the line starts several. ``implementations`` are those that
    accept the line, ``repeated_options`` the options that were given before.
    """

    command_line: CommandLine
    processes: int | None
    per_node: int | None
    hostfile: str | None
    hosts: tuple[str, ...]
    exported_variables: tuple[str, ...]
    mca_parameters: dict[str, str]
    allows_root: bool
    program_words: tuple[Word, ...]
    errors: tuple[CommandLineError, ...]
    implementations: tuple[str, ...] = ()
    repeated_options: tuple[ParsedOption, ...] = ()


class HorovodrunCommand(NamedTuple):
    """A parsed horovodrun command line; None is not given, or unknown offline.

    ``is_elastic``: the number of processes changes with the hosts that ``discovery_script`` prints.
    ``is_gloo``: it starts the processes itself, over ssh; otherwise mpirun does where Horovod was built with
    MPI. ``mpirun_words`` are then the arguments of mpirun, without the variables and network interfaces, and
    with a hostfile in place of the hosts in it. They are empty for a line that is elastic or has errors.
    """

    command_line: CommandLine
    processes: int | None
    hosts: str | None
    hostfile: str | None
    discovery_script: str | None
    program_words: tuple[Word, ...]
    errors: tuple[CommandLineError, ...]
    is_elastic: bool = False
    is_gloo: bool = False
    mpirun_words: tuple[Word, ...] = ()

    @property
    def has_hosts(self) -> bool:
        """Whether it gets hosts; without, all processes start on its own."""
        options = self.command_line.options
        return not options.keys().isdisjoint(HOROVODRUN_HOST_OPTIONS)


ParsedCommand = (
    TorchrunCommand
    | DeepSpeedCommand
    | AccelerateCommand
    | MpirunCommand
    | ColossalAICommand
    | HorovodrunCommand
)
