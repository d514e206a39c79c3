"""The rendezvous backend of torchrun: whether torch has it, and whether etcd has a server.

Sources: https://docs.pytorch.org/docs/stable/elastic/rendezvous.html; torch/distributed/elastic/rendezvous of
torch 2.13; https://github.com/t9k/user-manuals/blob/master/src/modules/jobs/pytorchtrainingjob.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.commands import AccelerateCommand, TorchrunCommand
from podplan.launchers.torchrun import ETCD_BACKENDS, RENDEZVOUS_BACKENDS
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.colossalai_line import find_colossalai_line
from podplan.lint.analysis.launches import (
    find_launches,
    find_option_path,
    find_replica_launches,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_OWN_STORES = ("c10d", "static")  # backends with a TCPStore, which a node of the training opens
# Backends that scripts pass to torch.distributed.init_process_group.
_PROCESS_GROUPS = ("nccl", "gloo", "mpi", "ucc", "xccl", "hccl", "cncl", "rccl")


class RendezvousBackend(NamedTuple):
    """The rendezvous backend of a line, the program that uses it, and its path."""

    name: str
    launcher: str
    path: Path
    doc: TracedDocument | None
    group: ReplicaGroup | None


@check(aliases=("unknown-backend",))
def unknown_rendezvous_backend(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A rendezvous backend that torch does not register; values ``by``, ``backend`` and ``hint``."""
    for backend in _iter_backends(target.job):
        # A blank shows a second option in the word, which another rule reports.
        if backend.name in RENDEZVOUS_BACKENDS or " " in backend.name:
            continue
        hint = suggest_phrase(backend.name.lower(), RENDEZVOUS_BACKENDS)
        if backend.name.lower() in _PROCESS_GROUPS:
            hint = f"; {backend.name} is a backend of process groups, which the script selects"
        values = {"by": backend.launcher, "backend": backend.name, "hint": hint}
        yield Violation(backend.path, values, doc=backend.doc, group=backend.group)


@check()
def etcd_endpoint(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An etcd backend whose endpoint is no etcd server; values ``backend`` and ``where``."""
    for launch in find_launches(target.job):
        facts = launch.torchrun
        if facts is None or facts.backend not in ETCD_BACKENDS or not facts.command_line.is_certain:
            continue
        endpoint = _find_non_etcd_endpoint(target.job, facts)
        if endpoint:
            path = find_option_path(launch, facts, "rdzv_backend")
            values = {"backend": facts.backend, "where": endpoint}
            yield Violation(path, values, doc=launch.group.doc, group=launch.group)


@check(requires=("torchrun", "accelerate"))
def store_at_etcd(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A server of etcd as the endpoint of another backend; values ``backend``, ``host``, ``default``."""
    job = target.job
    for launch in find_launches(job):
        facts = launch.torchrun
        if facts is None or not facts.command_line.is_certain or launch.invocation.is_conditional:
            continue
        if facts.backend not in _OWN_STORES or facts.standalone or "rdzv_endpoint" not in facts.value_origins:
            continue
        # A node of the training may run etcd beside it, and another program may use that name.
        if facts.host and _names_etcd(facts.host) and pod_hosts.find_pod(job, facts.host) is None:
            path = find_option_path(launch, facts, "rdzv_endpoint")
            is_given = "rdzv_backend" in facts.value_origins
            values = {
                "backend": facts.backend,
                "host": facts.host,
                "default": "" if is_given else ", the default,",
            }
            place = find_option_path(launch, facts, "rdzv_backend")
            related = [(launch.group.doc, place, "the backend")] if is_given else []
            yield Violation(path, values, related, doc=launch.group.doc, group=launch.group)


def _names_etcd(host: str) -> bool:
    return any("etcd" in label.split("-") for label in host.lower().split("."))


def _iter_backends(job: LoweredJob) -> Iterator[RendezvousBackend]:
    for launch in find_launches(job):
        facts, invocation = launch.invocation.parsed, launch.invocation
        if isinstance(facts, TorchrunCommand) and facts.backend is not None and facts.command_line.is_certain:
            path = find_option_path(launch, facts, "rdzv_backend")
            yield RendezvousBackend(facts.backend, invocation.launcher, path, launch.group.doc, launch.group)
        elif (
            isinstance(facts, AccelerateCommand) and facts.command_line.is_certain and _starts_torchrun(facts)
        ):
            name = facts.command_line.get_value("rdzv_backend")
            if name is not None:
                path = launch.locate_word(facts.command_line.options["rdzv_backend"].word)
                yield RendezvousBackend(name, invocation.launcher, path, launch.group.doc, launch.group)
    line = find_colossalai_line(job)
    if line is not None and line.torchrun.backend is not None:
        word = line.torchrun.find_option_word("rdzv_backend", line.launch.invocation.program_word)
        yield RendezvousBackend(line.torchrun.backend, "torchrun", *line.locate_word(word))


def _starts_torchrun(facts: AccelerateCommand) -> bool:
    """Whether accelerate starts torchrun, which takes the backend."""
    return facts.multi_gpu or (facts.machines or 1) > 1 or (facts.processes or 1) > 1


def _find_non_etcd_endpoint(job: LoweredJob, facts: TorchrunCommand) -> str:
    """Return the endpoint where torchrun expects etcd and finds none; "" if there may be one."""
    host = facts.host
    if host is None:
        return "" if "rdzv_endpoint" in facts.value_origins else "localhost:2379, because no endpoint is set"
    if pod_hosts.is_loopback(host):
        return host
    host_pod = pod_hosts.find_pod(job, host)
    if host_pod is None or _may_run_etcd(host_pod[0]):
        return ""
    return f"{host}, a Pod of this job that runs no etcd"


def _may_run_etcd(group: ReplicaGroup) -> bool:
    """Whether a container of a Pod runs etcd, by its image or by what the training container starts."""
    spec = get_mapping(group.doc.data, "spec")
    pod_containers = (each for key in ("containers", "initContainers") for _, each in get_entries(spec, key))
    if any("etcd" in get_text(container, "image") for container in pod_containers):
        return True
    return any(
        launch.invocation.program_word.base_name.startswith("etcd")
        for launch in find_replica_launches(group, group.start)
    )
