"""Pods of a role as a card: image, resources, what runs."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.indexed_text import Indexed, Listing, Run
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.launchers.discovery import find
from podplan.lint.analysis.resources import ACCELERATOR, effective, resources, shown
from podplan.tools.graph.model import Row
from podplan.tools.graph.mounts import scratch

_STANDARD = ("cpu", "memory")
_MOST_PROGRAMS = 3


class Role(NamedTuple):
    """Pod groups that make one card: of one role, and alike but for what each of them runs."""

    name: str
    groups: tuple[Group, ...]
    fields: tuple[tuple[str, str], ...]
    gpus: Mapping[str, int]

    @property
    def replicas(self) -> int:
        return sum(group.replicas for group in self.groups)


def roles(pods: list[Group]) -> list[Role]:
    """The Pod groups of a job, those together that make one card, in order."""
    found: dict[tuple[Any, ...], list[Group]] = {}
    for group in pods:
        found.setdefault((group.role, _fields(group), tuple(gpus(group).items())), []).append(group)
    return [Role(role, tuple(groups), fields, dict(each)) for (role, fields, each), groups in found.items()]


def gpus(group: Group) -> dict[str, int]:
    """The accelerators of one Pod, by what they are called."""
    found: dict[str, int] = {}
    for name in resources(group):
        if ACCELERATOR.fullmatch(name):
            label = _device(name)
            found[label] = found.get(label, 0) + effective(group, name) // quantities.ONE
    return {label: count for label, count in found.items() if count}


def counted(numbers: Mapping[str, int]) -> str:
    """Accelerators in words: "8 GPUs", "2 GPUs, 4 mig-1g.5gb"."""
    return ", ".join(
        f"{count:,} {label}{'s' if label == 'GPU' and count != 1 else ''}" for label, count in numbers.items()
    )


def rows(role: Role) -> tuple[Row, ...]:
    """A row for each template of a role that has several."""
    if len(role.groups) == 1:
        return ()
    return tuple(Row(f"{role.name} {group.indexes}", runs(group)) for group in role.groups)


def name(group: Group) -> str:
    """The names of the objects of a group, folded: "bert-worker-{0..31}"."""
    varying = group.doc.varies.get(("metadata", "name"))
    if isinstance(varying, Indexed):
        return Listing((Run(varying, group.start, group.replicas),)).folded()
    return text(mapping(group.doc.data, "metadata"), "name")


def runs(group: Group) -> str:
    """What the training container starts, without its arguments: "torchrun train.py", "sshd"."""
    container = _training(group)
    command = [word for _, word in texts(container, "command")]
    words = [*command, *(word for _, word in texts(container, "args"))]
    programs = ["sshd"] if any("sshd" in word for word in words) else []
    for one in find(container).invocations:
        if not one.assumed and one.word.name != "sshd":
            script = one.script.name if one.script is not None else ""
            programs.append(f"{one.word.name} {script}".strip())
    if not programs and command:
        programs = [command[0].rpartition("/")[2]]
    programs = list(dict.fromkeys(programs))
    more = " …" if len(programs) > _MOST_PROGRAMS else ""
    return " and ".join(programs[:_MOST_PROGRAMS]) + more or "what the image starts"


def image(reference: str) -> str:
    """An image without its registry and folders, its digest cut: "vit@sha256:9b2cf535…"."""
    last = reference.rpartition("/")[2]
    before, at, digest = last.partition("@")
    method, _, digits = digest.partition(":")
    return f"{before}@{method}:{digits[:8]}…" if at and len(digits) > 8 else last


def _training(group: Group) -> Mapping[str, Any]:
    listed = [entry for _, entry in entries(group.doc.data.get("spec"), "containers")]
    at = group.training or 0
    return listed[at] if at < len(listed) else {}


def _device(resource: str) -> str:
    domain, _, name_ = resource.partition("/")
    return "GPU" if name_ in ("gpu", "gpu.shared") or domain == "gpu.intel.com" else name_


def _fields(group: Group) -> tuple[tuple[str, str], ...]:
    spec = group.doc.data["spec"]
    training = _training(group)
    others = [text(c, "name") for _, c in entries(spec, "containers") if c is not training]
    before = [text(c, "name") for _, c in entries(spec, "initContainers")]
    selector = ", ".join(f"{key}={value}" for key, value in mapping(spec, "nodeSelector").items())
    found = [
        ("image", image(text(training, "image"))),
        ("each", _each(group)),
        *scratch(group.doc.data),
        ("nodes", selector),
        ("before", ", ".join(before)),
        ("beside", ", ".join(others)),
    ]
    return tuple((label, value) for label, value in found if value)


def _amount(units: int, resource: str) -> str:
    if resource == "cpu" and 0 < units < quantities.ONE:
        return f"{units // 10**6}m"
    return shown(units, resource).replace(".0Mi", "Mi")


def _each(group: Group) -> str:
    names = resources(group)
    parts = [counted(gpus(group))]
    ordered = [*(one for one in _STANDARD if one in names), *(one for one in names if one not in _STANDARD)]
    parts += [
        f"{one} {_amount(effective(group, one), one)}" for one in ordered if not ACCELERATOR.fullmatch(one)
    ]
    return " · ".join(filter(None, parts))
