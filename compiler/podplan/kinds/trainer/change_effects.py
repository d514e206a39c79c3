"""What a change of a TrainJob does to it while it runs, by the field that changes."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.change_effects import STATUS, ChangeRule, ChangeRules

_SOURCE = "docs/evidence/trainer.md#changes"


def _documented(id_: str, text: str) -> Behavior:
    return Behavior(f"change.trainer.{id_}", text, "documented", _SOURCE)


METADATA = _documented("metadata", "labels and annotations of a TrainJob go to no object")
SUSPEND = _documented("suspend", "the controller suspends and resumes the JobSet")
PATCHES = _documented("patches", "the webhook refuses changes of patches while the job runs")
PATCHES_OF_SUSPENDED = _documented("suspended", "the JobSet of a suspended TrainJob is applied again")
IMMUTABLE = _documented("immutable", "the API server refuses a change of this field")
RUNTIME = _documented("runtime", "the TrainJobs that there are keep the runtime with which they were created")

_SUSPEND_PATH = ("spec", "suspend")
CHANGE_RULES = ChangeRules(
    (
        ChangeRule(("metadata",), "none", METADATA),
        ChangeRule(("status",), "none", STATUS),
        ChangeRule(_SUSPEND_PATH, "in-place", SUSPEND),
        ChangeRule(("spec", "runtimePatches"), "re-run", PATCHES, PATCHES_OF_SUSPENDED),
        ChangeRule(("spec", "podTemplateOverrides"), "re-run", PATCHES, PATCHES_OF_SUSPENDED),
        ChangeRule((), "re-run", IMMUTABLE),
    ),
    pause_path=_SUSPEND_PATH,
)
RUNTIME_CHANGE_RULES = ChangeRules((ChangeRule(("status",), "none", STATUS), ChangeRule((), "none", RUNTIME)))
