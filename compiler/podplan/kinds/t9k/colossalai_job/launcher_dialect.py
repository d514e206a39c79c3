"""The dialect with ``launcher`` and ``worker``.

Source: docs/evidence/t9k-colossalaijob.md#fields-of-the-launcher-dialect.
"""

from __future__ import annotations

from podplan.kinds.t9k.colossalai_job import behaviors as kind_behaviors
from podplan.kinds.t9k.colossalai_job.settings import ColossalAISettings
from podplan.kinds.t9k.job import JobContext, ReplicaType, parse_replica_type
from podplan.kinds.t9k.launcher_job import build_absent_cursor

LAUNCHER_FIELDS = ("image", "workingDir", "env", "resources")


def parse_settings(job: JobContext) -> ColossalAISettings:
    """Return the settings of a job in this dialect."""
    launcher, worker = job.spec.get("launcher"), job.spec.get("worker")
    launcher_fields = {field: launcher.get(field) for field in LAUNCHER_FIELDS if launcher.get(field).exists}
    return ColossalAISettings(
        workers=parse_replica_type(worker, "worker"),
        launcher=ReplicaType(
            "launcher",
            launcher,
            1,
            (kind_behaviors.COLOSSALAI_LAUNCHER, launcher),
            build_absent_cursor(launcher, "template"),
        ),
        launcher_fields=dict(launcher_fields),
        launcher_index=0,
        launcher_cursor=launcher,
        processes=worker.get("procPerWorker"),
        script=worker.get("command"),
        torchrun_options=worker.get("torchArgs"),
    )
