"""The KindSpec of GenericJob."""

from __future__ import annotations

from podplan.kinds.spec import CleanUp, ReplicaTypesField
from podplan.kinds.t9k.spec import build_spec
from podplan.kinds.t9k.traits import COMMON_TRAITS

SPEC = build_spec(
    __package__ or "",
    "genericjobs",
    option_prefix="generic",
    replica_types=(ReplicaTypesField(("spec", "replicaSpecs")),),
    profile_fields=frozenset(("restart", "retries", "cleanUp", "generic")),
    role_fields=frozenset(("restart", "retries")),
    traits=COMMON_TRAITS
    | {
        "success-rules",
        "service-on-request",
        "env-expressions",
        "self-launched",
        "ranks-by-user",
        "mpirun-by-user",
        "restarts-by-controller",
        "restart-limit",
    },
    clean_up=CleanUp(("cleanUpPolicy",), "None", "Unfinished"),
    run_policy_path=(),
)
