"""mpirun in the command lines of a job: variables of another release, missing hosts, missing slots.

Sources: docs/evidence/mpirun.md#variables-of-release-5, docs/evidence/mpirun.md#hosts,
docs/evidence/mpirun.md#slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.indexed_text import Listing, RepeatedLine
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.commands import HorovodrunCommand, MpirunCommand
from podplan.launchers.mpirun import needs_two_dashes
from podplan.launchers.sshd import starts_sshd
from podplan.lint.analysis.jobs import find_written_path, has_trait
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

# Open MPI 5 starts processes with PRRTE, which has its own parameters.
_OPEN_MPI_4_VARIABLE = compile_lazily(r"OMPI_MCA_(?:orte_\w+|plm_rsh_\w+)")
_REPLACEMENTS = {
    "OMPI_MCA_orte_default_hostfile": "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_set_default_slots": "PRTE_MCA_prte_set_default_slots",
    "OMPI_MCA_plm_rsh_args": "PRTE_MCA_plm_ssh_args",
    "OMPI_MCA_plm_rsh_agent": "PRTE_MCA_plm_ssh_agent",
}
_VERSION_PATTERN = compile_lazily(r"(?:open-?mpi|ompi)[-_:/]?v?(\d+)(?:\.\d+)*")
_PRRTE_RELEASE = 5  # the first release that starts processes with prted instead of orted
_HOSTFILE_PATH: Path = ("data", "hostfile")
_SLOTS_PATH: Path = ("spec", "slotsPerWorker")
SLOTS_PATTERN = compile_lazily(r" slots=([0-9]+)\s*$")
HOSTFILE_VARIABLE = compile_lazily(
    r"(?:OMPI_MCA_orte|PRTE_MCA_prte)_default_hostfile|(?:I_MPI_)?HYDRA_HOST_FILE"
)


@check(requires=("mpirun",))
def openmpi5_env(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables that Open MPI 5 does not read; values ``name``, ``version``, ``instead``."""
    for launch, facts in _iter_mpirun_launches(target.job):
        versions = _VERSION_PATTERN.findall(get_text(launch.container, "image").lower())
        if not versions or int(versions[-1]) < 5:
            continue
        if has_trait(target.job, "hostfile"):
            yield from _find_ignored_hostfile(launch, facts, versions[-1])
            continue
        for index, entry in get_entries(launch.container, "env"):
            name = get_text(entry, "name")
            if _OPEN_MPI_4_VARIABLE.fullmatch(name):
                values = {
                    "name": name,
                    "version": versions[-1],
                    "instead": _REPLACEMENTS.get(name, "the variable PRTE_MCA_…"),
                }
                path = (*launch.path, "env", index, "name")
                yield Violation(path, values, doc=launch.group.doc, group=launch.group)


@check(requires=("mpirun",))
def single_dash_option(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Options of one dash that Open MPI 5 does not know; values ``option``, ``version``, ``instead``."""
    for launch, facts in _iter_mpirun_launches(target.job):
        for error in facts.errors:
            if needs_two_dashes(error.word):
                option = error.word.text.partition("=")[0]
                values = {"option": option, "version": "5", "instead": f"-{option}"}
                path = launch.locate_word(error.word)
                yield Violation(path, values, doc=launch.group.doc, group=launch.group)


@check(requires=("mpirun",))
def open_mpi_releases_differ(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """mpirun and workers with different major releases. Values: ``launcher``, ``daemon``, ``workers``."""
    for launch, _facts in _iter_mpirun_launches(target.job):
        own = _read_major_release(launch.container)
        for group in target.job.pods:
            container = find_training_container(group)
            if own is None or group is launch.group or container is None:
                continue
            other = _read_major_release(container[1])
            if other is None or (own < _PRRTE_RELEASE) == (other < _PRRTE_RELEASE):
                continue
            values = {
                "launcher": own,
                "daemon": "orted" if own < _PRRTE_RELEASE else "prted",
                "workers": other,
            }
            related = [(group.doc, (*container[0], "image"), "the image of the workers")]
            path = (*launch.path, "image")
            yield Violation(path, values, related, doc=launch.group.doc, group=launch.group)


def _read_major_release(container: Mapping[str, Any]) -> int | None:
    """Return the major release of Open MPI in the image of a container."""
    versions = _VERSION_PATTERN.findall(get_text(container, "image").lower())
    return int(versions[-1]) if versions else None


def _find_ignored_hostfile(
    launch: ContainerLaunch, facts: MpirunCommand, version: str
) -> Iterator[Violation]:
    """Yield the hostfile of the controller if neither the command line nor a release 5 variable names one."""
    name, variables = "OMPI_MCA_orte_default_hostfile", launch.invocation.variables
    has_hosts = bool(facts.hosts) or facts.hostfile is not None or not facts.command_line.is_certain
    if name in variables and _REPLACEMENTS[name] not in variables and not has_hosts:
        values = {"name": name, "version": version, "instead": _REPLACEMENTS[name]}
        path = launch.locate_word(launch.invocation.program_word)
        yield Violation(path, values, doc=launch.group.doc, group=launch.group)


@check(requires=("mpirun", "horovodrun"))
def mpirun_without_hosts(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """mpirun without hosts, in a job with Pods that wait for it; values ``launcher``, ``waiting``,
    ``option``."""
    job = target.job
    for launch in find_launches(job):
        facts = launch.invocation.parsed
        if not isinstance(facts, MpirunCommand | HorovodrunCommand) or _has_hosts(launch, facts):
            continue
        waiting = _count_sshd_pods(job) - (launch.group.replicas if _runs_sshd(launch.group) else 0)
        if waiting and facts.command_line.is_certain and launch.group.replicas == 1:
            path = launch.locate_word(launch.invocation.program_word)
            values = {
                "launcher": launch.invocation.launcher,
                "waiting": format_count(waiting, "Pod"),
                "option": "--host" if isinstance(facts, MpirunCommand) else "-H",
            }
            yield Violation(path, values, doc=launch.group.doc, group=launch.group)


def _has_hosts(launch: ContainerLaunch, facts: MpirunCommand | HorovodrunCommand) -> bool:
    """Whether a line or a variable that its launcher reads names hosts."""
    if isinstance(facts, HorovodrunCommand):
        return facts.has_hosts or bool(facts.errors)
    variables = launch.invocation.variables
    return bool(facts.hosts) or facts.hostfile is not None or any(map(HOSTFILE_VARIABLE.fullmatch, variables))


@check(requires=("mpirun", "horovodrun"))
def too_few_slots(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """More processes than the hosts have slots; values ``processes`` and ``slots``."""
    for launch in find_launches(target.job):
        facts = launch.mpirun
        if facts is None:
            continue
        options = facts.command_line.options
        oversubscribes = any(
            "oversubscribe" in f"{name} {option.value}".lower()
            for name, option in (*options.items(), *launch.invocation.options.items())
        )
        oversubscribes = oversubscribes or any(
            "oversubscribe" in name for name in (*facts.mca_parameters, *launch.invocation.variables)
        )
        if facts.processes is None or oversubscribes:
            continue
        if not facts.hosts and (has_trait(target.job, "hostfile") or has_trait(target.job, "runtime")):
            yield from _find_missing_slots(target.job, launch, facts)
        if not facts.hosts or facts.hostfile is not None or not options["host"].is_known:
            continue
        slots = [host.partition(":")[2] or "1" for host in facts.hosts]
        if not all(slot.isdigit() for slot in slots) or "$" in "".join(facts.hosts):
            continue
        slot_count = sum(map(int, slots))
        if facts.processes > slot_count:
            values = {"processes": facts.processes, "slots": format_count(slot_count, "slot")}
            related = (
                launch.group.doc,
                launch.locate_word(options["host"].word),
                format_count(slot_count, "slot"),
            )
            path = launch.locate_word(options["np"].word)
            yield Violation(path, values, [related], doc=launch.group.doc, group=launch.group)


def _find_missing_slots(
    job: LoweredJob, launch: ContainerLaunch, facts: MpirunCommand
) -> Iterator[Violation]:
    """Find more processes than slots in the hostfile of the controller."""
    slot_count = _count_hostfile_slots(job)
    is_that_file = facts.hostfile in (None, launch.invocation.variables.get("OMPI_MCA_orte_default_hostfile"))
    if slot_count is None or facts.processes is None or job.cr is None or not is_that_file:
        return
    if facts.processes > slot_count:
        slots = format_count(slot_count, "slot")
        doc, slots_path = _find_slots(job)
        related = (doc, slots_path, f"{slots} in the hostfile")
        path = launch.locate_word(facts.command_line.options["np"].word)
        values = {"processes": facts.processes, "slots": slots}
        yield Violation(path, values, [related], doc=launch.group.doc, group=launch.group)


def _find_slots(job: LoweredJob) -> tuple[TracedDocument, Path]:
    """Return where the slots of each host are written: in the CR, or in its runtime."""
    assert job.cr is not None
    runtime = next(iter(job.references.values()), None)
    trainer = get_mapping(get_mapping(job.cr.data, "spec"), "trainer")
    if "numProcPerNode" in trainer:
        return job.cr, ("spec", "trainer", "numProcPerNode")
    if runtime is not None and has_trait(job, "runtime"):
        return runtime.doc, find_written_path(runtime.doc.data, "spec", "mlPolicy", "mpi", "numProcPerNode")
    return job.cr, find_written_path(job.cr.data, *_SLOTS_PATH)


@cache_latest
def _count_hostfile_slots(job: LoweredJob) -> int | None:
    """Return the slots in the hostfile of the controller; None if it has no Open MPI syntax."""
    lines = [(SLOTS_PATTERN.search(line), replicas) for line, replicas in read_hostfile(job)]
    is_complete = bool(lines) and all(match for match, _ in lines)
    return sum(int(match[1]) * replicas for match, replicas in lines if match) if is_complete else None


def read_hostfile(job: LoweredJob) -> list[tuple[str, int]]:
    """Return the lines of the hostfile of the controller, each with the number of replicas that have it."""
    for group in job.groups:
        listing = group.doc.replica_texts.get(_HOSTFILE_PATH)
        if isinstance(listing, Listing):
            return [
                (piece.line.text_at(piece.start), piece.replicas)
                if isinstance(piece, RepeatedLine)
                else (str(piece), 1)
                for piece in listing.pieces
            ]
    return []


def _iter_mpirun_launches(job: LoweredJob) -> Iterator[tuple[ContainerLaunch, MpirunCommand]]:
    for launch in find_launches(job):
        facts = launch.invocation.parsed
        if isinstance(facts, MpirunCommand):
            yield launch, facts


@cache_latest
def _count_sshd_pods(job: LoweredJob) -> int:
    """Return how many Pods run sshd."""
    return sum(group.replicas for group in job.pods if _runs_sshd(group))


def _runs_sshd(group: Any) -> bool:
    containers = get_entries(get_mapping(group.doc.data, "spec"), "containers")
    return any(starts_sshd(each) for _, each in containers)
