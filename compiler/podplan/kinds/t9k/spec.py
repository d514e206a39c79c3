"""The parts of KindSpec that the kinds of T9k share."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Path
from podplan.core.replica_groups import LoweringOptions
from podplan.core.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules
    from podplan.kinds.job_names import JobNames

OWNER_LABEL = "tensorstack.dev/owner-name"
POD_GROUP_LABEL = "scheduler.tensorstack.dev/group-name"
QUEUE_PATH: Path = ("spec", "scheduler", "t9kScheduler", "queue")
PRIORITY_PATH: Path = ("spec", "scheduler", "t9kScheduler", "priority")
RUN_POLICY_PATH: Path = ("spec", "runPolicy")
RUN_MODE_PATH: Path = ("spec", "runMode")
ELASTIC_PATH: Path = ("spec", "elastic")


def load_job_names(cr: Cursor, options: LoweringOptions) -> JobNames:
    """Return the name of a job of T9k, and its base name with the digits of its uid."""
    from podplan.kinds.job_names import JobNames
    from podplan.kinds.registry import find_kind, name_of
    from podplan.kinds.t9k.job import build_job_context

    kind = find_kind(cr.get("apiVersion").value, cr.get("kind").value)
    job = build_job_context(cr, options._replace(kind=name_of(kind)) if kind is not None else options)
    return JobNames(job.name, job.base_name, bool(job.uid.value))


def load_change_rules() -> ChangeRules:
    """Return the change rules."""
    from podplan.kinds.t9k.behaviors.change_effects import CHANGE_RULES

    return CHANGE_RULES
