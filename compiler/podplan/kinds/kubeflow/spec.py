"""What the kinds of the training operator answer alike."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Behavior
from podplan.core.typing import Any
from podplan.kinds.kubeflow.form import TrainingForm
from podplan.kinds.spec import KindSpec, ReplicaTypesField

DROPPED_FIELD_RULE = "SCHEMA012"
PROFILE_FIELDS = frozenset(("restart", "deadline", "retries", "cleanUp"))


def build_spec(form: TrainingForm, plural: str, **answers: Any) -> KindSpec:
    """The spec of a kind from its form; ``answers`` are those that are its own."""

    def validate(_dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
        from podplan.kinds.kubeflow.validation import validate_job

        return validate_job(form, cr)

    container = Behavior(
        "training-operator.training-container",
        f"the container that trains is called {form.container}",
        "verified",
        "docs/evidence/training-operator.md#defaults",
        form.container,
    )
    return KindSpec(
        **{
            "plural": plural,
            "option_prefix": "training-operator",
            "training_container": container if form.container else None,
            "validate_cr": validate,
            "unknown_field_rule": DROPPED_FIELD_RULE,
            "replica_types": (ReplicaTypesField(("spec", form.specs_field), "map"),),
            "queue_path": ("spec", "runPolicy", "schedulingPolicy", "queue"),
            "priority_path": ("spec", "runPolicy", "schedulingPolicy", "priorityClass"),
            "run_policy_path": ("spec", "runPolicy"),
            "profile_fields": PROFILE_FIELDS,
            "role_fields": frozenset(("restart",)),
            "owner_label": "training.kubeflow.org/job-name",
            **answers,
        }
    )
