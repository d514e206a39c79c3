"""GPUs of containers: who has them, who sees them, and what they need beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.replica_groups import Group
from podplan.core.suggestions import did_you_mean, nearest
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.kubernetes.pod_resources import ENABLED_SINCE
from podplan.lint.analysis.inventory import node_groups_with, section
from podplan.lint.analysis.jobs import SSH_KINDS, counted, kind_of, mode, shown_list
from podplan.lint.analysis.launches import LAUNCHERS as LOCAL_LAUNCHERS
from podplan.lint.analysis.launches import launches
from podplan.lint.analysis.resources import accelerators, containers, init_containers, resources, units
from podplan.lint.analysis.resources import place as place_of
from podplan.lint.target import Hit, Job, Subject

_KNOWN_SINCE = 32  # before that, the schema of a Pod does not have the field
NO_GPU = {"", "void", "none"}
# Which variable narrows the devices of which resources.
VISIBLE: dict[str, tuple[str, ...]] = {
    "CUDA_VISIBLE_DEVICES": ("nvidia.com/",),
    "HIP_VISIBLE_DEVICES": ("amd.com/", "hygon.com/"),
    "ROCR_VISIBLE_DEVICES": ("amd.com/", "hygon.com/"),
    "ASCEND_RT_VISIBLE_DEVICES": ("huawei.com/",),
}
LAUNCHERS = {"launcher", "coordinator", "driver", "scheduler", "tensorboard"}


def gpu_only_in_init_container(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """GPUs that only init containers have. Values: ``number``, ``resource``, ``container``."""
    group = subject.group
    if group is None or any(accelerators(c).number for _, c in containers(group)):
        return
    for path, container in init_containers(group):
        has = accelerators(container)
        if has.number and has.path is not None and container.get("restartPolicy") != "Always":
            values = {"number": has.number, "resource": has.resource, "container": text(container, "name")}
            yield Hit((*path, *has.path), values)


def gpu_visible_without_request(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """NVIDIA_VISIBLE_DEVICES on a container without GPUs. Values: ``value``, ``container``."""
    if accelerators(subject.data).number:
        return
    for number, variable in entries(subject.data, "env"):
        value = variable.get("value")
        if (
            variable.get("name") == "NVIDIA_VISIBLE_DEVICES"
            and isinstance(value, str)
            and value not in NO_GPU
        ):
            yield Hit(("env", number, "value"), {"value": value, "container": text(subject.data, "name")})


def visible_devices_count(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A literal list of visible devices that is not as long as the container has GPUs.

    Values: ``name``, ``listed``, ``has``, ``resource``.
    """
    has = accelerators(subject.data)
    if not has.number or has.path is None:
        return
    for number, variable in entries(subject.data, "env"):
        name, value = text(variable, "name"), variable.get("value")
        if not isinstance(value, str) or "$(" in value or not has.resource.startswith(VISIBLE.get(name, ())):
            continue
        listed = listed_devices(value)
        if listed != has.number and value.strip().lower() != "all":
            values = {"name": name, "listed": listed, "has": has.number, "resource": has.resource}
            related = [(subject.doc, (*subject.base, *has.path), "the GPUs of the container")]
            yield Hit(("env", number, "value"), values, related=related)


def listed_devices(value: str) -> int:
    """How many devices a list makes visible; what follows an invalid entry does not count."""
    count = 0
    for entry in (word.strip() for word in value.split(",")):
        if not entry or entry.startswith("-"):
            break
        count += 1
    return count


def gpu_on_launcher(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """GPUs of a Pod that only starts or coordinates. Values: ``role``, ``number``, ``resource``."""
    group = subject.group
    if group is None or not only_launches(subject.job, group):
        return
    for path, container in containers(group):
        has = accelerators(container)
        if has.number and has.path is not None:
            values = {"role": group.role, "number": has.number, "resource": has.resource}
            yield Hit((*path, *has.path), values, by_choice=True)


def only_launches(job: Job, group: Group) -> bool:
    """Whether a Pod only starts or coordinates the programs of others: no program of its own may train."""
    others = {one.role for one in job.pods} - LAUNCHERS
    if group.role.lower() not in LAUNCHERS or not others:
        return False
    if kind_of(job) in SSH_KINDS or mode(job, "debug"):
        return kind_of(job) in SSH_KINDS
    programs = [launch.invocation for launch in launches(job) if launch.group is group]
    return not any(one.launcher in (*LOCAL_LAUNCHERS, "python") and not one.under for one in programs)


def gpu_without_memory(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A container with GPUs that asks for no cpu or memory. Values: ``gpus``, ``lacks``."""
    has = accelerators(subject.data)
    pod = mapping(subject.group.doc.data, "spec") if subject.group is not None else {}
    lacks = [name for name in ("cpu", "memory") if units(subject.data, name) is None and not units(pod, name)]
    if has.number and has.path is not None and lacks:
        yield Hit(has.path[:2], {"gpus": counted(has.number, "GPU"), "lacks": " and no ".join(lacks)})


def pod_resources_dropped(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Resources of the Pod as a whole for a cluster that drops them. Value: ``version``."""
    job = subject.job
    minor = int(job.version.rpartition(".")[2])
    if mapping(mapping(subject.data, "spec"), "resources") and _KNOWN_SINCE <= minor < ENABLED_SINCE:
        yield Hit(("spec", "resources"), {"version": job.version})


def unknown_device(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A device that no node of the inventory has. Values: ``resource``, ``meant``."""
    group, job = subject.group, subject.job
    classes = section(job, "hardware")
    known = {
        name
        for one in classes
        for key in ("gpus", "resources")
        for name in mapping(mapping(classes, one), key)
    }
    if group is None or not (section(job, "nodes") or known):
        return
    for resource in resources(group):
        if "/" not in resource or resource in known or any(node_groups_with(job, resource)):
            continue
        at = place_of(group, resource)
        if at is not None:
            yield Hit(at, {"resource": resource, "meant": _meant(resource, subject, known)}, on_key=True)


def _meant(resource: str, subject: Subject, known: set[str]) -> str:
    """The device that was probably meant, or those that there are."""
    nodes = section(subject.job, "nodes")
    named = {
        resource
        for node in nodes
        for resource in mapping(mapping(nodes, node), "allocatable")
        if "/" in resource
    }
    devices = sorted(known | named)
    vendor = nearest(resource.partition("/")[0], (one.partition("/")[0] for one in devices))
    meant = did_you_mean(resource, (one for one in devices if one.startswith(f"{vendor}/")))
    return meant or (f", only {shown_list(devices, 6)}" if devices else "")
