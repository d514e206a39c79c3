"""Transports of Open MPI that do not reach processes on other hosts.

Processes on different hosts need a BTL such as tcp, unless a PML with a network of its own carries the
messages.
Sources: https://www.open-mpi.org/faq/?category=tcp, https://www.open-mpi.org/faq/?category=vader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.launchers.commands import MpirunCommand
from podplan.lint.analysis.jobs import find_replica_places, is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch, find_launches, find_variable_path
from podplan.lint.analysis.mpirun_fields import find_parameter_place
from podplan.lint.analysis.pod_hosts import read_hostfile
from podplan.lint.checks.networks import find_rdma_device
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_WITHIN_HOST = frozenset(("self", "sm", "smcuda", "vader"))
_PREFIX = "OMPI_MCA_"
_OF_BTLS = "ob1"  # the PML that sends by the BTLs


@check(requires=("mpirun", "horovodrun"))
def transport_within_host(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A list of BTLs with which processes on several hosts do not reach each other.

    Values: ``btl``, ``hosts``.
    """
    job = target.job
    for launch, facts, btl, pml in _iter_transports(job):
        hosts = _count_hosts(job, facts)
        if hosts < 2:
            continue
        if (pml != _OF_BTLS or btl.startswith("^")) and _may_have_other_network(job):
            continue
        listed = {name.strip() for name in btl.removeprefix("^").split(",")}
        if ("tcp" in listed and pml == _OF_BTLS) if btl.startswith("^") else listed <= _WITHIN_HOST:
            values = {"btl": btl, "hosts": format_count(hosts, "host")}
            places = find_replica_places(job).items()
            related = [place for name, place in places if name != launch.group.replica_type]
            yield _build_violation(job, launch, btl, values)._replace(related=tuple(related))


@check(requires=("mpirun", "horovodrun"))
def transport_without_self(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A list of BTLs with which no process reaches itself. Values: ``btl``."""
    job = target.job
    for launch, _facts, btl, pml in _iter_transports(job):
        listed = {name.strip() for name in btl.split(",")}
        is_needed = pml == _OF_BTLS or not _may_have_other_network(job)
        if not btl.startswith("^") and "self" not in listed and is_needed:
            yield _build_violation(job, launch, btl, {"btl": btl})


def _iter_transports(job: LoweredJob) -> Iterator[tuple[ContainerLaunch, MpirunCommand, str, str]]:
    """Yield the lines of mpirun with a list of BTLs that is used, and their PML, "" for the default."""
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        facts = launch.mpirun
        if facts is None or facts.errors or not facts.command_line.is_certain:
            continue
        btl, pml = _read_parameter(launch, facts, "btl"), _read_parameter(launch, facts, "pml")
        if btl and pml in ("", _OF_BTLS):
            yield launch, facts, btl, pml


def _build_violation(
    job: LoweredJob, launch: ContainerLaunch, btl: str, values: Mapping[str, str]
) -> Violation:
    doc, path = find_parameter_place(job, "btl") or (launch.group.doc, _locate(launch, btl))
    return Violation(path, values, doc=doc, group=launch.group if doc is launch.group.doc else None)


def _read_parameter(launch: ContainerLaunch, facts: MpirunCommand, name: str) -> str:
    """Return an MCA parameter of the line, else of the environment; "" if none sets it."""
    stated = facts.mca_parameters.get(name)
    return stated if stated is not None else launch.invocation.variables.get(f"{_PREFIX}{name}") or ""


def _count_hosts(job: LoweredJob, facts: MpirunCommand) -> int:
    """Return how many hosts get processes; 0 if that is unknown."""
    listed = read_hostfile(job)
    hosts = len(set(facts.hosts)) or sum(each.replicas for each in listed)
    per_host = facts.per_node or max((each.slots or 1 for each in listed), default=1)
    return hosts if facts.processes is None or facts.processes > per_host else 0


def _may_have_other_network(job: LoweredJob) -> bool:
    """Whether Pods may have a network that a PML or MTL uses without a BTL, such as InfiniBand."""
    for group in job.pods:
        spec = get_mapping(group.doc.data, "spec")
        if spec.get("hostNetwork") is True:
            return True
        for _, container in get_entries(spec, "containers"):
            context = get_mapping(container, "securityContext")
            if find_rdma_device(container) is not None or context.get("privileged") is True:
                return True
    return False


def _locate(launch: ContainerLaunch, value: str) -> Path:
    """Return the place of the value in the line, or of the variable that has it."""
    word = next((one for one in launch.invocation.words if one.text == value), None)
    path = find_variable_path(launch, f"{_PREFIX}btl") if word is None else None
    return path or launch.locate_word(word or launch.invocation.program_word)
