"""Options of mpirun that hide a failure, or that a controller gives already.

Sources: docs/evidence/mpirun.md#recovery, docs/evidence/t9k-mpijob.md#options-of-mpirun.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_text
from podplan.launchers.mpirun import MpirunCommand, select_grammars
from podplan.launchers.mpirun_options import OPEN_MPI_5
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_RECOVERY_OPTIONS = ("enable_recovery", "max_restarts")
_HOSTS_OPTIONS = {"hostfile": "the hosts", "host": "the hosts"}


@check()
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


@check()
def option_of_controller(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Options that the controller gives already. Values ``option``, ``what``."""
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


def _iter_lines(job: LoweredJob) -> Iterator[tuple[ContainerLaunch, MpirunCommand]]:
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        if isinstance(launch.invocation.parsed, MpirunCommand):
            yield launch, launch.invocation.parsed
