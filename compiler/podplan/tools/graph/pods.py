"""Pods of a role as a card: image, resources, program."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.indexed_text import Indexed, Listing, RepeatedLine
from podplan.core.replica_groups import ReplicaGroup, find_name_text, find_object_name
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.discovery import find_programs
from podplan.lint.analysis.resources import ACCELERATOR, format_amount, get_effective_request, list_resources
from podplan.tools.graph.model import Row
from podplan.tools.graph.mounts import list_scratch_volumes

_STANDARD_RESOURCES = ("cpu", "memory")
_MAX_PROGRAMS = 3


class PodCard(NamedTuple):
    """Pod groups on one card: of one role, and equal except for what they run."""

    name: str
    groups: tuple[ReplicaGroup, ...]
    fields: tuple[tuple[str, str], ...]
    gpus: Mapping[str, int]

    @property
    def replicas(self) -> int:
        return sum(group.replicas for group in self.groups)


def group_pod_cards(pods: list[ReplicaGroup]) -> list[PodCard]:
    """Group the Pod groups of a job by card, in order."""
    groups_by_appearance: dict[tuple[Any, ...], list[ReplicaGroup]] = {}
    for group in pods:
        groups_by_appearance.setdefault(
            (group.replica_type, _build_fields(group), tuple(count_gpus(group).items())), []
        ).append(group)
    return [
        PodCard(role, tuple(groups), fields, dict(each))
        for (role, fields, each), groups in groups_by_appearance.items()
    ]


def count_gpus(group: ReplicaGroup) -> dict[str, int]:
    """Return the GPUs and other devices of one Pod, by display name."""
    count_by_label: dict[str, int] = {}
    for name in list_resources(group):
        if ACCELERATOR.fullmatch(name):
            label = _name_device(name)
            count_by_label[label] = (
                count_by_label.get(label, 0) + get_effective_request(group, name) // quantities.UNITS_PER_ONE
            )
    return {label: count for label, count in count_by_label.items() if count}


def format_gpu_counts(numbers: Mapping[str, int]) -> str:
    """Format numbers of devices: "8 GPUs", "2 GPUs, 4 mig-1g.5gb"."""
    return ", ".join(
        f"{count:,} {label}{'s' if label == 'GPU' and count != 1 else ''}" for label, count in numbers.items()
    )


def build_rows(role: PodCard) -> tuple[Row, ...]:
    """Build a row for each template of a role with several."""
    if len(role.groups) == 1:
        return ()
    return tuple(Row(f"{role.name} {group.indexes}", describe_programs(group)) for group in role.groups)


def format_object_names(group: ReplicaGroup) -> str:
    """Format the names of the objects of a group, folded: "bert-worker-{0..31}"."""
    varying = find_name_text(group.doc)
    if isinstance(varying, Indexed):
        return Listing((RepeatedLine(varying, group.start, group.replicas),)).folded_text()
    return find_object_name(group.doc)


def describe_programs(group: ReplicaGroup) -> str:
    """Describe what the training container starts, without arguments: "torchrun train.py", "sshd"."""
    container = _find_training_container(group)
    command = [word for _, word in get_texts(container, "command")]
    words = [*command, *(word for _, word in get_texts(container, "args"))]
    programs = ["sshd"] if any("sshd" in word for word in words) else []
    for invocation in find_programs(container).invocations:
        if not invocation.is_assumed and invocation.program_word.base_name != "sshd":
            script = invocation.script.base_name if invocation.script is not None else ""
            programs.append(f"{invocation.program_word.base_name} {script}".strip())
    if not programs and command:
        programs = [command[0].rpartition("/")[2]]
    programs = list(dict.fromkeys(programs))
    more = " …" if len(programs) > _MAX_PROGRAMS else ""
    return " and ".join(programs[:_MAX_PROGRAMS]) + more or "what the image starts"


def shorten_image(reference: str) -> str:
    """Return an image without registry and folders, with its digest truncated: "vit@sha256:9b2cf535…"."""
    last = reference.rpartition("/")[2]
    before, separator, digest = last.partition("@")
    method, _, digits = digest.partition(":")
    return f"{before}@{method}:{digits[:8]}…" if separator and len(digits) > 8 else last


def _find_training_container(group: ReplicaGroup) -> Mapping[str, Any]:
    container_list = [entry for _, entry in get_entries(group.doc.data.get("spec"), "containers")]
    training_index = group.training_container_index or 0
    return container_list[training_index] if training_index < len(container_list) else {}


def _name_device(resource: str) -> str:
    domain, _, name_ = resource.partition("/")
    return "GPU" if name_ in ("gpu", "gpu.shared") or domain == "gpu.intel.com" else name_


def _build_fields(group: ReplicaGroup) -> tuple[tuple[str, str], ...]:
    spec = group.doc.data["spec"]
    training = _find_training_container(group)
    other_names = [get_text(c, "name") for _, c in get_entries(spec, "containers") if c is not training]
    before = [get_text(c, "name") for _, c in get_entries(spec, "initContainers")]
    selector = ", ".join(f"{key}={value}" for key, value in get_mapping(spec, "nodeSelector").items())
    labelled_values = [
        ("image", shorten_image(get_text(training, "image"))),
        ("each", _format_resources(group)),
        *list_scratch_volumes(group.doc.data),
        ("nodes", selector),
        ("before", ", ".join(before)),
        ("beside", ", ".join(other_names)),
    ]
    return tuple((label, value) for label, value in labelled_values if value)


def _format_amount(units: int, resource: str) -> str:
    if resource == "cpu" and 0 < units < quantities.UNITS_PER_ONE:
        return f"{units // 10**6}m"
    return format_amount(units, resource).replace(".0Mi", "Mi")


def _format_resources(group: ReplicaGroup) -> str:
    names = list_resources(group)
    parts = [format_gpu_counts(count_gpus(group))]
    ordered = [
        *(one for one in _STANDARD_RESOURCES if one in names),
        *(one for one in names if one not in _STANDARD_RESOURCES),
    ]
    parts += [
        f"{one} {_format_amount(get_effective_request(group, one), one)}"
        for one in ordered
        if not ACCELERATOR.fullmatch(one)
    ]
    return " · ".join(filter(None, parts))
