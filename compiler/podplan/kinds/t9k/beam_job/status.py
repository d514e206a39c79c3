"""The status rules of BeamJob.

Source: docs/evidence/t9k-beamjob.md#status.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.batch.status import BEHAVIORS as JOB_BEHAVIORS
from podplan.kinds.status_rules import OwnedJobRules

_PAGE = "docs/evidence/t9k-beamjob.md"

STATUS_RULES = OwnedJobRules(
    JOB_BEHAVIORS,
    job_path=("spec", "jobTemplate", "spec"),
    other="FlinkCluster",
    phases=Behavior(
        "status.beam.phases",
        "the phase is Initializing until the FlinkCluster runs, and Succeeded or Failed as the Job is",
        "assumed",
        f"{_PAGE}#status",
    ),
    clean_up=Behavior(
        "status.beam.clean-up",
        "cleanUpCluster deletes the FlinkCluster after success and after failure",
        "documented",
        f"{_PAGE}#clean-up",
    ),
    clean_up_path=("spec", "runPolicy", "cleanUpCluster"),
)
