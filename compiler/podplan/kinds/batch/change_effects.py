"""What a change of a Job does to it while it runs, by the field that changes."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.change_effects import STATUS, ChangeRule, ChangeRules

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
LIMITS = _documented("limits", "the controller reads the limits each time it looks at a Job")
IMMUTABLE = _documented("immutable", "the API server refuses a change of this field")

_LIMITS = ("activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished", "maxFailedIndexes")
CHANGE_RULES = ChangeRules(
    (
        ChangeRule(("metadata",), "none", METADATA),
        ChangeRule(("status",), "none", STATUS),
        ChangeRule(("spec", "suspend"), "in-place", SUSPEND),
        ChangeRule(("spec", "parallelism"), "in-place", PARALLELISM),
        *(ChangeRule(("spec", field), "in-place", LIMITS) for field in _LIMITS),
        ChangeRule((), "re-run", IMMUTABLE),
    )
)
