"""Compiles a profile to a PyTorchTrainingJob."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, Traced, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.kinds.common.hardware import NodeRequest, resolve_node_request, resolve_process_count
from podplan.kinds.common.merge import drop_absent, to_plain_data
from podplan.kinds.common.profile import (
    ProfileRole,
    format_scalar,
    parse_free_roles,
    prepend_words,
    require_choice,
    stringify_list,
)
from podplan.kinds.common.run import (
    RUN_FORMS,
    RunCommand,
    build_command,
    build_module_option,
    copy_command_and_args,
    parse_run,
)
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.pytorch_training_job import behaviors as kind_behaviors
from podplan.kinds.t9k.run_policy import (
    build_elastic,
    build_run_mode,
    build_run_policy,
    build_scheduler,
    copy_if_written,
    read_restart,
)

DEFAULT_CONTAINER = "pytorch"
PREFERRED_CONTAINER = str(kind_behaviors.PYTORCH_TRAINING_CONTAINER.value)


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a PyTorchTrainingJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = []
    launcher = require_choice(spec.get("launcher"), ("torchrun", "python"), spec, diagnostics)
    under_torchrun = launcher is not None and launcher.value == "torchrun"
    roles = parse_free_roles(spec)
    node_requests = [(role, resolve_node_request(role, inventory, diagnostics)) for role in roles]
    run_commands = [
        parse_run(role.get_field("run"), RUN_FORMS, "PyTorchTrainingJob", diagnostics) for role in roles
    ]
    command_fields = [
        _build_torchrun_args(words) if under_torchrun else build_command(words) for words in run_commands
    ]
    programs = [words.words for words in run_commands if words.form == "exec"] if under_torchrun else []
    tree = {
        "scheduler": build_scheduler(spec),
        "runPolicy": build_run_policy(spec, diagnostics),
        "runMode": build_run_mode(spec, roles),
        "elastic": build_elastic(spec),
        "torchrunConfig": _build_torchrun_config(
            spec, launcher, _resolve_processes(spec, under_torchrun, node_requests, diagnostics), programs
        ),
        "tensorboardSpec": copy_if_written(spec.get("tensorboard")),
        "replicaSpecs": attribute_to(
            spec,
            [
                _build_replica_spec(role, given, launch, diagnostics)
                for (role, given), launch in zip(node_requests, command_fields, strict=True)
            ],
        ),
    }
    return attribute_to(spec, drop_absent(tree)), diagnostics


def _build_replica_spec(
    role: ProfileRole,
    node_request: NodeRequest,
    command_fields: dict[str, Any],
    diagnostics: list[Diagnostic],
) -> Any:
    template = build_pod_template(
        role, DEFAULT_CONTAINER, command_fields, node_request, diagnostics, PREFERRED_CONTAINER
    )
    _reject_second_training_container(role, template, diagnostics)
    tree = {
        "type": role.replica_type,
        "replicas": role.get_field("replicas"),
        "scalingWeight": role.entry.get("scalingWeight"),
        "restartPolicy": read_restart(role, diagnostics),
        "template": template,
    }
    return attribute_to(role.origin_cursor, drop_absent(tree))


def _build_torchrun_args(run_command: RunCommand) -> dict[str, Any]:
    """Return the args that torchrun reads script or module from; it ignores the command.

    Source: docs/evidence/t9k-pytorchtrainingjob.md#torchrun-mode.
    """
    if run_command.form == "module":
        return {"args": prepend_words(build_module_option(run_command), run_command.words)}
    return (
        {"args": stringify_list(run_command.words)}
        if run_command.form in ("python", "exec")
        else copy_command_and_args(run_command)
    )


def _resolve_processes(
    spec: Cursor,
    under_torchrun: bool,
    node_requests: list[tuple[ProfileRole, NodeRequest]],
    diagnostics: list[Diagnostic],
) -> Any:
    """Return ``processes`` as procPerNode, which is a string: a number, or what torchrun counts."""
    processes_field, proc_per_node = spec.get("processes"), spec.get("torchrun", "procPerNode")
    if processes_field.exists and not under_torchrun:
        message = (
            "processes has an effect only with launcher: torchrun; without it, each replica is one process"
        )
        launcher = spec.get("launcher")
        related = ((launcher.path, "the launcher of this profile"),) if launcher.exists else ()
        diagnostics.append(Diagnostic("PROF021", message, processes_field.path, on_key=True, related=related))
        return None
    if processes_field.exists and proc_per_node.exists:
        message = "processes and torchrun.procPerNode both say how many processes there are; keep one"
        diagnostics.append(
            Diagnostic(
                "PROF021", message, proc_per_node.path, related=((processes_field.path, "the other one"),)
            )
        )
    if not processes_field.exists:
        return proc_per_node
    count = resolve_process_count(processes_field, node_requests, diagnostics)
    if isinstance(count, Traced):
        return count._replace(value=format_scalar(count.value))
    return compute_traced(format_scalar, count) if count is not None else None


def _build_torchrun_config(
    spec: Cursor, launcher: Cursor | None, processes: Any, programs: list[Cursor]
) -> Any:
    """Return ``launcher`` and ``torchrun`` as a TorchrunConfig; with launcher: python a written block is
    disabled."""
    torchrun_section = spec.get("torchrun")
    is_enabled = launcher is not None and launcher.value == "torchrun"
    if not is_enabled and not torchrun_section.exists:
        return None
    options = torchrun_section.get("extraOptions")
    tree = {
        "enabled": attribute_to(launcher, is_enabled) if launcher is not None and launcher.exists else None,
        "maxRestarts": torchrun_section.get("maxRestarts"),
        "procPerNode": processes,
        "rdzvBackend": torchrun_section.get("rdzvBackend"),
        "extraOptions": _build_extra_options(options, programs),
    }
    return attribute_to(
        launcher if is_enabled and launcher is not None else torchrun_section, drop_absent(tree)
    )


def _build_extra_options(options: Cursor, programs: list[Cursor]) -> Any:
    """Return ``extraOptions``, with --no-python if torchrun runs a program."""
    if not programs:
        return stringify_list(options) if options.exists else None
    flag = attribute_to((behaviors.TORCHRUN_PROGRAM, programs[0]), "--no-python")
    return attribute_to(programs[0], [*options.entries(), flag])


def _reject_second_training_container(
    role: ProfileRole, template: Any, diagnostics: list[Diagnostic]
) -> None:
    """Add a diagnostic if another container is called python: the controller would take it for the
    training container."""
    data = to_plain_data(template) or {}
    spec = data.get("spec") if isinstance(data, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    entries = containers if isinstance(containers, list) else []
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    if PREFERRED_CONTAINER in names[1:] and names[0] == _find_container_name(role):
        message = (
            f'the controller takes a container called "{PREFERRED_CONTAINER}" for the training container; '
            "give this one another name"
        )
        pod_cursor = role.entry.get("pod") if role.entry.get("pod").exists else role.spec.get("pod")
        diagnostics.append(Diagnostic("PROF021", message, pod_cursor.path))


def _find_container_name(role: ProfileRole) -> str:
    """Return the name of the training container in the profile."""
    names = [extra.get("name").value for extra in role.get_layers("container")]
    return next((str(name) for name in reversed(names) if name is not None), DEFAULT_CONTAINER)
