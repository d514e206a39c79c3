"""The processes that mpirun starts, compared with the workers and their GPUs.

Sources: docs/evidence/mpirun.md#options, docs/evidence/mpirun.md#slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.launchers.commands import MpirunCommand
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import (
    find_kind_spec,
    find_replica_places,
    find_written_path,
    has_trait,
    is_mode_enabled,
)
from podplan.lint.analysis.launches import ContainerLaunch, find_launches, gives_several_gpus
from podplan.lint.analysis.mpirun_fields import list_option_places
from podplan.lint.analysis.pod_hosts import count_hostfile_slots, read_hostfile
from podplan.lint.analysis.resources import count_accelerators, find_training_container
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_PER_NODE_MAPPING = compile_lazily(r"ppr:(\d{1,5}):node(?:[:,].*)?")
# Python scripts and the tests of NCCL use one GPU in each process.
_GPU_PROGRAM = compile_lazily(r"python[0-9.]*|\w+_perf")
# NVIDIA's Multi-Process Service, with which processes share a GPU.
_MPS_VARIABLE = compile_lazily(r"(?:\w+_)?MPS(?:_\w+)?")


class RankCount(NamedTuple):
    """The processes that mpirun starts: ``processes`` in all and ``per_worker``; None if unknown.

    ``places`` is the number of slots of the workers. ``path`` states the processes of each worker:
    an option if ``has_option``, else a field of the CR.
    """

    launch: ContainerLaunch
    facts: MpirunCommand
    workers: ReplicaGroup
    gpus: int
    gpus_path: Path
    processes: int | None
    per_worker: int | None
    places: int
    has_option: bool
    path: Path


@check(requires=("mpirun", "horovodrun"))
def ranks_differ(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Two numbers of processes that contradict each other. Values ``processes``, ``places``."""
    for count in iter_rank_counts(target.job):
        if count.processes is None or not count.per_worker:
            continue
        # Fewer processes than slots are intended if a process has several GPUs, or none.
        is_less = count.processes < count.places and (count.has_option or _uses_one_gpu(count))
        if is_less or (count.processes > count.places and count.has_option):
            hosts = format_count(count.places // count.per_worker, "host")
            values = {
                "processes": format_count(count.processes, "process", "processes"),
                "places": f"{hosts} with {count.per_worker} each take {count.places}",
            }
            option = count.facts.command_line.options["np"].word
            related = list_option_places(target.job, option.text)[:1]
            workers = find_replica_places(target.job).get(count.workers.replica_type)
            related += [workers] if workers is not None else []
            group = count.launch.group
            path = count.launch.locate_word(option)
            yield Violation(path, values, related, doc=group.doc, group=group)


@check(requires=("mpirun", "horovodrun"))
def fewer_ranks_than_gpus(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Fewer processes on each worker than GPUs. Values ``processes``, ``gpus``."""
    for count in iter_rank_counts(target.job):
        if count.has_option and 0 < (count.per_worker or 0) < count.gpus and _uses_one_gpu(count):
            yield _build_violation(count)


@check(requires=("mpirun", "horovodrun"))
def more_ranks_than_gpus(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """More processes on each worker than GPUs. Values ``processes``, ``gpus``."""
    for count in iter_rank_counts(target.job):
        if (
            count.per_worker
            and count.per_worker > count.gpus
            and _fills_workers(count)
            and _uses_one_gpu(count)
            and not _shares_gpus(count)
        ):
            yield _build_violation(count)


def _shares_gpus(count: RankCount) -> bool:
    """Whether processes share GPUs on purpose: by oversubscription or by NVIDIA MPS."""
    options = count.launch.invocation.options.items()
    if any("oversubscribe" in f"{name} {option.value}".lower() for name, option in options):
        return True
    found = find_training_container(count.workers)
    entries = get_entries(found[1], "env") if found is not None else ()
    return any(_MPS_VARIABLE.fullmatch(get_text(entry, "name")) for _, entry in entries)


def _build_violation(count: RankCount) -> Violation:
    values = {
        "processes": format_count(count.per_worker or 0, "process", "processes"),
        "gpus": format_count(count.gpus, "GPU"),
    }
    group = count.launch.group
    related = (count.workers.doc, count.gpus_path, values["gpus"])
    if not count.has_option:
        return Violation(count.path, values, [related])
    return Violation(count.path, values, [related], doc=group.doc, group=group)


def _fills_workers(count: RankCount) -> bool:
    """Whether the line starts as many processes on a worker as it has slots."""
    return count.processes is None or count.processes >= (count.per_worker or 0)


def _uses_one_gpu(count: RankCount) -> bool:
    """Whether a process uses one GPU, according to its program."""
    words = count.facts.program_words
    if not words or not _GPU_PROGRAM.fullmatch(words[0].base_name):
        return False
    return not gives_several_gpus(words)


def iter_rank_counts(job: LoweredJob) -> Iterator[RankCount]:
    """Yield the only mpirun line of a job with its workers with GPUs."""
    if is_mode_enabled(job, "debug") or job.cr is None:
        return
    if has_trait(job, "host-by-index") and not read_hostfile(job):
        return  # no controller names other hosts
    launches = [(launch, facts) for launch in find_launches(job) if (facts := launch.mpirun) is not None]
    if len(launches) != 1 or launches[0][0].invocation.is_conditional:
        return
    launch, facts = launches[0]
    kind_spec = find_kind_spec(job)
    main_types = kind_spec.main_replica_types if kind_spec is not None else ()
    workers = [
        group for group in job.pods if group is not launch.group and group.replica_type not in main_types
    ]
    if len(workers) != 1 or facts.errors or not facts.command_line.is_certain:
        return
    found = find_training_container(workers[0])
    amount = count_accelerators(found[1]) if found is not None else None
    if (
        found is None
        or amount is None
        or not amount.number
        or amount.path is None
        or "shared" in amount.resource
    ):
        return
    if facts.hosts or facts.hostfile not in (
        None,
        launch.invocation.variables.get("OMPI_MCA_orte_default_hostfile"),
    ):
        return
    gpus_path = (*found[0], *amount.path)
    option = _find_per_worker_option(facts)
    if option is not None:
        hosts = sum(each.replicas for each in read_hostfile(job)) or workers[0].replicas
        places, path = (option.number * hosts, launch.locate_word(option.word))
        yield RankCount(
            launch,
            facts,
            workers[0],
            amount.number,
            gpus_path,
            facts.processes,
            option.number,
            places,
            True,
            path,
        )
        return
    slots = {host.slots for host in read_hostfile(job)}
    if len(slots) == 1 and has_trait(job, "hostfile"):
        path = find_written_path(job.cr.data, "spec", "slotsPerWorker")
        places = count_hostfile_slots(job)
        yield RankCount(
            launch,
            facts,
            workers[0],
            amount.number,
            gpus_path,
            facts.processes,
            slots.pop(),
            places,
            False,
            path,
        )


class _PerWorkerOption(NamedTuple):
    number: int
    word: Word


def _find_per_worker_option(facts: MpirunCommand) -> _PerWorkerOption | None:
    """Return the option with the number of processes per worker."""
    options = facts.command_line.options
    if facts.per_node is not None:
        return _PerWorkerOption(facts.per_node, options["per_node"].word)
    mapping = options.get("map_by")
    match = _PER_NODE_MAPPING.fullmatch(mapping.text.lower()) if mapping is not None else None
    return _PerWorkerOption(int(match[1]), mapping.word) if mapping is not None and match else None
