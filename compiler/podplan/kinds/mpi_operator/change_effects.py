"""What a change of a CR does to a job of the MPI Operator that runs, by the field that changes."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.change_effects import STATUS, ChangeRule, ChangeRules

_SOURCE = "docs/evidence/mpi-operator.md#changes-of-a-job"


def _documented(id_: str, text: str) -> Behavior:
    return Behavior(f"change.mpi-operator.{id_}", text, "documented", _SOURCE)


METADATA = _documented("metadata", "labels and annotations of a job are not those of its Pods")
SUSPEND = _documented(
    "suspend", "the operator deletes the workers of a suspended job, and creates them again when it goes on"
)
CLEAN_UP = _documented("clean-up", "the operator reads cleanPodPolicy when the launcher has ended")
WORKERS = _documented(
    "workers",
    "the operator creates the workers that are missing, deletes the others and updates the hostfile",
)
PODS = _documented("pods", "the operator never replaces a worker or the Job of the launcher by a changed one")

SUSPEND_PATH = ("spec", "runPolicy", "suspend")
CHANGE_RULES = ChangeRules(
    (
        ChangeRule(("metadata",), "none", METADATA),
        ChangeRule(("status",), "none", STATUS),
        ChangeRule(SUSPEND_PATH, "in-place", SUSPEND),
        ChangeRule(("spec", "runPolicy", "cleanPodPolicy"), "in-place", CLEAN_UP),
        ChangeRule(("spec", "mpiReplicaSpecs", "Worker", "replicas"), "in-place", WORKERS),
        ChangeRule((), "re-run", PODS),
    ),
    pause_path=SUSPEND_PATH,
)
