"""Variables that the controller or the launcher sets, and that somebody sets as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import value_at
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Path, trace
from podplan.core.replica_groups import Group
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping
from podplan.lint.analysis import env_sources
from podplan.lint.analysis.colossalai_line import line_of
from podplan.lint.analysis.jobs import kind_of, mode, pods, spec_of
from podplan.lint.analysis.training import env
from podplan.lint.target import Hit, Job, Subject

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

    With ``params["unknown"]`` those of which nobody knows here whether the value is another one. Values
    ``name``, ``value`` (of the controller) and ``written``.
    """
    group, job = subject.group, subject.job
    if group is None or kind_of(job) != "PyTorchTrainingJob" or _launched_by(job):
        return
    for path, container in _containers(subject.data):
        ours = dict[str, tuple[int, Mapping[str, Any]]]()
        for number, name, entry in env(container):
            where = (*path, "env", number)
            if _set_by_controller(group, where):
                ours[name] = (number, entry)
            elif name in ours and name in params["names"]:
                index, given = ours[name]
                differs = _difference(job, group, path, index, number)
                first = _first_that_differs(job, group.role, path, index, number)
                # Once for all replicas of a type: others get another rank, which is no other mistake.
                same = first is group or _given(first, path, index) == given.get("value")
                if same and differs == ("unknown" if params.get("unknown") else "differs"):
                    shown = env_sources.read(group, path, number).shown
                    values = {"name": name, "value": given.get("value"), "written": shown}
                    # Not safe: where the written value wins, replicas may train apart, each on its own.
                    step = "valueFrom" if "valueFrom" in entry else "value"
                    yield Hit((*where, step), values, change=("remove", where, None))


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
            if not isinstance(entry.get("value"), str) and not mapping(entry, "valueFrom"):
                continue
            if _BY_LAUNCHER[launcher].fullmatch(name):
                why = f"{launcher} sets it for each process"
            elif name in options:
                why = f"{launcher} is given {options[name]}"
            else:
                continue
            if not _set_by_controller(group, path):
                change = ("remove", path, None)
                safe = name not in options and not _is_read(container, number, name)
                yield Hit(path, {"name": name, "why": why}, change=change, safe=safe)


def _is_read(container: Mapping[str, Any], number: int, name: str) -> bool:
    """Whether anything else in a container names its variable ``number``: $(RANK), a shell string, a probe.

    What the launcher starts gets its own value of such a variable; all else in the container has this one.
    """
    others = {**container, "env": [entry for at, entry in enumerate(container["env"]) if at != number]}
    word = pattern(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])")
    return any(word.search(text) for text in _strings(others))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for below in value.values() if isinstance(value, dict) else value:
            yield from _strings(below)


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


def _difference(job: Job, group: Group, path: Path, given: int, written: int) -> str:
    """Whether Pods get another value than the controller's: "differs", "unknown", or "" for the same.

    ``given`` and ``written`` are the numbers of the two variables.
    """
    expected, found = (env_sources.read(group, path, number) for number in (given, written))
    if found.texts is not None:
        return "differs" if found.texts != expected.texts else ""
    if found.of_pod:  # an address or a name that each Pod has for itself
        return "differs" if pods(job) > 1 or not found.is_address else ""
    values = {
        text
        for other in job.pods
        if other.role == group.role
        for text in env_sources.read(other, path, given).texts or ()
    }
    return "differs" if len(values) > 1 else "unknown"  # one value for all of them


def _first_that_differs(job: Job, role: str, path: Path, given: int, written: int) -> Group | None:
    """The first Pods of a replica type that get, or may get, another value."""
    groups = (group for group in job.pods if group.role == role)
    return next((group for group in groups if _difference(job, group, path, given, written)), None)


def _given(group: Group | None, path: Path, number: int) -> Any:
    """The value of the controller in the first Pod of a group."""
    found = value_at(group.doc.data, (*path, "env", number)) if group is not None else None
    return mapping({"entry": found}, "entry").get("value")
