"""Parses ``horovodrun``: processes, hosts, and the line of mpirun that it becomes.

Source: docs/evidence/mpirun.md#horovodrun, and the answers of release 0.28.1 in fixtures/launchers.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.lazy_regex import compile_lazily
from podplan.launchers.argparse import parse_command_line
from podplan.launchers.arguments import CommandLine, OptionGrammar, parse_option_table
from podplan.launchers.commands import HOROVODRUN_HOST_OPTIONS, HorovodrunCommand, MpirunCommand
from podplan.launchers.mpirun import parse_mpirun
from podplan.launchers.quoting import resplit_line
from podplan.launchers.words import CommandLineError, EnvVariables, Word

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
        --network-interface text
        --output-filename text
        --verbose flag
        --config-file text
        -p --ssh-port int
        -i --ssh-identity-file text
        --fusion-threshold-mb int
        --cycle-time-ms float
        --cache-capacity int
        --hierarchical-allreduce flag
        --no-hierarchical-allreduce flag
        --hierarchical-allgather flag
        --no-hierarchical-allgather flag
        --torus-allreduce flag
        --no-torus-allreduce flag
        --autotune flag
        --no-autotune flag
        --autotune-log-file text
        --autotune-warmup-samples int
        --autotune-steps-per-sample int
        --autotune-bayes-opt-max-samples int
        --autotune-gaussian-process-noise float
        --min-np --min-num-proc int
        --max-np --max-num-proc int
        --slots-per-host int
        --elastic-timeout int
        --reset-limit int
        --blacklist-cooldown-range int*2
        --timeline-filename text
        --timeline-mark-cycles flag
        --no-timeline-mark-cycles flag
        --no-stall-check flag
        --stall-check flag
        --stall-check-warning-time-seconds int
        --stall-check-shutdown-time-seconds int
        --mpi-threads-disable flag
        --no-mpi-threads-disable flag
        --mpi-args text
        --tcp flag
        --binding-args text
        --num-nccl-streams int
        --thread-affinity int
        --gloo-timeout-seconds int
        --log-level TRACE|DEBUG|INFO|WARNING|ERROR|FATAL
        --log-with-timestamp flag
        --log-without-timestamp flag
        -prefix-timestamp --prefix-output-with-timestamp flag
        --log-hide-timestamp flag
        --no-log-hide-timestamp flag
        -H --hosts text
        -hostfile --hostfile text
        --host-discovery-script text
        --gloo flag
        --mpi flag
        --jsrun flag
        """)
    ),
)
# Of each line only one may be given.
_ALTERNATIVES = (
    HOROVODRUN_HOST_OPTIONS,
    ("gloo", "mpi", "jsrun"),
    ("hierarchical_allreduce", "no_hierarchical_allreduce"),
    ("hierarchical_allgather", "no_hierarchical_allgather"),
    ("torus_allreduce", "no_torus_allreduce"),
    ("autotune", "no_autotune"),
    ("timeline_mark_cycles", "no_timeline_mark_cycles"),
    ("no_stall_check", "stall_check"),
    ("mpi_threads_disable", "no_mpi_threads_disable"),
    (
        "log_with_timestamp",
        "log_without_timestamp",
        "prefix_output_with_timestamp",
        "log_hide_timestamp",
        "no_log_hide_timestamp",
    ),
)
_NOT_NEGATIVE = (
    "fusion_threshold_mb",
    "cycle_time_ms",
    "cache_capacity",
    "autotune_warmup_samples",
    "autotune_steps_per_sample",
    "autotune_bayes_opt_max_samples",
    "autotune_gaussian_process_noise",
    "stall_check_warning_time_seconds",
    "stall_check_shutdown_time_seconds",
)
_INFORMATIVE = frozenset(("help", "version", "check_build"))
_HOST = compile_lazily(r"[\w.-]+:[0-9]+")
_BINDING_OPTIONS = "-bind-to none -map-by slot"
_MPIRUN_OPTIONS = "-mca pml ob1 -mca btl ^openib"


def parse_horovodrun(words: tuple[Word, ...], launcher_word: Word) -> HorovodrunCommand:
    """Parse a horovodrun command line after the name of the program."""
    command_line = parse_command_line(GRAMMAR, words, launcher_word)
    if "check_build" in command_line.options and command_line.script is None:
        errors = tuple(error for error in command_line.errors if error.word is not launcher_word)
        command_line = command_line._replace(errors=errors)
    elif command_line.is_certain and not command_line.errors:
        command_line = command_line._replace(errors=tuple(_iter_errors(command_line, launcher_word)))
    program_words = (command_line.script, *command_line.arguments) if command_line.script is not None else ()
    options = command_line.options
    is_elastic = "host_discovery_script" in options or "min_np" in options
    is_gloo = is_elastic or "gloo" in options
    return HorovodrunCommand(
        command_line,
        command_line.get_number("num_proc"),
        command_line.get_value("hosts"),
        command_line.get_value("hostfile"),
        command_line.get_value("host_discovery_script"),
        program_words,
        command_line.errors,
        is_elastic,
        is_gloo,
        ()
        if is_elastic or command_line.errors
        else tuple(_iter_mpirun_words(command_line, program_words, launcher_word)),
    )


def read_as_mpirun(
    command: HorovodrunCommand, launcher_word: Word, variables: EnvVariables
) -> MpirunCommand | None:
    """Return the line of mpirun that starts the same processes; None without one."""
    if not command.mpirun_words:
        return None
    return parse_mpirun(command.mpirun_words, launcher_word._replace(text="orterun"), variables)


def split_hosts(hosts: str) -> dict[str, int] | None:
    """Return the slots of each host in ``HOST:SLOTS,…``; None if horovodrun cannot read it."""
    entries = [entry.strip() for entry in hosts.split(",")]
    if not all(map(_HOST.fullmatch, entries)):
        return None
    return {name: int(slots[:9]) for name, slots in (entry.split(":") for entry in entries)}


def _iter_errors(command_line: CommandLine, launcher_word: Word) -> Iterator[CommandLineError]:
    """Yield the errors that concern several words, in the order in which horovodrun finds them."""
    options = command_line.options
    for names in _ALTERNATIVES:
        given = [options[name] for name in names if name in options]
        for option in given[1:]:
            message = f"horovodrun accepts only one of {given[0].flag.text} and {option.flag.text}"
            yield CommandLineError(option.flag, message)
    if not _INFORMATIVE.isdisjoint(options):
        return
    if "num_proc" not in options:
        yield CommandLineError(launcher_word, "horovodrun needs -np")
    for name in _NOT_NEGATIVE:
        value = command_line.get_value(name)
        if value is not None and not 0 <= float(value) <= (1 if name.endswith("noise") else float("inf")):
            yield CommandLineError(options[name].word, f"{options[name].flag.text} is out of range: {value}")
    count = command_line.get_number("num_proc")
    has_no_hosts = options.keys().isdisjoint(HOROVODRUN_HOST_OPTIONS)
    if count is not None and count < 0 and has_no_hosts:
        message = f"{options['num_proc'].flag.text} must not be negative"
        yield CommandLineError(options["num_proc"].word, message)
    hosts = command_line.get_value("hosts")
    slots = split_hosts(hosts) if hosts is not None else None
    if hosts is not None and slots is None:
        message = f'each host must have its slots, as in host:2, not "{hosts}"'
        yield CommandLineError(options["hosts"].word, message)
    if "min_np" in options and (has_no_hosts or (slots is not None and len(slots) == 1)):
        message = f"{options['min_np'].flag.text} needs two hosts or --host-discovery-script"
        yield CommandLineError(options["min_np"].flag, message)


def _iter_mpirun_words(
    command_line: CommandLine, program_words: tuple[Word, ...], launcher_word: Word
) -> Iterator[Word]:
    """The arguments of mpirun of Open MPI; a word of the line stays where it is."""
    options, count = command_line.options, command_line.get_number("num_proc")
    if count is None:
        return
    processes = options["num_proc"].word._replace(text=str(count))
    option = launcher_word._replace
    yield from (
        option(text="--allow-run-as-root"),
        option(text="--tag-output"),
        option(text="-np"),
        processes,
    )
    hosts = next((options[name] for name in ("hosts", "hostfile") if name in options), None)
    if hosts is None:
        yield from (option(text="-H"), option(text=f"localhost:{processes.text}"))
    else:
        value = hosts.text if hosts.value is None else hosts.value
        yield from (
            option(text="-H" if hosts.name == "hosts" else "--hostfile"),
            hosts.word._replace(text=value),
        )
    binding = options.get("binding_args")
    if binding is None or not binding.value:
        yield from (option(text=text) for text in _BINDING_OPTIONS.split())
    else:
        yield from (binding.word._replace(text=word.text) for word in resplit_line(binding.value).words)
    yield from (option(text=text) for text in _MPIRUN_OPTIONS.split())
    yield from program_words
