"""A profile as a DeepSpeedJob."""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, at
from podplan.core.typing import Any
from podplan.kinds.common.hardware import node, process_count
from podplan.kinds.common.merge import present
from podplan.kinds.common.profile import fixed_roles, strings
from podplan.kinds.common.run import run
from podplan.kinds.common.template import pod_template
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.run_policy import allowed, elastic, restart, run_mode, run_policy, scheduler

FIELDS = frozenset(
    ("launcher", "processes", "elastic", "restart", "deadline", "retries", "cleanUp", "deepspeed")
)
ROLE_FIELDS = frozenset(("restart",))
PREFERRED = str(behaviors.DEEPSPEED_TRAINING_CONTAINER.value)
RUN_FORMS = ("python", "module", "exec")


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Problem]]:
    """The spec of a DeepSpeedJob as a marked tree, and what is wrong with the profile."""
    spec = profile.get("spec")
    problems: list[Problem] = []
    allowed(spec.get("launcher"), ("deepspeed",), spec, problems)
    role = fixed_roles(spec, ("worker",), problems)[0]
    given = node(role, inventory, problems)
    said = run(role.get("run"), RUN_FORMS, "DeepSpeedJob", problems)
    block = spec.get("deepspeed")
    config = {
        "customCommand": block.get("customCommand"),
        "slotsPerWorker": process_count(spec.get("processes"), [(role, given)], problems),
        "localRank": block.get("localRank"),
        "autotune": block.get("autotune"),
        "run": at(said.words, {said.form: strings(said.words)}) if said.form else None,
        "otherArgs": strings(block.get("otherArgs")),
    }
    worker = {
        "replicas": role.get("replicas"),
        "restartPolicy": restart(role, problems),
        "template": pod_template(role, "worker", {}, given, problems, PREFERRED),
    }
    tree = {
        "scheduler": scheduler(spec),
        "runPolicy": run_policy(spec, problems),
        "runMode": run_mode(spec, [role]),
        "elastic": elastic(spec),
        "config": at(spec, present(config)) if present(config) else None,
        "disableCustomEnv": block.get("disableCustomEnv"),
        "worker": at(role.why, present(worker)) if present(worker) else None,
    }
    return at(spec, present(tree)), problems
