"""Compiles a profile to a TensorFlowTrainingJob."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor
from podplan.core.typing import Any
from podplan.kinds.common.profile import parse_free_roles
from podplan.kinds.t9k.tensorflow_training_job import behaviors as kind_behaviors
from podplan.kinds.t9k.training_profile import TrainingRole, compile_training_job, parse_typed_roles

CONTAINER = str(kind_behaviors.TENSORFLOW_TRAINING_CONTAINER.value)
TYPES = ("chief", "worker", "ps", "evaluator")


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a TensorFlowTrainingJob as a traced tree, and the diagnostics of the profile.

    A profile without roles has workers.
    """
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = []
    roles = parse_typed_roles(spec, TYPES, diagnostics)
    if not spec.get("roles").value:
        roles = [TrainingRole(role, role.get_field("replicas")) for role in parse_free_roles(spec)]
    tree = compile_training_job(profile, inventory, "TensorFlowTrainingJob", CONTAINER, roles, diagnostics)
    return tree, diagnostics
