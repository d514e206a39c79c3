"""Variables that the controller or the launcher sets, and that somebody sets as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.groups import Group
from podplan.kubernetes.shape import entries, mapping, text
from podplan.lint.checks._colossalai_line import line_of
from podplan.lint.checks._jobs import kind_of, mode, spec_of
from podplan.lint.checks._training import env
from podplan.lint.subject import Hit, Job, Subject
from podplan.patterns import pattern
from podplan.provenance import Path, trace
from podplan.typing import Any
from podplan.varying import Indexed

# What each launcher gives its processes itself, whatever the variables of the container say.
_BY_LAUNCHER = {
    "torchrun": pattern(
        r"(?:(?:LOCAL_|GROUP_|ROLE_)?(?:RANK|WORLD_SIZE)|ROLE_NAME|MASTER_ADDR|MASTER_PORT"
        r"|TORCHELASTIC_(?:RESTART_COUNT|MAX_RESTARTS|RUN_ID))"
    ),
    "deepspeed": pattern(
        r"(?:RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_SIZE|CROSS_RANK|CROSS_SIZE|MASTER_ADDR|MASTER_PORT)"
    ),
}
# Options of torchrun that the command line of the controller has; the variable of each is PET_<NAME>.
_OF_TORCHRUN = pattern(r"--([a-z_]+)(?:=.*)?")


def reserved_env(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Variables of a Pod that the controller sets too, to another value, of the names ``params["names"]``.

    Values ``name``, ``value`` (of the controller) and ``written``.
    """
    group = subject.group
    if group is None or kind_of(subject.job) != "PyTorchTrainingJob" or _launched_by(subject.job):
        return
    for path, container in _containers(subject.data):
        ours = dict[str, tuple[int, Mapping[str, Any]]]()
        for number, name, entry in env(container):
            where = (*path, "env", number)
            if _set_by_controller(group, where):
                ours[name] = (number, entry)
            elif name in ours and name in params["names"] and isinstance(entry.get("value"), str):
                index, given = ours[name]
                if _differs(group, (*path, "env", index, "value"), given, entry["value"]):
                    values = {"name": name, "value": given.get("value"), "written": entry["value"]}
                    yield Hit((*where, "value"), values, change=("remove", where, None))


def launcher_env(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Variables that the launcher sets for each process, or has an option for, so that they are lost.

    Values ``name`` and ``why``.
    """
    group, job = subject.group, subject.job
    launcher = _launched_by(job)
    if group is None or not launcher or mode(job, "debug"):
        return
    for index, container in entries(mapping(subject.data, "spec"), "containers"):
        if index != (group.training or 0):
            continue
        options = _torchrun_options(job, container) if launcher == "torchrun" else {}
        for number, name, entry in env(container):
            path = ("spec", "containers", index, "env", number)
            if not isinstance(entry.get("value"), str):
                continue
            if _BY_LAUNCHER[launcher].fullmatch(name):
                why = f"{launcher} sets it for each process"
            elif name in options:
                why = f"{launcher} is given {options[name]}"
            else:
                continue
            if not _set_by_controller(group, path):
                yield Hit(path, {"name": name, "why": why}, change=("remove", path, None))


def set_by_launcher(job: Job, name: str) -> bool:
    """Whether the launcher that the controller starts gives each process a variable of its own."""
    launcher = _launched_by(job)
    return bool(launcher and _BY_LAUNCHER[launcher].fullmatch(name))


def _launched_by(job: Job) -> str:
    """The launcher that sets the variables of the processes, "" where there is none."""
    kind, spec = kind_of(job), spec_of(job)
    if kind == "PyTorchTrainingJob":
        return "torchrun" if mapping(spec, "torchrunConfig").get("enabled") is True else ""
    if kind == "DeepSpeedJob":
        return "" if mapping(spec, "config").get("customCommand") else "deepspeed"
    return "torchrun" if kind == "ColossalAIJob" else ""


def _torchrun_options(job: Job, container: Mapping[str, Any]) -> dict[str, str]:
    """The options that torchrun is given, by their PET_ variables."""
    line = line_of(job)
    if line is not None:
        return {f"PET_{name.upper()}": f"--{name}" for name in line.torchrun.line.options}
    words = container.get("command")
    found = (_OF_TORCHRUN.fullmatch(word) for word in words or () if isinstance(word, str))
    return {f"PET_{match[1].upper()}": f"--{match[1]}" for match in found if match}


def _containers(pod: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for number, container in entries(mapping(pod, "spec"), "containers"):
        yield ("spec", "containers", number), container


def _set_by_controller(group: Group, path: Path) -> bool:
    """Whether an entry of env comes from a fact about the controller, and not from what somebody wrote."""
    return any(
        step.origin is not None and step.origin.fact is not None for step in trace(group.doc, (*path, "name"))
    )


def _differs(group: Group, path: Path, given: Mapping[str, Any], written: str) -> bool:
    """Whether a replica of the group gets another value from the controller than the one written."""
    if group.replicas > 1 and isinstance(group.doc.varies.get(path), Indexed):
        return True
    return text(given, "value") != written
