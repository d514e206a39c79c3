"""The KindSpec of ColossalAIJob."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kinds.spec import CleanUp, KindSpec, ProposedOptions, ReplicaTypesField, RequiredReplicaType
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k import spec as family
from podplan.kinds.t9k.colossalai_job import behaviors as kind_behaviors
from podplan.kinds.t9k.traits import COMMON_TRAITS

if TYPE_CHECKING:
    from podplan.kinds.status_rules import StatusRules


def _load_status_rules() -> StatusRules:
    from podplan.kinds.t9k.colossalai_job.status import STATUS_RULES

    return STATUS_RULES


def _validate_cr(dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    from podplan.kinds.t9k.colossalai_job.validation import validate_cr

    return validate_cr(dialect, cr)


# Source of the dialects: docs/evidence/t9k-colossalaijob.md
SPEC = KindSpec(
    plural="colossalaijobs",
    option_prefix="colossalai",
    dialects={"replicaSpecs": ("torchConfig", "replicaSpecs"), "launcher": ("launcher", "worker")},
    training_container=kind_behaviors.COLOSSALAI_TRAINING_CONTAINER,
    replica_types=(
        ReplicaTypesField(("spec", "replicaSpecs")),
        ReplicaTypesField(("spec", "launcher"), "entry"),
        ReplicaTypesField(("spec", "worker"), "entry"),
    ),
    queue_path=family.QUEUE_PATH,
    priority_path=family.PRIORITY_PATH,
    run_policy_path=family.RUN_POLICY_PATH,
    run_mode_path=family.RUN_MODE_PATH,
    validate_cr=_validate_cr,
    superseded_dialect="launcher",
    profile_fields=frozenset(("launcher", "processes", "restart", "retries", "cleanUp", "colossalai")),
    role_fields=frozenset(("restart", "retries")),
    owner_label=family.OWNER_LABEL,
    pod_group_label=family.POD_GROUP_LABEL,
    pod_group_api_version=str(behaviors.POD_GROUP_API.value),
    load_job_names=family.load_job_names,
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
    load_status_rules=_load_status_rules,
    load_change_rules=family.load_change_rules,
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
