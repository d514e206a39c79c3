"""The settings of an MPIJob, in the same form for its three dialects.

Source: docs/evidence/t9k-mpijob.md#dialects.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior, Cursor, attribute_to
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.job import JobContext, ReplicaType, parse_replica_type
from podplan.kinds.t9k.launcher_job import build_absent_cursor, find_launcher_and_workers
from podplan.kinds.t9k.mpi_job import behaviors as kind_behaviors
from podplan.kinds.t9k.pods import find_training_index


class MPISettings(NamedTuple):
    """The workers, the launcher, and what the launcher starts.

    ``training_container`` names the training container of the workers. ``launcher_fields`` are the fields of
    the launcher's container, ``launcher_index`` is its index in the template, and ``launcher_cursor`` is
    where a person would write the missing fields. ``processes`` and ``recovery`` are those of the oldest
    dialect.
    """

    workers: ReplicaType
    launcher: ReplicaType
    training_container: Behavior
    launcher_fields: TracedMap
    launcher_index: int
    launcher_cursor: Cursor
    mca: Cursor
    home: Cursor
    extra_args: Cursor
    script: Cursor
    processes: Cursor
    recovery: Cursor


def parse_settings(job: JobContext) -> MPISettings:
    """Return the settings of a job."""
    if any(job.spec.get(field).exists for field in ("mpiConfig", "replicaSpecs")):
        return _parse_replica_dialect(job)
    return _parse_worker_dialect(job)


def _parse_replica_dialect(job: JobContext) -> MPISettings:
    launcher, workers = find_launcher_and_workers(job)
    index = find_training_index(job, launcher, kind_behaviors.MPI_LAUNCHER_CONTAINER)
    container, config = launcher.template.get("spec", "containers").get(index), job.spec.get("mpiConfig")
    absent = build_absent_cursor(config, "processesPerWorker")
    return MPISettings(
        workers=workers,
        launcher=launcher,
        training_container=kind_behaviors.MPI_TRAINING_CONTAINER,
        launcher_fields={**container.fields()},
        launcher_index=index,
        launcher_cursor=container,
        mca=config.get("mca"),
        home=config.get("home"),
        extra_args=config.get("extraArgs"),
        script=config.get("script"),
        processes=absent,
        recovery=absent,
    )


def _parse_worker_dialect(job: JobContext) -> MPISettings:
    """Return the settings of a dialect with ``worker``, whose template is also that of the launcher."""
    section = job.spec.get("worker")
    workers = parse_replica_type(section, "worker")
    behavior = kind_behaviors.MPI_OLDER_TRAINING_CONTAINER
    index = find_training_index(job, workers, behavior)
    container = workers.template.get("spec", "containers").get(index)
    launcher_name = job.options.resolve_behavior(kind_behaviors.MPI_LAUNCHER_CONTAINER)
    fields: TracedMap = {key: value for key, value in container.fields().items() if key != "resources"}
    fields["name"] = attribute_to((launcher_name, container), launcher_name.value)
    return MPISettings(
        workers=workers,
        launcher=ReplicaType(
            "launcher", section, 1, (kind_behaviors.MPI_LAUNCHER_TEMPLATE, section), workers.template
        ),
        training_container=behavior,
        launcher_fields=fields,
        launcher_index=index,
        launcher_cursor=container,
        mca=job.spec.get("mca"),
        home=job.spec.get("mpiHome"),
        extra_args=section.get("extraMPIArgs"),
        script=section.get("cmd"),
        processes=section.get("processesPerWorker"),
        recovery=section.get("processRecovery"),
    )
