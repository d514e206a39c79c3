"""Compiles a profile to an XGBoostTrainingJob."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.kinds.common.profile import ProfileRole
from podplan.kinds.t9k.training_profile import TrainingRole, compile_training_job, parse_typed_roles
from podplan.kinds.t9k.xgboost_training_job import behaviors as kind_behaviors

CONTAINER = str(kind_behaviors.XGBOOST_TRAINING_CONTAINER.value)
TYPES = ("master", "worker")


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of an XGBoostTrainingJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = []
    roles = [_count_master(one) for one in parse_typed_roles(spec, TYPES, diagnostics)]
    if not spec.get("roles").value:
        roles = _split_master_and_workers(spec)
    tree = compile_training_job(profile, inventory, "XGBoostTrainingJob", CONTAINER, roles, diagnostics)
    return tree, diagnostics


def _count_master(one: TrainingRole) -> TrainingRole:
    """Return the role; the master does not take the number of replicas of the job, because it is one."""
    if one.role.name != "master" or one.role.entry.get("replicas").exists:
        return one
    return one._replace(replicas=None)


def _split_master_and_workers(spec: Cursor) -> list[TrainingRole]:
    """Return a master, and workers for the rest of ``replicas``."""
    count = spec.get("replicas")
    master, worker = (ProfileRole(name, spec.get("roles", 0), spec) for name in TYPES)
    origin = count if count.exists else spec
    roles = [TrainingRole(master, attribute_to((kind_behaviors.XGBOOST_SPLIT, origin), 1))]
    if isinstance(count.value, int) and count.value > 1:
        rest = compute_traced(lambda replicas: replicas - 1, count, behavior=kind_behaviors.XGBOOST_SPLIT)
        roles.append(TrainingRole(worker, rest))
    return roles
