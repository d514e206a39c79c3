"""What a change of a JobSet does to it while it runs, by the field that changes."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.change_effects import STATUS, ChangeRule, ChangeRules

_SOURCE = "docs/evidence/jobset.md#changes"


def _documented(id_: str, text: str) -> Behavior:
    return Behavior(f"change.jobset.{id_}", text, "documented", _SOURCE)


METADATA = _documented("metadata", "labels and annotations of a JobSet that runs reach no Pod")
SUSPEND = _documented("suspend", "the controller suspends and resumes the Jobs of a JobSet")
TTL = _documented("ttl", "the controller reads the time when the JobSet has ended")
IMMUTABLE = _documented("immutable", "the API server and the webhook refuse a change of this field")

CHANGE_RULES = ChangeRules(
    (
        ChangeRule(("metadata",), "none", METADATA),
        ChangeRule(("status",), "none", STATUS),
        ChangeRule(("spec", "suspend"), "in-place", SUSPEND),
        ChangeRule(("spec", "ttlSecondsAfterFinished"), "in-place", TTL),
        ChangeRule((), "re-run", IMMUTABLE),
    )
)
