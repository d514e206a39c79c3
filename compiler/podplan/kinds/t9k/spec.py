"""The parts of KindSpec that the kinds of T9k share."""

from __future__ import annotations

from importlib import import_module

from podplan.core.provenance import Cursor, Path
from podplan.core.replica_groups import LoweringOptions
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kinds.spec import KindSpec
from podplan.kinds.t9k import behaviors

if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules
    from podplan.kinds.job_names import JobNames
    from podplan.kinds.status_rules import StatusRules

_SCHEDULER_PATH: Path = ("spec", "scheduler", "t9kScheduler")


def build_spec(package: str, plural: str, **answers: Any) -> KindSpec:
    """Build the spec of a kind from what is its own: ``package`` is the name of its package, whose module
    ``status`` has its status rules."""

    def load_status_rules() -> StatusRules:
        rules: StatusRules = import_module(f"{package}.status").STATUS_RULES
        return rules

    shared: dict[str, Any] = {
        "queue_path": (*_SCHEDULER_PATH, "queue"),
        "priority_path": (*_SCHEDULER_PATH, "priority"),
        "run_policy_path": ("spec", "runPolicy"),
        "run_mode_path": ("spec", "runMode"),
        "owner_label": "tensorstack.dev/owner-name",
        "pod_group_label": "scheduler.tensorstack.dev/group-name",
        "pod_group_api_version": str(behaviors.POD_GROUP_API.value),
        "load_job_names": load_job_names,
        "load_status_rules": load_status_rules,
        "load_change_rules": load_change_rules,
    }
    return KindSpec(plural=plural, **(shared | answers))


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
