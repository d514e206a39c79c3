"""Variables in files that the controller or the launcher sets as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Path, trace_to_source
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.launchers.process_variables import PROCESS_VARIABLES
from podplan.lint.analysis import env_sources
from podplan.lint.analysis.colossalai_line import find_colossalai_line
from podplan.lint.analysis.jobs import (
    count_pods,
    find_torchrun_switch,
    has_trait,
    is_mode_enabled,
    spec_of,
)
from podplan.lint.analysis.training import iter_env
from podplan.lint.checks.registration import STRINGS, check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation

# Options of torchrun that the command line of the controller has; the variable of each is PET_<NAME>.
_TORCHRUN_OPTION = compile_lazily(r"--([a-z_]+)(?:=.*)?")


@check(
    params=object_schema(
        {"names": {**STRINGS, "minItems": 1}},
        {"unknown": {"description": "Only values that nobody knows before the job runs.", "type": "boolean"}},
    )
)
def reserved_env(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables that the controller sets to another value, with the names ``params["names"]``.

    With ``params["unknown"]``, those where it is not known whether the values differ. Values
    ``name``, ``value`` (of the controller) and ``written``.
    """
    group, job = target.group, target.job
    if group is None or not has_trait(job, "torch-env") or _find_launcher(job):
        return
    for path, container in _iter_containers(target.data):
        controller_entries = dict[str, tuple[int, Mapping[str, Any]]]()
        for number, name, entry in iter_env(container):
            entry_path = (*path, "env", number)
            if is_set_by_controller(group, entry_path):
                controller_entries[name] = (number, entry)
            elif name in controller_entries and name in params["names"]:
                index, controller_entry = controller_entries[name]
                difference = _compare_values(job, group, path, index, number)
                first_group = _find_first_difference(job, group.replica_type, path, index, number)
                # Once for all replicas of a type: their ranks differ, but the mistake is the same.
                is_first_or_equal = first_group is group or _get_controller_value(
                    first_group, path, index
                ) == controller_entry.get("value")
                if is_first_or_equal and difference == ("unknown" if params.get("unknown") else "differs"):
                    written_value = env_sources.read_env_value(group, path, number).description
                    values = {"name": name, "value": controller_entry.get("value"), "written": written_value}
                    # Not safe: if the written value wins, replicas may train separately.
                    step = "valueFrom" if "valueFrom" in entry else "value"
                    yield Violation((*entry_path, step), values, change=("remove", entry_path, None))


@check()
def launcher_env(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables that the launcher overrides for each process, or has an option for.

    Values ``name`` and ``why``.
    """
    group, job = target.group, target.job
    launcher = _find_launcher(job)
    if group is None or not launcher or is_mode_enabled(job, "debug"):
        return
    for index, container in get_entries(get_mapping(target.data, "spec"), "containers"):
        if index != (group.training_container_index or 0):
            continue
        options = _find_torchrun_options(job, container) if launcher == "torchrun" else {}
        for number, name, entry in iter_env(container):
            path = ("spec", "containers", index, "env", number)
            if not isinstance(entry.get("value"), str) and not get_mapping(entry, "valueFrom"):
                continue
            if name in PROCESS_VARIABLES[launcher]:
                reason = f"{launcher} sets it for each process"
            elif name in options:
                reason = f"{launcher} has the option {options[name]}"
            else:
                continue
            if not is_set_by_controller(group, path):
                change = ("remove", path, None)
                safe = name not in options and not _is_read_elsewhere(container, number, name)
                related = find_torchrun_switch(job)
                yield Violation(path, {"name": name, "why": reason}, related, change=change, safe=safe)


def _is_read_elsewhere(container: Mapping[str, Any], number: int, name: str) -> bool:
    """Whether anything else in a container reads its variable ``number``: $(RANK), a shell string, a probe.

    Only the processes of the launcher get another value; everything else in the container uses this one.
    """
    rest_of_container = {
        **container,
        "env": [entry for at, entry in enumerate(container["env"]) if at != number],
    }
    word = compile_lazily(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])")
    return any(word.search(text) for text in _iter_strings(rest_of_container))


def _iter_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _iter_strings(child)


def is_set_by_launcher(job: LoweredJob, name: str) -> bool:
    """Whether the launcher that the controller starts sets a variable for each process."""
    launcher = _find_launcher(job)
    return bool(launcher and name in PROCESS_VARIABLES[launcher])


def _find_launcher(job: LoweredJob) -> str:
    """Return the launcher that sets the variables of the processes, "" if there is none."""
    spec = spec_of(job)
    if has_trait(job, "torchrun-by-controller"):
        return "torchrun" if get_mapping(spec, "torchrunConfig").get("enabled") is True else ""
    if has_trait(job, "deepspeed-by-controller"):
        return "" if get_mapping(spec, "config").get("customCommand") else "deepspeed"
    return "torchrun" if has_trait(job, "colossalai-by-controller") else ""  # colossalai run starts torchrun


def _find_torchrun_options(job: LoweredJob, container: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of the torchrun line, by their PET_ variables."""
    line = find_colossalai_line(job)
    if line is not None:
        return {f"PET_{name.upper()}": f"--{name}" for name in line.torchrun.command_line.options}
    words = container.get("command")
    matches = (_TORCHRUN_OPTION.fullmatch(word) for word in words or () if isinstance(word, str))
    return {f"PET_{match[1].upper()}": f"--{match[1]}" for match in matches if match}


def _iter_containers(pod: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for number, container in get_entries(get_mapping(pod, "spec"), "containers"):
        yield ("spec", "containers", number), container


def is_set_by_controller(group: ReplicaGroup, path: Path) -> bool:
    """Whether an entry with a name comes from a controller behaviour, and from no file."""
    return any(
        step.origin is not None and step.origin.behavior is not None
        for step in trace_to_source(group.doc, (*path, "name"))
    )


def _compare_values(
    job: LoweredJob, group: ReplicaGroup, path: Path, controller_index: int, written_index: int
) -> str:
    """Compare the written values with the controller's: "differs", "unknown", or "" for the same.

    ``controller_index`` and ``written_index`` are the indices of the two variables in ``env``.
    """
    expected, actual = (
        env_sources.read_env_value(group, path, number) for number in (controller_index, written_index)
    )
    if actual.texts is not None:
        return "differs" if actual.texts != expected.texts else ""
    if actual.is_per_pod:  # an address or a name of each Pod
        return "differs" if count_pods(job) > 1 or not actual.is_address else ""
    values = {
        text
        for other in job.pods
        if other.replica_type == group.replica_type
        for text in env_sources.read_env_value(other, path, controller_index).texts or ()
    }
    return "differs" if len(values) > 1 else "unknown"  # one value for all Pods


def _find_first_difference(
    job: LoweredJob, role: str, path: Path, controller_index: int, written_index: int
) -> ReplicaGroup | None:
    """Return the first Pods of a replica type that get, or may get, another value."""
    groups = (group for group in job.pods if group.replica_type == role)
    return next(
        (group for group in groups if _compare_values(job, group, path, controller_index, written_index)),
        None,
    )


def _get_controller_value(group: ReplicaGroup | None, path: Path, number: int) -> Any:
    """Return the value of the controller in the first Pod of a group."""
    entry = value_at(group.doc.data, (*path, "env", number)) if group is not None else None
    return get_mapping({"entry": entry}, "entry").get("value")
