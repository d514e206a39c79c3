"""The KindSpec of GenericJob."""

from __future__ import annotations

from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.spec import CleanUp, KindSpec, ReplicaTypesField
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k import spec as family
from podplan.kinds.t9k.traits import COMMON_TRAITS

if TYPE_CHECKING:
    from podplan.kinds.status_rules import StatusRules


def _load_status_rules() -> StatusRules:
    from podplan.kinds.t9k.generic_job.status import STATUS_RULES

    return STATUS_RULES


SPEC = KindSpec(
    plural="genericjobs",
    option_prefix="generic",
    replica_types=(ReplicaTypesField(("spec", "replicaSpecs")),),
    queue_path=family.QUEUE_PATH,
    priority_path=family.PRIORITY_PATH,
    run_mode_path=family.RUN_MODE_PATH,
    profile_fields=frozenset(("restart", "retries", "cleanUp", "generic")),
    role_fields=frozenset(("restart", "retries")),
    owner_label=family.OWNER_LABEL,
    pod_group_label=family.POD_GROUP_LABEL,
    pod_group_api_version=str(behaviors.POD_GROUP_API.value),
    load_job_names=family.load_job_names,
    load_status_rules=_load_status_rules,
    load_change_rules=family.load_change_rules,
    traits=COMMON_TRAITS
    | {
        "success-rules",
        "service-on-request",
        "env-expressions",
        "self-launched",
        "mpirun-by-user",
        "restarts-by-controller",
        "restart-limit",
    },
    clean_up=CleanUp(("cleanUpPolicy",), "None", "Unfinished"),
)
