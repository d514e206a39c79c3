"""A profile as a ColossalAIJob, in either dialect of its API."""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, at, computed
from podplan.core.typing import Any
from podplan.kinds.common.env import env
from podplan.kinds.common.hardware import Node, node, process_count
from podplan.kinds.common.merge import present
from podplan.kinds.common.profile import Role, enumeration, fixed_roles, strings
from podplan.kinds.common.run import Run, run
from podplan.kinds.common.template import pod_template
from podplan.kinds.t9k.run_policy import allowed, as_written, restart_policy, run_mode, scheduler

FIELDS = frozenset(("launcher", "processes", "restart", "retries", "cleanUp", "colossalai"))
ROLE_FIELDS = frozenset(("restart", "retries"))
# The launcher only starts the workers: it shares their image, directory and env, not their hardware.
LAUNCHER_INHERITS = frozenset(("image", "workingDir", "env", "pod", "debug", "resume"))
LAUNCHER_FIELDS = ("image", "workingDir", "env", "resources")


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Problem]]:
    """The spec of a ColossalAIJob as a marked tree, and what is wrong with the profile."""
    spec = profile.get("spec")
    problems: list[Problem] = []
    allowed(spec.get("launcher"), ("colossalai",), spec, problems)
    block = spec.get("colossalai")
    roles = [
        role._replace(inherits=LAUNCHER_INHERITS) if role.name == "launcher" else role
        for role in fixed_roles(spec, ("launcher", "worker"), problems)
    ]
    worker = next(role for role in roles if role.name == "worker")
    nodes = {role.name: node(role, inventory, problems) for role in roles}
    processes = process_count(spec.get("processes"), [(worker, nodes["worker"])], problems)
    said = run(worker.get("run"), ("python",), "ColossalAIJob", problems)
    problems += _idle_run(roles)
    tree = {
        "scheduler": scheduler(spec),
        "runPolicy": _run_policy(spec, problems),
        "runMode": run_mode(spec, roles),
        "ssh": as_written(block.get("ssh")),
    }
    form = _launcher_dialect if block.get("dialect").value == "launcher" else _replica_specs_dialect
    return at(spec, present({**tree, **form(spec, roles, nodes, processes, said, problems)})), problems


def _replica_specs_dialect(
    spec: Cursor,
    roles: list[Role],
    nodes: dict[str, Node],
    processes: Any,
    said: Run,
    problems: list[Problem],
) -> dict[str, Any]:
    config = present({
        "procPerWorker": processes,
        "script": strings(said.words) if said.form else None,
        "extraArgs": strings(spec.get("colossalai", "extraArgs")),
    })  # fmt: skip
    specs = [_replica_spec(role, nodes[role.name], problems) for role in roles]
    written = [entry for entry in specs if entry is not None]
    return {
        "torchConfig": at(spec, config) if config else None,
        "replicaSpecs": at(spec, written) if written else None,
    }


def _replica_spec(role: Role, given: Node, problems: list[Problem]) -> Any:
    """One entry of replicaSpecs; None when the profile says nothing of the role."""
    tree = present({
        "replicas": role.get("replicas"),
        "restartPolicy": restart_policy(role, problems),
        "template": pod_template(role, role.name, {}, given, problems, role.name),
    })  # fmt: skip
    if not tree and not role.where.exists:
        return None
    return at(role.why, {"type": role.type, **tree})


def _launcher_dialect(
    spec: Cursor,
    roles: list[Role],
    nodes: dict[str, Node],
    processes: Any,
    said: Run,
    problems: list[Problem],
) -> dict[str, Any]:
    by_name = {role.name: role for role in roles}
    worker = by_name["worker"]
    _no_restarts(spec, roles, problems)
    tree = present({
        "replicas": worker.get("replicas"),
        "procPerWorker": processes,
        "command": strings(said.words) if said.form else None,
        "torchArgs": strings(spec.get("colossalai", "extraArgs")),
        "template": pod_template(worker, "worker", {}, nodes["worker"], problems, "worker"),
    })  # fmt: skip
    return {
        "launcher": _launcher(by_name["launcher"], nodes["launcher"], problems),
        "worker": at(worker.why, tree) if tree else None,
    }


def _launcher(role: Role, given: Node, problems: list[Problem]) -> Any:
    """The launcher of the launcher dialect, which has no template."""
    for field, place in role.where.fields().items():
        if field not in (*LAUNCHER_FIELDS, "name", "hardware", "run", "debug", "resume"):
            listed = enumeration(list(LAUNCHER_FIELDS))
            message = f"in the launcher dialect, the launcher has no {field}, only {listed}"
            problems.append(Problem("PROF020", message, place.path, on_key=True))
    tree = present({
        "image": role.get("image"),
        "workingDir": role.get("workingDir"),
        "env": env(role),
        "resources": given.resources,
    })  # fmt: skip
    return at(role.why, tree) if tree else None


def _idle_run(roles: list[Role]) -> list[Problem]:
    """A problem for a launcher that is to run something else: it starts what the workers run."""
    places = [role.where.get("run") for role in roles if role.name == "launcher"]
    message = "the launcher starts what the workers run; write run in the spec"
    return [Problem("PROF020", message, place.path, on_key=True) for place in places if place.exists]


def _no_restarts(spec: Cursor, roles: list[Role], problems: list[Problem]) -> None:
    """A problem for each restart or retries: only the replicaSpecs dialect has a restartPolicy."""
    for where in (spec, *(role.where for role in roles)):
        for field in ("restart", "retries"):
            if where.get(field).exists:
                message = f"{field} has an effect only with colossalai.dialect: replicaSpecs"
                problems.append(Problem("PROF021", message, where.get(field).path, on_key=True))


def _run_policy(spec: Cursor, problems: list[Problem]) -> Any:
    clean_up = allowed(spec.get("cleanUp"), ("None", "Workers"), spec, problems)
    if clean_up is None or not clean_up.exists:
        return None
    return at(clean_up, {"cleanUpWorkers": computed(lambda value: value == "Workers", clean_up)})
