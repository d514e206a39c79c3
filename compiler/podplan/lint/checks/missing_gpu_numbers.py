"""GPU indices that a container does not have.

Sources: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables (an invalid index
hides all that follow), https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/ (the device plugin
chooses the GPUs, and a container sees its own from 0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.lint.analysis.launches import (
    ContainerLaunch,
    find_assignment_place,
    find_launch_on_replica,
    get_last_index,
)
from podplan.lint.analysis.resources import count_accelerators
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.gpus import VISIBLE_DEVICES_VARIABLES, count_listed_devices
from podplan.lint.checks.outputs import trainings
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_MAX_DIGITS = 4  # digits of a device index
_DEVICES = ("device", "devices", "accelerator")
_DEVICE = compile_lazily(r"(?:cuda|gpu):(\d{1,3})")
_NUMBERS = compile_lazily(r"\d{1,3}(?:,\s?\d{1,3})*")
# Options with an index or a list of them, and options where several values mean a list.
_IDS = frozenset(("gpu_id", "gpu_ids", "device_id", "device_ids", "cuda_device", "cuda_visible_devices"))
_LISTS = frozenset(("gpu", "gpus", "device", "devices"))


@check()
def missing_gpu_number(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A GPU index that the container does not have. Values: ``name``, ``number``, ``has``."""
    seen = set[str]()
    for launch, where in trainings(target.job):
        amount = count_accelerators(where.container)
        if not amount.number or amount.path is None:
            continue
        for doc, path, name, value, replica in _iter_replica_lists(target.job, launch, amount.resource):
            missing = _find_missing(value, amount.number)
            if len(path) > 2 and path[-3] == "env" and count_listed_devices(value) != amount.number:
                continue  # reported by visible-devices-count
            if missing and name not in seen:
                seen.add(name)
                has = f"GPU 0 to {amount.number - 1}" if amount.number > 1 else "GPU 0 only"
                has = "each of them once" if missing.endswith("twice") else has
                values = {
                    "name": name,
                    "number": missing if replica is None else f"{missing} in replica {replica}",
                    "has": has,
                    "gpus": format_count(amount.number, "GPU"),
                }
                related = [(where.group.doc, (*where.base, *amount.path), "the GPUs of the container")]
                yield Violation(path, values, related, doc=doc, group=where.group)


def _iter_replica_lists(
    job: LoweredJob, launch: ContainerLaunch, resource: str
) -> Iterator[tuple[TracedDocument, Path, str, str, int | None]]:
    """Yield the GPU lists of the first replica, then those of the last that differ, with its index."""
    first = list(_iter_lists(job, launch, resource))
    yield from ((*each, None) for each in first)
    index = get_last_index(launch.group)
    last = find_launch_on_replica(launch, index) if launch.group.replicas > 1 else None
    for doc, path, name, value in _iter_lists(job, last, resource) if last is not None else ():
        if all(value != each[3] for each in first if each[2] == name):
            yield doc, path, name, value, index


def _iter_lists(
    job: LoweredJob, launch: ContainerLaunch, resource: str
) -> Iterator[tuple[TracedDocument, Path, str, str]]:
    """Yield the GPU lists in variables and options with their paths."""
    names = [name for name, of in VISIBLE_DEVICES_VARIABLES.items() if resource.startswith(of)]
    variables = launch.invocation.variables
    written = {
        get_text(entry, "name"): (
            (*launch.path, "env", at, "valueFrom" if "valueFrom" in entry else "value"),
            _resolve(entry, variables.get(get_text(entry, "name"))),
        )
        for at, entry in get_entries(launch.container, "env")
    }
    for name in names:
        if name in written:
            place, listed = written[name]
            yield launch.group.doc, place, name, listed
        elif set_by_shell := variables.get(name):
            yield launch.group.doc, find_assignment_place(launch, name), name, set_by_shell
    is_narrowed = any(name in written or name in variables for name in names)
    for option, doc, path in list_program_options(job, launch):
        value = (option.value or "").strip("[]\"'")
        device = _DEVICE.fullmatch(value) if option.last in _DEVICES else None
        if device is not None:
            yield doc, path, option.name, device[1]
        elif not is_narrowed and _is_list(option.last, value) and _NUMBERS.fullmatch(value):
            yield doc, path, option.name, value


def _resolve(entry: Mapping[str, Any], resolved: str | None) -> str:
    """Return the value of a variable; the resolved one where it refers to another variable or to a field."""
    value = get_text(entry, "value")
    return (resolved or "") if "$(" in value or "valueFrom" in entry else value


def _is_list(name: str, value: str) -> bool:
    return name in _IDS or (name in _LISTS and "," in value)


def _find_missing(value: str, number: int) -> str:
    """Return the first entry of a list that is no device of the container; "" for none."""
    entries = [word.strip() for word in value.split(",")]
    numbers = (word for word in entries if word.isdecimal() and len(word) <= _MAX_DIGITS)
    missing = next((word for word in numbers if int(word) >= number), "")
    # Of a list with the same number twice, CUDA makes no device visible.
    twice = next((word for at, word in enumerate(entries) if word.isdecimal() and word in entries[:at]), "")
    return missing or (f"{twice} twice" if twice else "")
