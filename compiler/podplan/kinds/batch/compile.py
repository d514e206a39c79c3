"""A role of a profile as the spec of a Job: what Jobs and kinds that create Jobs share."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.batch.torchrun import FindAddress, build_torchrun_options
from podplan.kinds.common.behaviors import RESTART_NEVER
from podplan.kinds.common.hardware import resolve_node_request
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import ProfileRole, require_choice
from podplan.kinds.common.run import RUN_FORMS, build_command, build_torchrun_command, parse_run
from podplan.kinds.common.template import build_pod_template

RESTART_POLICIES = ("OnFailure", "Never")

TracedMap = dict[str, Any]


def build_job_fields(
    role: ProfileRole,
    inventory: Cursor,
    find_address: FindAddress | None,
    diagnostics: list[Diagnostic],
    *,
    requires_restart: bool,
    container: str = "",
) -> TracedMap:
    """Return the number of Pods and their template as fields of a Job.

    ``find_address`` is None for processes that torchrun does not start. ``requires_restart``: nothing sets a
    restart policy where the Job has none. ``container`` is the name of the training container if it is not
    that of the role.
    """
    spec, replicas = role.spec, role.get_field("replicas")
    run = parse_run(role.get_field("run"), RUN_FORMS, str(spec.get("job").value), diagnostics)
    request = resolve_node_request(role, inventory, diagnostics)
    if find_address is not None:
        options = build_torchrun_options(role, request, find_address, diagnostics)
        command = build_torchrun_command(spec, run, options)
    else:
        command = build_command(run)
    restart: Any = require_choice(role.get_field("restart"), RESTART_POLICIES, spec, diagnostics)
    if requires_restart and not role.get_field("restart").exists:
        restart = attribute_to((RESTART_NEVER, spec.get("job")), "Never")
    scheduling = drop_absent({"restartPolicy": restart, **request.scheduling})
    template = build_pod_template(
        role, container or role.name, command, request._replace(scheduling=scheduling), diagnostics
    )
    return {"parallelism": replicas, "completions": replicas, "template": template}
