"""The KindSpec of ColossalAIJob."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.typing import Any
from podplan.kinds.spec import CleanUp, ProposedOptions, ReplicaTypesField, RequiredReplicaType
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.colossalai_job import behaviors as kind_behaviors
from podplan.kinds.t9k.spec import build_spec
from podplan.kinds.t9k.traits import COMMON_TRAITS


def _validate_cr(dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    from podplan.kinds.t9k.colossalai_job.validation import validate_cr

    return validate_cr(dialect, cr)


# Source of the dialects: docs/evidence/t9k-colossalaijob.md
SPEC = build_spec(
    __package__ or "",
    "colossalaijobs",
    option_prefix="colossalai",
    dialects={"replicaSpecs": ("torchConfig", "replicaSpecs"), "launcher": ("launcher", "worker")},
    training_container=kind_behaviors.COLOSSALAI_TRAINING_CONTAINER,
    replica_types=(
        ReplicaTypesField(("spec", "replicaSpecs")),
        ReplicaTypesField(("spec", "launcher"), "entry"),
        ReplicaTypesField(("spec", "worker"), "entry"),
    ),
    validate_cr=_validate_cr,
    superseded_dialects=("launcher",),
    profile_fields=frozenset(("launcher", "processes", "restart", "retries", "cleanUp", "colossalai")),
    role_fields=frozenset(("restart", "retries")),
    proposed_options=ProposedOptions(
        training_containers=("colossalai.training-container", "colossalai.launcher-container"),
        launch_arguments="colossalai.run",
        launch_flags={
            "--hostfile": "hostfile",
            "--nproc_per_node": "processes",
            "--extra_launch_args": "launch-arguments",
        },
        hostfile_line="colossalai.hostfile-line",
    ),
    starter_fields={"launcher": "colossalai", "cleanUp": "Workers"},
    traits=COMMON_TRAITS
    | {
        "colossalai-by-controller",
        "command-by-controller",
        "container-contract",
        "launcher-replica",
        "ssh",
        "ssh-mount-path",
        "launched-over-ssh",
    },
    launcher_container=kind_behaviors.COLOSSALAI_LAUNCHER_CONTAINER,
    reserved_mounts=(behaviors.SSH_MOUNT_PATH,),
    ssh_path=("spec", "ssh", "authMountPath"),
    clean_up=CleanUp(("runPolicy", "cleanUpWorkers"), False, "true"),
    required_replica_types={
        "worker": RequiredReplicaType("the launcher has no host to start the training on"),
        "launcher": RequiredReplicaType("nothing starts the training on the workers", is_defaulted=True),
    },
)
