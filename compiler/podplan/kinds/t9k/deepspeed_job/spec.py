"""The KindSpec of DeepSpeedJob."""

from __future__ import annotations

from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.spec import CleanUp, KindSpec, ProposedOptions, ReplicaTypesField, RequiredReplicaType
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k import spec as family
from podplan.kinds.t9k.deepspeed_job import behaviors as kind_behaviors
from podplan.kinds.t9k.traits import COMMON_TRAITS

if TYPE_CHECKING:
    from podplan.kinds.status_rules import StatusRules


def _load_status_rules() -> StatusRules:
    from podplan.kinds.t9k.deepspeed_job.status import STATUS_RULES

    return STATUS_RULES


SPEC = KindSpec(
    plural="deepspeedjobs",
    option_prefix="deepspeed",
    training_container=kind_behaviors.DEEPSPEED_TRAINING_CONTAINER,
    replica_types=(ReplicaTypesField(("spec", "worker"), "entry"),),
    queue_path=family.QUEUE_PATH,
    priority_path=family.PRIORITY_PATH,
    run_policy_path=family.RUN_POLICY_PATH,
    run_mode_path=family.RUN_MODE_PATH,
    elastic_path=family.ELASTIC_PATH,
    profile_fields=frozenset(
        ("launcher", "processes", "elastic", "restart", "deadline", "retries", "cleanUp", "deepspeed")
    ),
    role_fields=frozenset(("restart",)),
    owner_label=family.OWNER_LABEL,
    pod_group_label=family.POD_GROUP_LABEL,
    pod_group_api_version=str(behaviors.POD_GROUP_API.value),
    load_job_names=family.load_job_names,
    proposed_options=ProposedOptions(
        training_containers=("deepspeed.training-container",),
        hostfile_line="deepspeed.hostfile-line",
        shell_launcher="deepspeed",
    ),
    starter_fields={"launcher": "deepspeed", "cleanUp": "Unfinished"},
    load_status_rules=_load_status_rules,
    load_change_rules=family.load_change_rules,
    traits=COMMON_TRAITS
    | {
        "deadline",
        "elastic",
        "deepspeed-by-controller",
        "command-by-controller",
        "training-container-by-name",
        "ssh",
        "launched-over-ssh",
        "restarts-by-controller",
        "shared-retries",
        "replica-restart-policy",
        "exit-code-restarts",
    },
    reserved_mounts=(
        behaviors.SSH_MOUNT_PATH,
        kind_behaviors.DEEPSPEED_HOSTFILE_PATH,
        kind_behaviors.DEEPSPEED_ENV_FILE_PATH,
    ),
    clean_up=CleanUp(("runPolicy", "cleanUpPolicy"), "None", "Unfinished"),
    required_replica_types={"worker": RequiredReplicaType("nothing runs deepspeed")},
)
