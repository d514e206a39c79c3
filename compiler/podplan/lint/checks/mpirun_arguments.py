"""Options of mpirun that hide a failure, that the controller sets already, or that its library lacks.

Sources: docs/evidence/mpirun.md#recovery, docs/evidence/t9k-mpijob.md#options-of-mpirun,
docs/evidence/mpirun.md#options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_text
from podplan.launchers.commands import MpirunCommand
from podplan.launchers.mpirun import parse_line, select_grammars
from podplan.launchers.mpirun_options import GRAMMARS, OPEN_MPI_5
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, spec_of
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.mpi_libraries import LIBRARIES
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

DEFAULT_IMPLEMENTATION = "OpenMPI"
_RECOVERY_OPTIONS = ("enable_recovery", "max_restarts")
_HOSTS_OPTIONS = {"hostfile": "the hosts", "host": "the hosts"}


@check(requires=("mpirun",))
def recovery_hides_failure(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Recovery, with which mpirun of release 4 returns 0 although a process failed. Value ``option``."""
    for launch, facts in _iter_lines(target.job):
        if select_grammars(launch.invocation.program_word, get_text(launch.container, "image")) == (
            OPEN_MPI_5,
        ):
            continue
        given = [
            facts.command_line.options[name]
            for name in _RECOVERY_OPTIONS
            if name in launch.invocation.options
        ]
        if given:
            path = launch.locate_word(given[0].flag)
            yield Violation(path, {"option": given[0].flag.text}, doc=launch.group.doc, group=launch.group)


@check(requires=("mpirun",))
def option_of_controller(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Options that the controller sets already. Values ``option``, ``what``."""
    for launch, facts in _iter_lines(target.job):
        if not has_trait(target.job, "mpirun-by-controller"):
            return
        given = [
            (option, what)
            for name, what in _HOSTS_OPTIONS.items()
            if (option := launch.invocation.options.get(name))
        ]
        given += [
            (option, "the installation path") for option in facts.repeated_options if option.name == "prefix"
        ]
        for option, what in given:
            values = {"option": option.flag.text, "what": what}
            path = launch.locate_word(option.flag)
            yield Violation(path, values, doc=launch.group.doc, group=launch.group)


@check(requires=("mpirun",))
def options_of_other_implementation(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A line for another MPI library than the CR states. Values ``option``, ``given``, ``stated``."""
    spec = spec_of(target.job)
    stated = get_text(spec, "mpiImplementation") or DEFAULT_IMPLEMENTATION
    names = LIBRARIES.get(stated, ())
    for launch, facts in _iter_lines(target.job) if names else ():
        if not facts.implementations or not set(names).isdisjoint(facts.implementations):
            continue
        word, words = launch.invocation.program_word, launch.invocation.words
        grammar = next(grammar for grammar in GRAMMARS if grammar.name in names)
        errors = parse_line(grammar, words, word).errors
        if errors:
            values = {"option": errors[0].word.text, "given": facts.implementations[0], "stated": stated}
            path = ("spec", "mpiImplementation")
            related = [(target.doc, path, "the MPI library")] if "mpiImplementation" in spec else []
            place = launch.locate_word(errors[0].word)
            yield Violation(place, values, related, doc=launch.group.doc, group=launch.group)


def _iter_lines(job: LoweredJob) -> Iterator[tuple[ContainerLaunch, MpirunCommand]]:
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        if isinstance(launch.invocation.parsed, MpirunCommand):
            yield launch, launch.invocation.parsed
