"""mpirun of Open MPI as root, which needs an option or two variables.

Both variables have to be 1.
Source: https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html#running-as-root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping
from podplan.launchers.commands import MpirunCommand
from podplan.launchers.words import EnvVariables
from podplan.lint.analysis.jobs import has_trait, spec_of
from podplan.lint.analysis.launches import ContainerLaunch, find_launches, find_variable_path
from podplan.lint.analysis.mpirun_fields import list_option_places
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_ROOT_HOME = "/root"  # by default the keys are mounted below it
_PREFIXES = ("OMPI", "PRTE")  # the second belongs to PRRTE, which starts processes in Open MPI 5


@check(requires=("mpirun",))
def mpirun_as_root(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """One of the two variables without the other, or with a value other than 1.

    Values: ``what``, ``name``.
    """
    for launch in find_launches(subject.job):
        facts = launch.invocation.parsed
        if (
            not isinstance(facts, MpirunCommand)
            or "allow_run_as_root" in facts.command_line.options
            or not facts.command_line.is_certain
        ):
            continue
        if not _may_be_root(launch):
            continue
        variables = launch.invocation.variables
        names = [
            (f"{prefix}_ALLOW_RUN_AS_ROOT", f"{prefix}_ALLOW_RUN_AS_ROOT_CONFIRM") for prefix in _PREFIXES
        ]
        if any(all(variables.get(name, "") in ("1", None) for name in pair) for pair in names):
            continue
        for pair in names:
            fault = _fault(pair, variables)
            if fault is not None:
                path = find_variable_path(launch, fault.place) or launch.locate_word(
                    launch.invocation.program_word
                )
                related = [(launch.group.doc, launch.locate_word(launch.invocation.program_word), "mpirun")]
                values = {"what": fault.what, "name": fault.name}
                yield Violation(path, values, related, doc=launch.group.doc, group=launch.group)


@check(requires=("mpirun",))
def root_without_flag(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """mpirun of Open MPI in a container that runs as root, and nothing that allows it. No values."""
    spec = get_mapping(subject.job.cr.data, "spec") if subject.job.cr is not None else {}
    if spec.get("mpiImplementation", "OpenMPI") != "OpenMPI":
        return
    for launch in find_launches(subject.job):
        facts, variables = launch.invocation.parsed, launch.invocation.variables
        if not isinstance(facts, MpirunCommand) or not facts.command_line.is_certain or facts.errors:
            continue
        if launch.invocation.started_by:  # started by another mpirun, which mpirun-in-mpirun reports
            continue
        is_allowed = "allow_run_as_root" in facts.command_line.options or any(
            name.endswith(("_ALLOW_RUN_AS_ROOT", "_ALLOW_RUN_AS_ROOT_CONFIRM")) for name in variables
        )
        if _is_root(subject.job, launch) and not is_allowed and not launch.container.get("envFrom"):
            path = launch.locate_word(launch.invocation.program_word)
            related = list_option_places(subject.job)
            yield Violation(path, {}, related, doc=launch.group.doc, group=launch.group)


def _is_root(job: LoweredJob, launch: ContainerLaunch) -> bool:
    """Whether a container runs as root: by its user, or by the home directory with the ssh keys."""
    keys = get_mapping(spec_of(job), "ssh").get("sshAuthMountPath", _ROOT_HOME)
    if has_trait(job, "mpirun-by-controller") and isinstance(keys, str) and _is_of_root(keys):
        return _may_be_root(launch)
    own = get_mapping(launch.container, "securityContext")
    pod = get_mapping(get_mapping(launch.group.doc.data, "spec"), "securityContext")
    return bool({**pod, **own}.get("runAsUser") == 0)


def _is_of_root(keys: str) -> bool:
    """Whether a folder with keys is in the home directory of root."""
    return f"{keys.rstrip('/')}/".startswith(f"{_ROOT_HOME}/")


class VariableError(NamedTuple):
    """An error of the two variables: its text, the variable at which to report it, and the one to set."""

    what: str
    place: str
    name: str


def _fault(pair: tuple[str, str], variables: EnvVariables) -> VariableError | None:
    """Return the error of a pair of variables of which not both are 1; None if neither is set."""
    given = [name for name in pair if name in variables]
    for name in given:
        if variables[name] not in (None, "1"):
            return VariableError(f'{name} is "{variables[name]}", but only 1 counts', name, name)
    if not given:
        return None
    missing = pair[1] if given[0] == pair[0] else pair[0]
    return VariableError(f"{given[0]} is set but {missing} is not", given[0], missing)


def _may_be_root(launch: ContainerLaunch) -> bool:
    """Whether the container may run as root: the Pod names no other user."""
    own = get_mapping(launch.container, "securityContext")
    pod = get_mapping(get_mapping(launch.group.doc.data, "spec"), "securityContext")
    context = {**pod, **own}
    return not context.get("runAsUser") and context.get("runAsNonRoot") is not True
