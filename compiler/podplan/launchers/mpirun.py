"""Parses mpirun and mpiexec, in the spellings of Open MPI, Intel MPI and MPICH.

Source: https://docs.open-mpi.org/en/main/man-openmpi/man1/mpirun.1.html, docs/evidence/mpirun.md. One dash
and two are equivalent. The words after an unknown option are ignored, because it may or may not take a value.
"""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.launchers.arguments import CommandLine, ParsedOption, parse_integer
from podplan.launchers.words import CommandLineError, EnvVariables, Word

# Option -> its name here, and the number of its values.
_RENAMED_OPTIONS = {
    "np": ("np", 1), "n": ("np", 1), "c": ("np", 1),
    "N": ("per_node", 1), "npernode": ("per_node", 1), "ppn": ("per_node", 1), "perhost": ("per_node", 1),
    "hostfile": ("hostfile", 1), "machinefile": ("hostfile", 1), "f": ("hostfile", 1),
    "default-hostfile": ("hostfile", 1), "H": ("host", 1), "host": ("host", 1), "hosts": ("host", 1),
    "x": ("export", 1), "genv": ("export", 2), "env": ("export", 2), "genvlist": ("export_list", 1),
    "mca": ("mca", 2), "gmca": ("mca", 2), "prtemca": ("mca", 2), "pmixmca": ("mca", 2),
}  # fmt: skip
_ONE_VALUE_OPTIONS = """
    am bind-to map-by rank-by wd wdir path prefix output-filename rankfile rf report-pid report-uri slot-list
    stdin timeout tune personality rank-constraints runtime-options output display dvm launcher bootstrap
"""
_FLAG_OPTIONS = """
    allow-run-as-root oversubscribe nooversubscribe use-hwthread-cpus bind-to-core bind-to-socket bind-to-none
    bynode byslot tag-output timestamp-output report-bindings display-map display-allocation nolocal q quiet
    enable-recovery disable-recovery do-not-launch v verbose d debug-daemons novm forward-signals genvall l
    prepend-rank get-stack-traces merge-stderr-to-stdout xterm show-progress
"""
OPTION_TABLE: dict[str, tuple[str, int]] = {
    **_RENAMED_OPTIONS,
    **{name: (name.replace("-", "_"), 1) for name in _ONE_VALUE_OPTIONS.split()},
    **{name: (name.replace("-", "_"), 0) for name in _FLAG_OPTIONS.split()},
}


class MpirunCommand(NamedTuple):
    """A parsed mpirun command line; None is not given, or unknown offline.

    ``exported_variables`` are the names of the variables that are passed to other hosts; ``program_words`` is
    the program with its arguments.
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


def parse_mpirun(words: tuple[Word, ...], launcher_word: Word, variables: EnvVariables) -> MpirunCommand:
    """Parse an mpirun command line after the name of the program; ``variables`` are those of its
    environment."""
    options: dict[str, ParsedOption] = {}
    exported_variables: list[str] = []
    mca_parameters: dict[str, str] = {}
    errors: list[CommandLineError] = []
    index, is_certain = 0, True
    while index < len(words) and _is_option(words[index]):
        flag = words[index]
        spelling, equals, explicit_value = flag.text.lstrip("-").partition("=")
        name, value_count = OPTION_TABLE.get(spelling, ("", -1))
        if not flag.is_known or value_count < 0:
            is_certain = False
            break
        values = (
            [flag._replace(text=explicit_value)]
            if equals
            else list(words[index + 1 : index + 1 + value_count])
        )
        if len(values) < value_count and not equals:
            errors.append(CommandLineError(flag, f"{flag.text} needs a value"))
            index = len(words)
            break
        last_word = values[-1] if values else flag
        value = last_word.text if values and last_word.is_known else None
        options[name] = ParsedOption(name, value, last_word, flag, not values or last_word.is_known)
        if name == "export":
            exported_variables.append(values[0].text.partition("=")[0])
        elif name == "export_list":
            exported_variables += last_word.text.split(",")
        elif name == "mca" and len(values) == 2:
            mca_parameters[values[0].text] = last_word.text
        elif name in ("np", "per_node") and value is not None and not value.isdigit():
            errors.append(CommandLineError(last_word, f'{flag.text} must be a whole number, not "{value}"'))
        index += 1 + (0 if equals else value_count)
    program_words = words[index:] if is_certain else ()
    if is_certain and not program_words:
        errors.append(CommandLineError(launcher_word, f"{launcher_word.base_name} needs a program to run"))
    command_line = CommandLine(
        options, program_words[0] if program_words else None, program_words[1:], tuple(errors), is_certain
    )
    allows_root = "allow_run_as_root" in options or variables.get("OMPI_ALLOW_RUN_AS_ROOT") == "1"
    return MpirunCommand(
        command_line,
        _get_number(options, "np"),
        _get_number(options, "per_node"),
        options["hostfile"].value if "hostfile" in options else None,
        tuple((options["host"].value or "").split(",")) if "host" in options else (),
        tuple(exported_variables),
        mca_parameters,
        allows_root,
        program_words,
        tuple(errors) if is_certain else (),
    )


def _is_option(word: Word) -> bool:
    return word.text.startswith("-") and len(word.text) > 1


def _get_number(options: dict[str, ParsedOption], name: str) -> int | None:
    value = options[name].value if name in options else None
    return None if value is None else parse_integer(value)
