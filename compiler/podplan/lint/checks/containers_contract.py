"""What the controller expects of the containers of a CR: names, commands, mounts, variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.discovery import find_programs
from podplan.lint.analysis.jobs import (
    ReplicaSpec,
    find_kind_spec,
    find_torchrun_switch,
    get_replica_specs,
    has_trait,
    is_mode_enabled,
    spec_of,
)
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.resources import count_accelerators
from podplan.lint.analysis.training import (
    WrittenContainer,
    find_launcher_container_name,
    find_written_training_container,
    get_preferred_container_name,
    iter_env,
    list_written_containers,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_SIDECAR_NAME = compile_lazily(r".*(?:proxy|sidecar|istio|envoy|exporter|fluent|logger|log-|sync|monitor).*")
_PYTHON_COMMAND = compile_lazily(r"(?:.*/)?python[0-9.]*")
_STARTER_COMMAND = compile_lazily(r"(?:.*/)?(?:python[0-9.]*|torchrun)")
# A script or a module, and not the value of an option.
_SCRIPT_PATTERN = compile_lazily(r"\.[A-Za-z]\w*$|/")


@check(aliases=("training-container-missing",))
def training_container(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Workers without a container of the name that the controller needs; ``name``."""
    job = target.job
    for replica_spec in get_replica_specs(job):
        written_containers = list_written_containers(replica_spec)
        names = [get_text(found.data, "name") for found in written_containers]
        if (
            replica_spec.type == "worker"
            and names
            and all(names)
            and get_preferred_container_name(job) not in names
        ):
            values = {"name": get_preferred_container_name(job), "names": " and ".join(names)}
            yield Violation((*written_containers[0].path, "name"), values)


@check()
def launcher_container_name(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A launcher without a container of the name that the controller looks for.

    Values ``name`` and ``names``.
    """
    name = find_launcher_container_name(target.job)
    for replica_spec in get_replica_specs(target.job):
        written_containers = list_written_containers(replica_spec)
        names = [get_text(found.data, "name") for found in written_containers]
        if (
            replica_spec.type != "launcher"
            or replica_spec.path[1] != "replicaSpecs"
            or not written_containers
            or not all(names)
        ):
            continue
        if name not in names:
            yield Violation(
                (*written_containers[0].path, "name"), {"name": name, "names": " and ".join(names)}
            )


@check(aliases=("training-container-guessed",))
def training_container_by_position(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several containers, where the one that the controller selects is not the one that trains."""
    job = target.job
    name = get_preferred_container_name(job)
    if _is_torchrun_disabled(job):
        return
    for replica_spec in get_replica_specs(job):
        written_containers = list_written_containers(replica_spec)
        chosen = find_written_training_container(job, replica_spec)
        if chosen is None or len(written_containers) < 2:
            continue
        likelier_container = _find_likelier_container(written_containers, chosen)
        if likelier_container is not None:
            number = count_accelerators(likelier_container.data).number
            reason = (
                f"has {number} GPU{'s' if number != 1 else ''}"
                if number
                else "looks like the training container"
            )
            chosen_name = get_text(chosen.data, "name")
            values = {
                "why": "by its name" if chosen_name == name else f"because no container is named {name}",
                "name": name,
                "chosen": chosen_name,
                "other": get_text(likelier_container.data, "name"),
                "has": reason,
            }
            related = [(target.doc, (*likelier_container.path, "name"), f"this one {reason}")]
            gpus = count_accelerators(likelier_container.data).path
            if gpus is not None:
                related.append((target.doc, (*likelier_container.path, *gpus), "the GPUs"))
            yield Violation((*chosen.path, "name"), values, related)


def _find_likelier_container(
    written_containers: list[WrittenContainer], chosen: WrittenContainer
) -> WrittenContainer | None:
    """A container that is more likely to train than the chosen one."""
    if count_accelerators(chosen.data).number:
        return None
    with_gpus = [found for found in written_containers if count_accelerators(found.data).number]
    if with_gpus:
        return with_gpus[0]
    other_containers = [
        found for found in written_containers if not _SIDECAR_NAME.fullmatch(get_text(found.data, "name"))
    ]
    return (
        other_containers[0]
        if other_containers and _SIDECAR_NAME.fullmatch(get_text(chosen.data, "name"))
        else None
    )


@check()
def command_ignored(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A command or args that the controller replaces; values ``field``, ``by``, ``script`` and ``fix``."""
    job = target.job
    if _is_torchrun_disabled(job):
        return
    by_torchrun = has_trait(job, "torchrun-by-controller")
    for replica_spec in get_replica_specs(job):
        chosen = find_written_training_container(job, replica_spec)
        if chosen is None:
            continue
        for field in ("command", "args"):
            words = chosen.data.get(field)
            if not words or (by_torchrun and (field == "args" or _is_plain_python(words))):
                continue
            replacement = _describe_replacement(job, replica_spec.type)
            script = _find_script_field(job)
            field_path = (*chosen.path, field)
            values = {"field": field, "by": replacement, "script": script, "fix": f"remove {field}"}
            change = ("remove", field_path, None) if _has_run_field(job) else None
            related = find_torchrun_switch(job)
            violation = Violation(field_path, values, related, at_key=True, change=change, safe=True)
            yield (
                _add_torchrun_change(violation, job, replica_spec.type, chosen) if by_torchrun else violation
            )


def _describe_replacement(job: LoweredJob, replica_type: str) -> str:
    """What the controller runs instead of the command of a training container."""
    if has_trait(job, "torchrun-by-controller"):
        return "torchrun"
    if has_trait(job, "deepspeed-by-controller"):
        return "sshd and deepspeed"
    if replica_type != "launcher":
        return "sshd"
    return "mpirun" if has_trait(job, "mpirun-by-controller") else "colossalai run"


def _find_script_field(job: LoweredJob) -> str:
    """Return the field with the program that the launcher starts on the workers."""
    is_newest = "replicaSpecs" in spec_of(job)
    if has_trait(job, "mpirun-by-controller"):
        return "mpiConfig.script" if is_newest else "worker.cmd"
    return "torchConfig.script" if is_newest else "worker.command"


def _has_run_field(job: LoweredJob) -> bool:
    """Whether a CR has the field with the program of its launcher; otherwise only the command states it."""
    spec = spec_of(job)
    if has_trait(job, "deepspeed-by-controller"):
        config = get_mapping(spec, "config")
        return bool(config.get("customCommand")) or any(get_mapping(config, "run").values())
    if has_trait(job, "colossalai-by-controller"):
        return bool(
            get_mapping(spec, "torchConfig").get("script") or get_mapping(spec, "worker").get("command")
        )
    if has_trait(job, "mpirun-by-controller"):
        return bool(get_mapping(spec, "mpiConfig").get("script") or get_mapping(spec, "worker").get("cmd"))
    return True


def _add_torchrun_change(
    violation: Violation, job: LoweredJob, role: str, container: WrittenContainer
) -> Violation:
    """Add a fix that moves the script to args, if only the command names it.

    The change is safe if torchrun ran the script in args before and goes on, or had none to run.
    """
    movable_words = _find_movable_words(container.data)
    lines = [
        launch.invocation
        for launch in find_launches(job)
        if launch.group.replica_type == role and launch.torchrun
    ]
    script = lines[0].script if lines else None
    ran = script is not None and all(fault.condition for fault in lines[0].errors)
    is_named = script is not None and ("module" in lines[0].options or _SCRIPT_PATTERN.search(script.text))
    if ran and (movable_words is None or is_named):
        return violation
    if movable_words is None:
        return violation._replace(change=None)  # nothing else states what to run
    values = {**violation.values, "fix": "move its words to args"}
    args = (*container.path, "args")
    changes: list[tuple[str, Path, Any]]
    if "args" in container.data:
        changes = [("prepend", args, movable_words), ("remove", violation.path, None)]
    else:
        number = len(container.data["command"]) - len(movable_words)
        changes = [("rename", violation.path, "args")] + [
            ("remove", (*violation.path, at), None) for at in range(number)
        ]
    return violation._replace(values=values, change=changes[0], more_changes=tuple(changes[1:]), safe=not ran)


def _find_movable_words(container: Mapping[str, Any]) -> list[str] | None:
    """Return the words of a command that torchrun takes as args: a script or a module with its arguments.

    For a torchrun command, all words after its name. None if the command starts anything else.
    """
    words = container.get("command")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    invocations = find_programs({"command": words}).invocations
    if len(invocations) != 1 or not _STARTER_COMMAND.fullmatch(words[0]) or invocations[0].script is None:
        return None
    line, script_index = invocations[0], invocations[0].script.path[-1]
    if not isinstance(script_index, int) or invocations[0].script.text != words[script_index]:
        return None
    if line.launcher == "python":
        return words[script_index - 1 :] if words[script_index - 1] == "-m" else words[script_index:]
    first = line.words[0].path[-1]
    is_torchrun = line.launcher in ("torchrun", "torch.distributed.launch")
    return words[first:] if is_torchrun and isinstance(first, int) else None


def _is_plain_python(words: Any) -> bool:
    """Whether a command is only the interpreter, which torchrun starts itself."""
    return (
        isinstance(words, list)
        and bool(_PYTHON_COMMAND.fullmatch(str(words[0])))
        and words[1:] in ([], ["-u"])
    )


@check()
def reserved_mount(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A mount at or below a path that the controller mounts itself; values ``path`` and ``reserved``."""
    job = target.job
    reserved = _list_reserved_paths(job)
    for replica_spec in get_replica_specs(job):
        chosen = find_written_training_container(job, replica_spec)
        if chosen is None:
            continue
        for number, mount in get_entries(chosen.data, "volumeMounts"):
            path = get_text(mount, "mountPath").rstrip("/")
            for reserved_path in reserved:
                if path == reserved_path or path.startswith(f"{reserved_path}/"):
                    mount_path = (*chosen.path, "volumeMounts", number, "mountPath")
                    yield Violation(mount_path, {"path": path, "reserved": reserved_path})


def _list_reserved_paths(job: LoweredJob) -> list[str]:
    kind_spec = find_kind_spec(job)
    if kind_spec is None or job.cr is None:
        return []
    paths = [str(behavior.value) for behavior in kind_spec.reserved_mounts]
    written_path = value_at(job.cr.data, kind_spec.ssh_path) if kind_spec.ssh_path else None
    if isinstance(written_path, str) and written_path:
        paths[:1] = [written_path.rstrip("/")]
    return paths


@check()
def duplicate_env(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable that one container sets twice, to different values; value ``name``."""
    job = ReplicaSpec("", ("spec",), spec_of(target.job))  # the Pod template of a Job is at that path
    for replica_spec in get_replica_specs(target.job) or (job,):
        for container in (
            *list_written_containers(replica_spec),
            *list_written_containers(replica_spec, "initContainers"),
        ):
            yield from _iter_duplicate_variables(target, container)


def _iter_duplicate_variables(target: Target, container: WrittenContainer) -> Iterator[Violation]:
    first_indexes: dict[str, int] = {}
    env_list = container.data.get("env")
    for number, name, entry in iter_env(container.data):
        first_index = first_indexes.setdefault(name, number)
        if first_index != number and isinstance(env_list, list) and entry != env_list[first_index]:
            path = (*container.path, "env", first_index)
            label = "the first entry"
            yield Violation((*container.path, "env", number), {"name": name}, [(target.doc, path, label)])


def _is_torchrun_disabled(job: LoweredJob) -> bool:
    """Whether the controller supports torchrun, but the CR does not enable it."""
    is_enabled = get_mapping(spec_of(job), "torchrunConfig").get("enabled") is True
    return has_trait(job, "torchrun-by-controller") and (not is_enabled or is_mode_enabled(job, "debug"))
