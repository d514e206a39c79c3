"""What a change of a Job does to it while it runs, by the field that changes."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.core.typing import Any
from podplan.kinds.change_effects import STATUS, ChangeRule, ChangeRules
from podplan.kubernetes.accessors import get_mapping, get_number

_SOURCE = "https://kubernetes.io/docs/concepts/workloads/controllers/job/"


def _documented(id_: str, text: str, section: str = "") -> Behavior:
    return Behavior(f"change.job.{id_}", text, "documented", f"{_SOURCE}{section}")


METADATA = _documented("metadata", "labels and annotations of a Job are not those of its Pods")
SUSPEND = _documented(
    "suspend",
    "suspending deletes the Pods, resuming creates them again",
    "#suspending-a-job",
)
PARALLELISM = _documented(
    "parallelism", "the controller adds or deletes Pods until there are as many", "#controlling-parallelism"
)
ELASTIC = _documented(
    "elastic",
    "an Indexed Job may change completions together with parallelism, if both are the same number",
    "#elastic-indexed-jobs",
)
LIMITS = _documented("limits", "the controller reads the limits each time it looks at a Job")
IMMUTABLE = _documented("immutable", "the API server refuses a change of this field")

_LIMITS = ("activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished", "maxFailedIndexes")


def _is_elastic(old: Any, new: Any) -> bool:
    """Whether completions of an Indexed Job change to the number of its parallelism."""
    spec = get_mapping(new, "spec")
    return (
        get_mapping(old, "spec").get("completionMode") == spec.get("completionMode") == "Indexed"
        and get_number(spec, "completions") == get_number(spec, "parallelism") > 0
        and get_number(get_mapping(old, "spec"), "completions") > 0
    )


CHANGE_RULES = ChangeRules(
    (
        ChangeRule(("metadata",), "none", METADATA),
        ChangeRule(("status",), "none", STATUS),
        ChangeRule(("spec", "suspend"), "in-place", SUSPEND),
        ChangeRule(("spec", "parallelism"), "in-place", PARALLELISM),
        ChangeRule(("spec", "completions"), "in-place", ELASTIC, applies=_is_elastic),
        *(ChangeRule(("spec", field), "in-place", LIMITS) for field in _LIMITS),
        ChangeRule((), "re-run", IMMUTABLE),
    )
)
