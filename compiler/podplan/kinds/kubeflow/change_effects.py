"""Effects of changes of a CR on a running job of the training operator, by the changed field."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.change_effects import STATUS, ChangeRule, ChangeRules
from podplan.kinds.kubeflow.training_kind import TrainingKind

_SOURCE = "docs/evidence/training-operator.md#changes-of-a-job"


def _documented(id_: str, text: str) -> Behavior:
    return Behavior(f"change.training-operator.{id_}", text, "documented", _SOURCE)


METADATA = _documented("metadata", "labels and annotations of a job are not those of its Pods")
SUSPEND = _documented("suspend", "a job that is suspended has no Pods; the operator creates them again")
POLICY = _documented("policy", "the operator reads the run policy each time it looks at a job")
QUEUE = _documented("queue", "schedulingPolicy.queue is immutable: the API server refuses the change")
REPLICAS = _documented(
    "replicas",
    "the operator creates the Pods that are missing and deletes those that are too many; the others keep "
    "their variables",
)
AUTOSCALER = _documented("autoscaler", "the operator updates the HorizontalPodAutoscaler")
PODS = _documented("pods", "the operator never replaces a Pod because its template changed")
SUSPENDED = _documented("suspended", "the Pods of a suspended job are created from the CR as it is then")

MANAGER = _documented("manager", "managedBy is immutable: the webhook refuses the change")
SUSPEND_PATH = ("spec", "runPolicy", "suspend")

_POLICY_PATHS = (("spec", "runPolicy"), ("spec", "successPolicy"), ("spec", "cleanPodPolicy"))


def build_change_rules(kind: TrainingKind) -> ChangeRules:
    """Build the change rules of a kind."""
    replicas = tuple(
        ChangeRule(("spec", kind.specs_field, name, "replicas"), "in-place", REPLICAS, keeps_pods=True)
        for name in kind.types
        if name not in kind.single_types
    )
    return ChangeRules(
        (
            ChangeRule(("metadata",), "none", METADATA),
            ChangeRule(("status",), "none", STATUS),
            ChangeRule(SUSPEND_PATH, "in-place", SUSPEND),
            ChangeRule(("spec", "runPolicy", "schedulingPolicy", "queue"), "re-run", QUEUE),
            *(
                [ChangeRule(("spec", "runPolicy", "managedBy"), "re-run", MANAGER)]
                if kind.keeps_manager
                else ()
            ),
            *(ChangeRule(path, "in-place", POLICY) for path in _POLICY_PATHS),
            *replicas,
            ChangeRule(("spec", "elasticPolicy", "metrics"), "in-place", AUTOSCALER),
            ChangeRule((), "re-run", PODS, SUSPENDED),
        ),
        pause_path=SUSPEND_PATH,
    )
