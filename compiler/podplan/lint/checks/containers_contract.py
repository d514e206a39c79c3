"""What the controller expects of the containers of a CR: names, commands, mounts, variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kinds.t9k import behaviors
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.launchers.discovery import find
from podplan.lint.analysis.jobs import kind_of, mode, roles, spec_of
from podplan.lint.analysis.launches import launches
from podplan.lint.analysis.resources import accelerators
from podplan.lint.analysis.training import Written, containers, env, preferred, training
from podplan.lint.target import Hit, Job, Subject

_SIDECAR = pattern(r".*(?:proxy|sidecar|istio|envoy|exporter|fluent|logger|log-|sync|monitor).*")
_PYTHON = pattern(r"(?:.*/)?python[0-9.]*")
_STARTER = pattern(r"(?:.*/)?(?:python[0-9.]*|torchrun)")
# What is meant as a script, or as a module, and not as the value of an option of one.
_SCRIPT = pattern(r"\.[A-Za-z]\w*$|/")


def training_container_missing(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Workers of a ColossalAIJob without a container of the name that the controller needs; ``name``."""
    job = subject.job
    for role in roles(job):
        listed = containers(role)
        names = [text(found.data, "name") for found in listed]
        if role.type == "worker" and names and all(names) and preferred(job) not in names:
            values = {"name": preferred(job), "names": " and ".join(names)}
            yield Hit((*listed[0].path, "name"), values)


def launcher_container_name(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A launcher of a ColossalAIJob without a container of the name that the controller looks for.

    Values ``name`` and ``names``.
    """
    name = str(behaviors.COLOSSALAI_LAUNCHER_CONTAINER.value)
    for role in roles(subject.job):
        listed = containers(role)
        names = [text(found.data, "name") for found in listed]
        if role.type != "launcher" or role.path[1] != "replicaSpecs" or not listed or not all(names):
            continue
        if name not in names:
            yield Hit((*listed[0].path, "name"), {"name": name, "names": " and ".join(names)})


def training_container_guessed(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Several containers, of which the controller takes another than the one that trains."""
    job = subject.job
    name = preferred(job)
    if kind_of(job) == "PyTorchTrainingJob" and not _torchrun(job):
        return
    for role in roles(job):
        listed = containers(role)
        chosen = training(job, role)
        if chosen is None or len(listed) < 2:
            continue
        other = _better(listed, chosen)
        if other is not None:
            number = accelerators(other.data).number
            has = (
                f"has {number} GPU{'s' if number != 1 else ''}"
                if number
                else "looks like the one that trains"
            )
            values = {"name": name, "chosen": text(chosen.data, "name"), "other": text(other.data, "name")}
            where = (subject.doc, (*other.path, "name"), f"this one {has}")
            yield Hit((*chosen.path, "name"), {**values, "has": has}, [where])


def _better(listed: list[Written], chosen: Written) -> Written | None:
    """A container that is more likely to train than the chosen one."""
    if accelerators(chosen.data).number:
        return None
    with_gpus = [found for found in listed if accelerators(found.data).number]
    if with_gpus:
        return with_gpus[0]
    others = [found for found in listed if not _SIDECAR.fullmatch(text(found.data, "name"))]
    return others[0] if others and _SIDECAR.fullmatch(text(chosen.data, "name")) else None


def command_ignored(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A command or args that the controller replaces; values ``field``, ``by``, ``script`` and ``fix``."""
    job = subject.job
    kind = kind_of(job)
    if kind == "PyTorchTrainingJob" and not _torchrun(job):
        return
    for role in roles(job):
        chosen = training(job, role)
        if chosen is None:
            continue
        for field in ("command", "args"):
            words = chosen.data.get(field)
            if not words or (kind == "PyTorchTrainingJob" and (field == "args" or _is_python(words))):
                continue
            by = {"PyTorchTrainingJob": "torchrun", "DeepSpeedJob": "sshd and deepspeed"}.get(
                kind, "colossalai run" if role.type == "launcher" else "sshd"
            )
            script = "torchConfig.script" if "replicaSpecs" in spec_of(job) else "worker.command"
            where = (*chosen.path, field)
            values = {"field": field, "by": by, "script": script, "fix": f"leave {field} out"}
            change = ("remove", where, None) if _says_what_runs(job) else None
            hit = Hit(where, values, on_key=True, change=change, safe=True)
            yield hit if kind != "PyTorchTrainingJob" else _for_torchrun(hit, job, role.type, chosen)


def _says_what_runs(job: Job) -> bool:
    """Whether a CR has the field that says what its launcher runs; a command may be all that does."""
    spec = spec_of(job)
    if kind_of(job) == "DeepSpeedJob":
        config = mapping(spec, "config")
        return bool(config.get("customCommand")) or any(mapping(config, "run").values())
    if kind_of(job) == "ColossalAIJob":
        return bool(mapping(spec, "torchConfig").get("script") or mapping(spec, "worker").get("command"))
    return True


def _for_torchrun(hit: Hit, job: Job, role: str, container: Written) -> Hit:
    """The hit with a change that keeps the script where the command is the only place that names it.

    The change is safe if torchrun ran the script in args before and goes on, or had none to run.
    """
    moved = _moved(container.data)
    lines = [launch.invocation for launch in launches(job) if launch.group.role == role and launch.torchrun]
    script = lines[0].script if lines else None
    ran = script is not None and all(fault.only for fault in lines[0].errors)
    is_named = script is not None and ("module" in lines[0].options or _SCRIPT.search(script.text))
    if ran and (moved is None or is_named):
        return hit
    if moved is None:
        return hit._replace(change=None)  # nothing else says what somebody meant to run
    values = {**hit.values, "fix": "move its words to args"}
    args = (*container.path, "args")
    changes: list[tuple[str, Path, Any]]
    if "args" in container.data:
        changes = [("prepend", args, moved), ("remove", hit.path, None)]
    else:
        number = len(container.data["command"]) - len(moved)
        changes = [("rename", hit.path, "args")] + [("remove", (*hit.path, at), None) for at in range(number)]
    return hit._replace(values=values, change=changes[0], more_changes=tuple(changes[1:]), safe=not ran)


def _moved(container: Mapping[str, Any]) -> list[str] | None:
    """The words of a command that torchrun takes as args: a script or a module, and what follows it.

    Of a command of torchrun all words after its name. None where the command starts anything else.
    """
    words = container.get("command")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    found = find({"command": words}).invocations
    if len(found) != 1 or not _STARTER.fullmatch(words[0]) or found[0].script is None:
        return None
    line, at = found[0], found[0].script.path[-1]
    if not isinstance(at, int) or found[0].script.text != words[at]:
        return None
    if line.launcher == "python":
        return words[at - 1 :] if words[at - 1] == "-m" else words[at:]
    first = line.words[0].path[-1]
    is_torchrun = line.launcher in ("torchrun", "torch.distributed.launch")
    return words[first:] if is_torchrun and isinstance(first, int) else None


def _is_python(words: Any) -> bool:
    """Whether a command is only the interpreter: torchrun brings its own."""
    return isinstance(words, list) and bool(_PYTHON.fullmatch(str(words[0]))) and words[1:] in ([], ["-u"])


def reserved_mount(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A mount at or below a path that the controller mounts itself; values ``path`` and ``reserved``."""
    job = subject.job
    reserved = _reserved(job)
    for role in roles(job):
        chosen = training(job, role)
        if chosen is None:
            continue
        for number, mount in entries(chosen.data, "volumeMounts"):
            path = text(mount, "mountPath").rstrip("/")
            for taken in reserved:
                if path == taken or path.startswith(f"{taken}/"):
                    where = (*chosen.path, "volumeMounts", number, "mountPath")
                    yield Hit(where, {"path": path, "reserved": taken})


def _reserved(job: Job) -> list[str]:
    if kind_of(job) == "DeepSpeedJob":
        known = (
            behaviors.SSH_MOUNT_PATH,
            behaviors.DEEPSPEED_HOSTFILE_PATH,
            behaviors.DEEPSPEED_ENV_FILE_PATH,
        )
        return [str(fact.value) for fact in known]
    written = text(mapping(spec_of(job), "ssh"), "authMountPath")
    return [(written or str(behaviors.SSH_MOUNT_PATH.value)).rstrip("/")]


def duplicate_env(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A variable that one container sets twice, to different values; values ``name`` and ``count``."""
    for role in roles(subject.job):
        for found in (*containers(role), *containers(role, "initContainers")):
            yield from _twice(subject, found)


def _twice(subject: Subject, container: Written) -> Iterator[Hit]:
    first: dict[str, int] = {}
    listed = container.data.get("env")
    for number, name, entry in env(container.data):
        before = first.setdefault(name, number)
        if before != number and isinstance(listed, list) and entry != listed[before]:
            path = (*container.path, "env", before)
            label = "here it is set first"
            yield Hit((*container.path, "env", number), {"name": name}, [(subject.doc, path, label)])


def _torchrun(job: Job) -> bool:
    return mapping(spec_of(job), "torchrunConfig").get("enabled") is True and not mode(job, "debug")
