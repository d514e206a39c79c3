"""The KindSpec of BeamJob."""

from __future__ import annotations

from podplan.kinds.spec import KindSpec
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k import spec as family
from podplan.kinds.t9k.beam_job.validation import validate_cr

SPEC = KindSpec(
    plural="beamjobs",
    option_prefix="beam",
    validate_cr=validate_cr,
    queue_path=family.QUEUE_PATH,
    priority_path=family.PRIORITY_PATH,
    run_policy_path=family.RUN_POLICY_PATH,
    owner_label=family.OWNER_LABEL,
    pod_group_label=family.POD_GROUP_LABEL,
    pod_group_api_version=str(behaviors.POD_GROUP_API.value),
    load_job_names=family.load_job_names,
    load_change_rules=family.load_change_rules,
    traits=frozenset({"t9k-scheduler", "run-mode-ignored"}),
)
