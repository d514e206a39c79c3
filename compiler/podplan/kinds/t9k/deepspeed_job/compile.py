"""Compiles a profile to a DeepSpeedJob."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.common.hardware import resolve_node_request, resolve_process_count
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import parse_fixed_roles, require_choice, stringify_list
from podplan.kinds.common.run import parse_run
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.t9k.deepspeed_job import behaviors as kind_behaviors
from podplan.kinds.t9k.run_policy import (
    build_elastic,
    build_run_mode,
    build_run_policy,
    build_scheduler,
    read_restart,
)

PREFERRED_CONTAINER = str(kind_behaviors.DEEPSPEED_TRAINING_CONTAINER.value)
RUN_FORMS = ("python", "module", "exec")


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a DeepSpeedJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = []
    require_choice(spec.get("launcher"), ("deepspeed",), spec, diagnostics)
    role = parse_fixed_roles(spec, ("worker",), diagnostics)[0]
    node_request = resolve_node_request(role, inventory, diagnostics)
    run_command = parse_run(role.get_field("run"), RUN_FORMS, "DeepSpeedJob", diagnostics)
    deepspeed_section = spec.get("deepspeed")
    config = {
        "customCommand": deepspeed_section.get("customCommand"),
        "slotsPerWorker": resolve_process_count(spec.get("processes"), [(role, node_request)], diagnostics),
        "localRank": deepspeed_section.get("localRank"),
        "autotune": deepspeed_section.get("autotune"),
        "run": attribute_to(run_command.words, {run_command.form: stringify_list(run_command.words)})
        if run_command.form
        else None,
        "otherArgs": stringify_list(deepspeed_section.get("otherArgs")),
    }
    worker = {
        "replicas": role.get_field("replicas"),
        "restartPolicy": read_restart(role, diagnostics),
        "template": build_pod_template(role, "worker", {}, node_request, diagnostics, PREFERRED_CONTAINER),
    }
    tree = {
        "scheduler": build_scheduler(spec),
        "runPolicy": build_run_policy(spec, diagnostics),
        "runMode": build_run_mode(spec, [role]),
        "elastic": build_elastic(spec),
        "config": attribute_to(spec, drop_absent(config)) if drop_absent(config) else None,
        "disableCustomEnv": deepspeed_section.get("disableCustomEnv"),
        "worker": attribute_to(role.origin_cursor, drop_absent(worker)) if drop_absent(worker) else None,
    }
    return attribute_to(spec, drop_absent(tree)), diagnostics
