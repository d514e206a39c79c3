"""The common part of the KindSpecs of the training operator."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Behavior
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kinds.kubeflow.training_kind import MANAGERS, TrainingKind
from podplan.kinds.spec import CleanUp, KindSpec, ProposedOptions, ReplicaTypesField

if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules
    from podplan.kinds.spec import QueueIntegration
    from podplan.kinds.status_rules import EndingRules

DROPPED_FIELD_RULE = "SCHEMA012"
TRAITS = frozenset(
    (
        "training",
        "pod-templates",
        "replica-types",
        "deadline",
        "restarts-by-controller",
        "template-restart-policy-ignored",
        "scheduling-policy",
        "suspend",
        "negative-retries-fail",
        "shared-retries",
        "unlimited-retries",
        "fails-at-retry-limit",
        "replica-restart-policy",
        "empty-jobs-accepted",
        "unchecked-policies",
        "time-to-live",
    )
)
_PROPOSED_TEXTS = {
    "training-operator.scheduler-name": "^schedulerName=(.+)",
    "training-operator.cluster-domain": r"\.svc\.([a-z0-9.-]+):[0-9]",
    "training-operator.init-tries": r"\bseq ([0-9]+)\)",
}
STARTER_FIELDS = {
    "schedule": "{queue: default}  # if the operator has a gang scheduler (gang-scheduler in podplan.toml)",
    "cleanUp": "Unfinished",
    "deadline": "24h",
}
PROFILE_FIELDS = frozenset(("restart", "deadline", "retries", "cleanUp"))


def build_spec(
    kind: TrainingKind, plural: str, status: Mapping[str, Any] | None = None, **answers: Any
) -> KindSpec:
    """Build the KindSpec of a training kind; ``status`` and ``answers`` are specific to the kind."""

    def validate(_dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
        from podplan.kinds.kubeflow.validation import validate_job

        return validate_job(kind, cr)

    def load_change_rules() -> ChangeRules:
        from podplan.kinds.kubeflow.change_effects import build_change_rules

        return build_change_rules(kind)

    def load_status_rules() -> EndingRules:
        from podplan.kinds.kubeflow.status import build_status_rules

        return build_status_rules(kind, **(status or {}))

    def load_queue_integration() -> QueueIntegration:
        from podplan.kinds.common.queueing import build_integration

        return build_integration(("spec", kind.specs_field), kind.types)

    container = Behavior(
        "training-operator.training-container",
        f"the container that trains is called {kind.container}",
        "verified",
        "docs/evidence/training-operator.md#defaults",
        kind.container,
    )
    return KindSpec(
        **{
            "plural": plural,
            "option_prefix": "training-operator",
            "training_container": container if kind.container else None,
            "validate_cr": validate,
            "unknown_field_rule": DROPPED_FIELD_RULE,
            "replica_types": (ReplicaTypesField(("spec", kind.specs_field), "map"),),
            "queue_path": ("spec", "runPolicy", "schedulingPolicy", "queue"),
            "priority_path": ("spec", "runPolicy", "schedulingPolicy", "priorityClass"),
            "run_policy_path": ("spec", "runPolicy"),
            "profile_fields": PROFILE_FIELDS,
            "role_fields": frozenset(("restart",)),
            "schedulers": ("volcano", "kueue") if kind.has_queue_integration else ("volcano",),
            "starter_fields": STARTER_FIELDS,
            "load_change_rules": load_change_rules,
            "load_status_rules": load_status_rules,
            "load_queue_integration": load_queue_integration if kind.has_queue_integration else None,
            "traits": TRAITS
            | kind.traits
            | {"kueue" if kind.has_queue_integration else "no-queue-integration"},
            "main_replica_types": kind.main_types,
            "managers": MANAGERS,
            "known_replica_types": kind.types,
            "retried_exit_codes": range(128, 256),
            "clean_up": CleanUp(("runPolicy", "cleanPodPolicy"), "None", "Running"),
            "owner_label": "training.kubeflow.org/job-name",
            "proposed_options": ProposedOptions(texts=_PROPOSED_TEXTS),
            **answers,
        }
    )
