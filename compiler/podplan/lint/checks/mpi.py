"""mpirun in a GenericJob: variables of another release, hosts that it is not told, slots that there are not.

Sources: docs/evidence/mpirun.md#variables-of-release-5, docs/evidence/mpirun.md#hosts,
docs/evidence/mpirun.md#slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.launchers.mpirun import Mpirun
from podplan.launchers.sshd import starts_sshd
from podplan.lint.analysis.launches import Launch, counted, launches
from podplan.lint.target import Hit, Job, Subject, for_one

# Open MPI 5 starts processes by PRRTE, which has parameters of its own.
_OLD = pattern(r"OMPI_MCA_(?:orte_\w+|plm_rsh_\w+)")
_NEW = {
    "OMPI_MCA_orte_default_hostfile": "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_set_default_slots": "PRTE_MCA_prte_set_default_slots",
    "OMPI_MCA_plm_rsh_args": "PRTE_MCA_plm_ssh_args",
    "OMPI_MCA_plm_rsh_agent": "PRTE_MCA_plm_ssh_agent",
}
_VERSION = pattern(r"(?:open-?mpi|ompi)[-_:/]?v?(\d+)(?:\.\d+)*")
_HOSTS_BY_ENV = pattern(r"(?:OMPI_MCA_orte|PRTE_MCA_prte)_default_hostfile|(?:I_MPI_)?HYDRA_HOST_FILE")


def openmpi5_env(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Variables that Open MPI 5 does not read; values ``name``, ``version``, ``instead``."""
    for launch, _facts in _mpirun(subject.job):
        found = _VERSION.findall(text(launch.container, "image").lower())
        if not found or int(found[-1]) < 5:
            continue
        for at, entry in entries(launch.container, "env"):
            name = text(entry, "name")
            if _OLD.fullmatch(name):
                values = {
                    "name": name,
                    "version": found[-1],
                    "instead": _NEW.get(name, "the variable PRTE_MCA_…"),
                }
                path = (*launch.path, "env", at, "name")
                yield Hit(path, values, doc=launch.group.doc, group=launch.group)


def mpirun_without_hosts(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """mpirun that knows no hosts, beside Pods that wait for it; values ``waiting``."""
    job = subject.job
    for launch, facts in _mpirun(job):
        variables = launch.invocation.variables
        if facts.hosts or facts.hostfile is not None or any(map(_HOSTS_BY_ENV.fullmatch, variables)):
            continue
        waiting = _with_sshd(job) - (launch.group.replicas if _runs_sshd(launch.group) else 0)
        if waiting and facts.line.sure and launch.group.replicas == 1:
            place = launch.place(launch.invocation.word)
            yield Hit(place, {"waiting": counted(waiting, "Pod")}, doc=launch.group.doc, group=launch.group)


def too_few_slots(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """More processes than the hosts have slots; values ``processes`` and ``slots``."""
    for launch, facts in _mpirun(subject.job):
        options = launch.invocation.options
        spread = any("oversubscribe" in f"{name} {option.value}".lower() for name, option in options.items())
        spread = spread or any("oversubscribe" in name for name in (*facts.mca, *launch.invocation.variables))
        if facts.processes is None or not facts.hosts or facts.hostfile is not None or spread:
            continue
        slots = [host.partition(":")[2] or "1" for host in facts.hosts]
        if not all(slot.isdigit() for slot in slots) or "$" in "".join(facts.hosts):
            continue
        total = sum(map(int, slots))
        if facts.processes > total:
            values = {"processes": facts.processes, "slots": counted(total, "slot")}
            where = (launch.group.doc, launch.place(options["host"].word), counted(total, "slot"))
            place = launch.place(options["np"].word)
            yield Hit(place, values, [where], doc=launch.group.doc, group=launch.group)


def _mpirun(job: Job) -> Iterator[tuple[Launch, Mpirun]]:
    for launch in launches(job):
        facts = launch.invocation.facts
        if isinstance(facts, Mpirun):
            yield launch, facts


@for_one
def _with_sshd(job: Job) -> int:
    """How many Pods run sshd."""
    return sum(group.replicas for group in job.pods if _runs_sshd(group))


def _runs_sshd(group: Any) -> bool:
    containers = entries(mapping(group.doc.data, "spec"), "containers")
    return any(starts_sshd(each) for _, each in containers)
