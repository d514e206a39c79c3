"""horovodrun in jobs whose MPI library refuses its hosts or options, or whose workers it cannot reach.

Sources: docs/evidence/mpirun.md#horovodrun-with-other-mpi-libraries,
docs/evidence/mpirun.md#horovodrun-without-ssh.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_text
from podplan.launchers.commands import HorovodrunCommand
from podplan.launchers.horovodrun import split_hosts
from podplan.launchers.mpirun import needs_two_dashes, parse_line, select_grammars
from podplan.launchers.mpirun_options import OPEN_MPI_5
from podplan.lint.analysis.jobs import is_mode_enabled, spec_of
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.mpi import HOSTFILE_VARIABLE, SLOTS_PATTERN, read_hostfile
from podplan.lint.checks.mpi_workers import WAITING_PROGRAMS, find_other_program, iter_worker_groups
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_HYDRA = {"Intel": "Intel MPI", "MPICH": "MPICH"}


@check(requires=("horovodrun",))
def horovodrun_with_other_mpi(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Lines of mpirun that horovodrun writes and the library of the job refuses. Values ``what``,
    ``instead``."""
    for launch, command in _iter_lines(target.job):
        if command.is_gloo or not command.mpirun_words:
            continue
        word = launch.invocation.program_word._replace(text="mpirun")
        errors = parse_line(OPEN_MPI_5, command.mpirun_words, word).errors
        refused = next((error.word for error in errors if needs_two_dashes(error.word)), None)
        library = _HYDRA.get(get_text(spec_of(target.job), "mpiImplementation"))
        hosts = split_hosts(command.hosts or "") or {}
        if library is not None and len(set(hosts.values())) > 1:
            values = {
                "what": f"with {library} all hosts must have the same number of slots",
                "instead": "the same number of slots after each host, or --gloo",
            }
            path = launch.locate_word(command.command_line.options["hosts"].word)
        elif (
            library is None
            and refused is not None
            and select_grammars(word, get_text(launch.container, "image")) == (OPEN_MPI_5,)
        ):
            values = {
                "what": f"it passes {refused.text} to mpirun, which Open MPI 5 refuses with a single dash",
                "instead": '--binding-args="--bind-to none --map-by slot", or --gloo',
            }
            path = launch.locate_word(refused)
        else:
            continue
        yield Violation(path, values, doc=launch.group.doc, group=launch.group)


@check(requires=("horovodrun",))
def horovodrun_hostfile(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A hostfile of the controller that horovodrun cannot read. Values ``line``, ``stated``."""
    stated = get_text(spec_of(target.job), "mpiImplementation")
    for launch, command in _iter_lines(target.job):
        variables = launch.invocation.variables
        paths = {value for name, value in variables.items() if HOSTFILE_VARIABLE.fullmatch(name)}
        lines = read_hostfile(target.job) if command.hostfile in paths else []
        unreadable = next((line for line, _replicas in lines if not SLOTS_PATTERN.search(line)), None)
        if unreadable is not None:
            path = launch.locate_word(command.command_line.options["hostfile"].word)
            values = {"line": unreadable.strip(), "stated": stated}
            related = [(target.doc, ("spec", "mpiImplementation"), "the form of the hostfile")]
            yield Violation(path, values, related, doc=launch.group.doc, group=launch.group)


@check()
def horovodrun_without_ssh(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """horovodrun beside workers that only wait, where mpirun connects without ssh. Values: ``program``."""
    waiting = [
        (group, container[0], program)
        for group in iter_worker_groups(target.job)
        if (container := find_training_container(group)) is not None
        and (program := find_other_program(container[1])) in WAITING_PROGRAMS
    ]
    for launch, command in _iter_lines(target.job) if waiting else ():
        if command.has_hosts and not command.errors:
            group, path, program = waiting[0]
            place = launch.locate_word(launch.invocation.program_word)
            related = [(group.doc, path, "the workers")]
            yield Violation(place, {"program": program}, related, doc=launch.group.doc, group=launch.group)


def _iter_lines(job: LoweredJob) -> Iterator[tuple[ContainerLaunch, HorovodrunCommand]]:
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        if isinstance(launch.invocation.parsed, HorovodrunCommand):
            yield launch, launch.invocation.parsed
