"""A profile as a PyTorchTrainingJob."""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, Marked, at, computed
from podplan.core.typing import Any
from podplan.kinds.common.hardware import Node, node, process_count
from podplan.kinds.common.merge import plain, present
from podplan.kinds.common.profile import Role, open_roles, strings, text, with_first
from podplan.kinds.common.run import FORMS, Run, as_command, minus_m, run, verbatim
from podplan.kinds.common.template import pod_template
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.run_policy import (
    allowed,
    as_written,
    elastic,
    restart,
    run_mode,
    run_policy,
    scheduler,
)

FIELDS = frozenset(
    (
        "launcher",
        "processes",
        "elastic",
        "restart",
        "deadline",
        "retries",
        "cleanUp",
        "torchrun",
        "tensorboard",
    )
)
ROLE_FIELDS = frozenset(("restart", "scalingWeight"))
CONTAINER = "pytorch"
PREFERRED = str(behaviors.PYTORCH_TRAINING_CONTAINER.value)


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Problem]]:
    """The spec of a PyTorchTrainingJob as a marked tree, and what is wrong with the profile."""
    spec = profile.get("spec")
    problems: list[Problem] = []
    launcher = allowed(spec.get("launcher"), ("torchrun", "python"), spec, problems)
    under_torchrun = launcher is not None and launcher.value == "torchrun"
    roles = open_roles(spec)
    nodes = [(role, node(role, inventory, problems)) for role in roles]
    said = [run(role.get("run"), FORMS, "PyTorchTrainingJob", problems) for role in roles]
    launches = [_under_torchrun(words) if under_torchrun else as_command(words) for words in said]
    programs = [words.words for words in said if words.form == "exec"] if under_torchrun else []
    tree = {
        "scheduler": scheduler(spec),
        "runPolicy": run_policy(spec, problems),
        "runMode": run_mode(spec, roles),
        "elastic": elastic(spec),
        "torchrunConfig": _torchrun(
            spec, launcher, _processes(spec, under_torchrun, nodes, problems), programs
        ),
        "tensorboardSpec": as_written(spec.get("tensorboard")),
        "replicaSpecs": at(
            spec,
            [
                _replica_spec(role, given, launch, problems)
                for (role, given), launch in zip(nodes, launches, strict=True)
            ],
        ),
    }
    return at(spec, present(tree)), problems


def _replica_spec(role: Role, given: Node, launch: dict[str, Any], problems: list[Problem]) -> Any:
    template = pod_template(role, CONTAINER, launch, given, problems, PREFERRED)
    _one_training_container(role, template, problems)
    tree = {
        "type": role.type,
        "replicas": role.get("replicas"),
        "scalingWeight": role.where.get("scalingWeight"),
        "restartPolicy": restart(role, problems),
        "template": template,
    }
    return at(role.why, present(tree))


def _under_torchrun(said: Run) -> dict[str, Any]:
    """torchrun takes script or module from the args, and ignores the command.

    Source: docs/evidence/t9k-pytorchtrainingjob.md#torchrun-mode.
    """
    if said.form == "module":
        return {"args": with_first(minus_m(said), said.words)}
    return {"args": strings(said.words)} if said.form in ("python", "exec") else verbatim(said)


def _processes(
    spec: Cursor, under_torchrun: bool, nodes: list[tuple[Role, Node]], problems: list[Problem]
) -> Any:
    """``processes``, or who counts them, as procPerNode; it is a string there."""
    asked, own = spec.get("processes"), spec.get("torchrun", "procPerNode")
    if asked.exists and not under_torchrun:
        message = (
            "processes has an effect only with launcher: torchrun; without it, each replica is one process"
        )
        problems.append(Problem("PROF021", message, asked.path, on_key=True))
        return None
    if asked.exists and own.exists:
        message = "processes and torchrun.procPerNode both say how many processes there are; keep one"
        problems.append(Problem("PROF021", message, own.path, related=((asked.path, "the other one"),)))
    if not asked.exists:
        return own
    count = process_count(asked, nodes, problems)
    if isinstance(count, Marked):
        return count._replace(value=text(count.value))
    return computed(text, count) if count is not None else None


def _torchrun(spec: Cursor, launcher: Cursor | None, processes: Any, programs: list[Cursor]) -> Any:
    """``launcher`` and ``torchrun`` as a TorchrunConfig; a block beside launcher: python stands disabled."""
    block = spec.get("torchrun")
    enabled = launcher is not None and launcher.value == "torchrun"
    if not enabled and not block.exists:
        return None
    options = block.get("extraOptions")
    tree = {
        "enabled": at(launcher, enabled) if launcher is not None and launcher.exists else None,
        "maxRestarts": block.get("maxRestarts"),
        "procPerNode": processes,
        "rdzvBackend": block.get("rdzvBackend"),
        "extraOptions": _with_no_python(options, programs),
    }
    return at(launcher if enabled and launcher is not None else block, present(tree))


def _with_no_python(options: Cursor, programs: list[Cursor]) -> Any:
    """``extraOptions``, and --no-python where torchrun is to run a program."""
    if not programs:
        return strings(options) if options.exists else None
    flag = at((behaviors.TORCHRUN_PROGRAM, programs[0]), "--no-python")
    return at(programs[0], [*options.entries(), flag])


def _one_training_container(role: Role, template: Any, problems: list[Problem]) -> None:
    """A problem when another container is called python, which the controller would take for the training."""
    data = plain(template) or {}
    spec = data.get("spec") if isinstance(data, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    entries = containers if isinstance(containers, list) else []
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    if PREFERRED in names[1:] and names[0] == _container_name(role):
        message = (
            f'the controller takes a container called "{PREFERRED}" for the training container; '
            "give this one another name"
        )
        where = role.where.get("pod") if role.where.get("pod").exists else role.spec.get("pod")
        problems.append(Problem("PROF021", message, where.path))


def _container_name(role: Role) -> str:
    """What the profile calls the training container."""
    names = [extra.get("name").value for extra in role.both("container")]
    return next((str(name) for name in reversed(names) if name is not None), CONTAINER)
