"""The dialect with ``torchConfig`` and ``replicaSpecs``.

Source: docs/evidence/t9k-colossalaijob.md#fields-of-the-replica-dialect.
"""

from __future__ import annotations

from podplan.kinds.t9k.colossalai_job import behaviors as kind_behaviors
from podplan.kinds.t9k.colossalai_job.settings import ColossalAISettings
from podplan.kinds.t9k.job import JobContext
from podplan.kinds.t9k.launcher_job import find_launcher_and_workers
from podplan.kinds.t9k.pods import find_training_index


def uses_replica_dialect(job: JobContext) -> bool:
    """Whether a job is in this dialect."""
    return any(job.spec.get(field).exists for field in ("torchConfig", "replicaSpecs"))


def parse_settings(job: JobContext) -> ColossalAISettings:
    """Return the settings of a job in this dialect; of several entries of one type, the first applies."""
    launcher, workers = find_launcher_and_workers(job)
    containers = launcher.template.get("spec", "containers")
    training_index = find_training_index(job, launcher, kind_behaviors.COLOSSALAI_LAUNCHER_CONTAINER)
    config = job.spec.get("torchConfig")
    return ColossalAISettings(
        workers=workers,
        launcher=launcher,
        launcher_fields={**containers.get(training_index).fields()},
        launcher_index=training_index,
        launcher_cursor=containers.get(training_index),
        processes=config.get("procPerWorker"),
        script=config.get("script"),
        torchrun_options=config.get("extraArgs"),
    )
