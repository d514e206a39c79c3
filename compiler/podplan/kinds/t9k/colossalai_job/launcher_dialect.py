"""The dialect with ``launcher`` and ``worker``.

Source: docs/evidence/t9k-colossalaijob.md#fields-of-the-launcher-dialect.
"""

from __future__ import annotations

from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.colossalai_job.settings import Training, absent
from podplan.kinds.t9k.job import Job, Role, role

FIELDS = ("image", "workingDir", "env", "resources")


def read(job: Job) -> Training:
    """What a job in this dialect says."""
    launcher, worker = job.spec.get("launcher"), job.spec.get("worker")
    written = {field: launcher.get(field) for field in FIELDS if launcher.get(field).exists}
    return Training(
        workers=role(worker, "worker"),
        launcher=Role(
            "launcher", launcher, 1, (behaviors.COLOSSALAI_LAUNCHER, launcher), absent(launcher, "template")
        ),
        container=dict(written),
        position=0,
        place=launcher,
        processes=worker.get("procPerWorker"),
        script=worker.get("command"),
        torchrun_options=worker.get("torchArgs"),
    )
