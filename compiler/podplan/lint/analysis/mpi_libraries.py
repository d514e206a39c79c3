"""The MPI libraries that mpirun of a job may be from, by the mpiImplementation of its CR."""

from __future__ import annotations

from podplan.kubernetes.accessors import get_text
from podplan.launchers.commands import MpirunCommand
from podplan.launchers.words import CommandLineError
from podplan.lint.analysis.jobs import spec_of
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.target import LoweredJob

# Intel MPI and MPICH have the same launcher, hydra, with other options of their own.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "OpenMPI": ("Open MPI 4.1", "Open MPI 5.0"),
    "Intel": ("Intel MPI", "MPICH"),
    "MPICH": ("MPICH", "Intel MPI"),
}


def find_line_errors(job: LoweredJob, launch: ContainerLaunch) -> tuple[CommandLineError, ...]:
    """Return the errors of the line of a launcher; for an mpirun that every library refuses, those of the
    library that the CR states."""
    invocation = launch.invocation
    parsed = invocation.parsed
    names = LIBRARIES.get(get_text(spec_of(job), "mpiImplementation"), ())
    if not (names and invocation.errors and isinstance(parsed, MpirunCommand)) or parsed.implementations:
        return invocation.errors
    from podplan.launchers.mpirun import parse_line, select_grammars

    word = invocation.program_word
    grammars = {
        grammar.name: grammar for grammar in select_grammars(word, get_text(launch.container, "image"))
    }
    stated = next((grammars[name] for name in names if name in grammars), None)
    return invocation.errors if stated is None else tuple(parse_line(stated, invocation.words, word).errors)
