"""The rendezvous backend of torchrun: whether torch has it, and whether etcd has a server.

Sources: https://docs.pytorch.org/docs/stable/elastic/rendezvous.html; torch/distributed/elastic/rendezvous of
torch 2.13; https://github.com/t9k/user-manuals/blob/master/src/modules/jobs/pytorchtrainingjob.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Doc
from podplan.core.replica_groups import Group
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.launchers.accelerate import Accelerate
from podplan.launchers.torchrun import BACKENDS, ETCD, Torchrun
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.colossalai_line import line_of
from podplan.lint.analysis.launches import Launch, launches, of_replica, variable_path
from podplan.lint.target import Hit, Job, Subject

# What scripts give to torch.distributed.init_process_group.
_PROCESS_GROUPS = ("nccl", "gloo", "mpi", "ucc", "xccl", "hccl", "cncl", "rccl")


class Backend(NamedTuple):
    """The rendezvous backend of a line, who uses it, and where it is written."""

    name: str
    by: str
    path: Path
    doc: Doc | None
    group: Group | None


def unknown_backend(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A rendezvous backend that torch does not register; values ``by``, ``backend`` and ``hint``."""
    for backend in _backends(subject.job):
        # A blank is one option too many in the word, which another rule reports.
        if backend.name in BACKENDS or " " in backend.name:
            continue
        hint = did_you_mean(backend.name.lower(), BACKENDS)
        if backend.name.lower() in _PROCESS_GROUPS:
            hint = f"; {backend.name} is a backend of process groups, which the script chooses"
        values = {"by": backend.by, "backend": backend.name, "hint": hint}
        yield Hit(backend.path, values, doc=backend.doc, group=backend.group)


def etcd_endpoint(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An etcd backend whose endpoint is no etcd server; values ``backend`` and ``where``."""
    for launch in launches(subject.job):
        facts = launch.torchrun
        if facts is None or facts.backend not in ETCD or not facts.line.sure:
            continue
        where = _not_etcd(subject.job, facts)
        if where:
            path = _written(launch, facts, "rdzv_backend")
            values = {"backend": facts.backend, "where": where}
            yield Hit(path, values, doc=launch.group.doc, group=launch.group)


def _backends(job: Job) -> Iterator[Backend]:
    for launch in launches(job):
        facts, found = launch.invocation.facts, launch.invocation
        if isinstance(facts, Torchrun) and facts.backend is not None and facts.line.sure:
            path = _written(launch, facts, "rdzv_backend")
            yield Backend(facts.backend, found.launcher, path, launch.group.doc, launch.group)
        elif isinstance(facts, Accelerate) and facts.line.sure and _several_processes(facts):
            name = facts.line.value("rdzv_backend")
            if name is not None:
                path = launch.place(facts.line.options["rdzv_backend"].word)
                yield Backend(name, found.launcher, path, launch.group.doc, launch.group)
    line = line_of(job)
    if line is not None and line.torchrun.backend is not None:
        word = line.torchrun.where("rdzv_backend", line.launch.invocation.word)
        yield Backend(line.torchrun.backend, "torchrun", *line.place(word))


def _several_processes(facts: Accelerate) -> bool:
    """Whether accelerate starts torchrun, which takes the backend."""
    return facts.multi_gpu or (facts.machines or 1) > 1 or (facts.processes or 1) > 1


def _written(launch: Launch, facts: Torchrun, name: str) -> Path:
    """Where an option is given: on the line, or by its variable."""
    if name not in facts.line.options and name in facts.given:
        return variable_path(launch, f"PET_{name.upper()}") or launch.place(launch.invocation.word)
    return launch.place(facts.where(name, launch.invocation.word))


def _not_etcd(job: Job, facts: Torchrun) -> str:
    """Where torchrun looks for etcd and finds none; "" where there may be one."""
    host = facts.host
    if host is None:
        return "" if "rdzv_endpoint" in facts.given else "localhost:2379, for no endpoint is given"
    if pod_hosts.is_loopback(host):
        return host
    found = pod_hosts.pod(job, host)
    if found is None or _may_run_etcd(found[0]):
        return ""
    return f"{host}, a Pod of this job that runs no etcd"


def _may_run_etcd(group: Group) -> bool:
    """Whether a container of a Pod runs etcd, by its image or by what the training container starts."""
    spec = mapping(group.doc.data, "spec")
    listed = (each for key in ("containers", "initContainers") for _, each in entries(spec, key))
    if any("etcd" in text(container, "image") for container in listed):
        return True
    return any(launch.invocation.word.name.startswith("etcd") for launch in of_replica(group, group.start))
