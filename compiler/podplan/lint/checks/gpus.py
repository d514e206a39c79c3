"""GPUs of containers: which containers request them, which see them, and what else they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.suggestions import suggest_name, suggest_phrase
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.kubernetes.pod_resources import ENABLED_SINCE
from podplan.launchers.kubelet import resolve_environment
from podplan.lint.analysis.inventory import get_section, iter_node_groups_with
from podplan.lint.analysis.jobs import count_gpus, format_list, has_trait, is_mode_enabled
from podplan.lint.analysis.launches import TRAINING_LAUNCHERS as LOCAL_LAUNCHERS
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.pod_hosts import list_single_hosts, read_hostfile
from podplan.lint.analysis.resources import (
    count_accelerators,
    find_training_container,
    get_units,
    list_containers,
    list_init_containers,
    list_resources,
)
from podplan.lint.analysis.resources import find_resource_path as place_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_FIELD_ADDED_IN = 32  # before that, the schema of a Pod does not have the field
NO_GPU_VALUES = {"", "void", "none"}
# The variables that restrict visible devices, with their resources.
VISIBLE_DEVICES_VARIABLES: dict[str, tuple[str, ...]] = {
    "CUDA_VISIBLE_DEVICES": ("nvidia.com/",),
    "HIP_VISIBLE_DEVICES": ("amd.com/", "hygon.com/"),
    "ROCR_VISIBLE_DEVICES": ("amd.com/", "hygon.com/"),
    "ASCEND_RT_VISIBLE_DEVICES": ("huawei.com/",),
}
# Labels of nodes with GPUs: those of NVIDIA's and AMD's discovery, and of two clouds.
_GPU_LABELS = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "cloud.google.com/gke-accelerator",
    "k8s.amazonaws.com/accelerator",
)
LAUNCHER_TYPES = {"launcher", "coordinator", "driver", "scheduler", "tensorboard"}


# The GPUs of the device plugins, and names near to theirs.
_MISSPELT = compile_lazily(r"(?i)(?P<vendor>nvidia|amd)(?:\.com)?[./-]gpus?")


@check()
def misspelt_device(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A resource whose name is nearly that of GPUs. Values: ``resource``, ``meant``."""
    group = target.group
    if group is None or target.job.cluster is not None or get_section(target.job, "nodes"):
        return
    for path, container in (*list_containers(group), *list_init_containers(group)):
        resources = get_mapping(container, "resources")
        names = {
            name: (*path, "resources", field, name)
            for field in ("limits", "requests")
            for name in get_mapping(resources, field)
        }
        for name, place in names.items():
            found = _MISSPELT.fullmatch(name)
            meant = f"{found['vendor'].lower()}.com/gpu" if found is not None else ""
            if found is not None and name != meant:
                yield Violation(place, {"resource": name, "meant": meant})


@check()
def gpu_only_in_init_container(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """GPUs that only init containers have. Values: ``number``, ``resource``, ``container``."""
    group = target.group
    if group is None or any(count_accelerators(c).number for _, c in list_containers(group)):
        return
    for path, container in list_init_containers(group):
        amount = count_accelerators(container)
        if amount.number and amount.path is not None and container.get("restartPolicy") != "Always":
            values = {
                "number": amount.number,
                "resource": amount.resource,
                "container": get_text(container, "name"),
            }
            yield Violation((*path, *amount.path), values)


@check()
def gpus_idle_after_init(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """More GPUs for an init container than for all containers that run after it.

    Values: ``container``, ``number``, ``resource``, ``used``, ``idle``.
    """
    group = target.group
    if group is None:
        return
    init_containers = list_init_containers(group)
    running = [
        (path, container)
        for path, container in (*list_containers(group), *init_containers)
        if not _ends_before_others(container, init_containers)
    ]
    for path, container in init_containers:
        amount = count_accelerators(container)
        if amount.path is None or not _ends_before_others(container, init_containers):
            continue
        counts = [(place, count_accelerators(each)) for place, each in running]
        counts = [(place, each) for place, each in counts if each.resource == amount.resource]
        used = sum(each.number for _, each in counts)
        if 0 < used < amount.number:
            values = {
                "container": get_text(container, "name"),
                "number": amount.number,
                "resource": amount.resource,
                "used": used,
                "idle": format_count(amount.number - used, "GPU"),
            }
            related = [
                (target.doc, (*place, *each.path), format_count(each.number, "GPU"))
                for place, each in counts
                if each.path is not None
            ]
            yield Violation((*path, *amount.path), values, related)


def _ends_before_others(
    container: Mapping[str, Any], init_containers: list[tuple[Path, Mapping[str, Any]]]
) -> bool:
    """Whether it is an init container and no sidecar."""
    is_init = any(container is each for _, each in init_containers)
    return is_init and container.get("restartPolicy") != "Always"


@check(aliases=("gpu-visible-without-request",), requires=("NVIDIA_VISIBLE_DEVICES",))
def gpu_without_request(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """NVIDIA_VISIBLE_DEVICES on a container without GPUs. Values: ``value``, ``container``."""
    if count_accelerators(target.data).number:
        return
    for number, variable in get_entries(target.data, "env"):
        value = variable.get("value")
        if (
            variable.get("name") == "NVIDIA_VISIBLE_DEVICES"
            and isinstance(value, str)
            and value not in NO_GPU_VALUES
        ):
            yield Violation(
                ("env", number, "value"), {"value": value, "container": get_text(target.data, "name")}
            )


@check()
def visible_devices_count(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A literal list of visible devices whose length differs from the number of GPUs.

    Values: ``name``, ``listed``, ``has``, ``resource``.
    """
    amount = count_accelerators(target.data)
    if not amount.number or amount.path is None:
        return
    for number, variable in get_entries(target.data, "env"):
        name, value = get_text(variable, "name"), variable.get("value")
        if (
            not isinstance(value, str)
            or "$(" in value
            or not amount.resource.startswith(VISIBLE_DEVICES_VARIABLES.get(name, ()))
        ):
            continue
        listed_count = count_listed_devices(value)
        if listed_count != amount.number and value.strip().lower() != "all":
            values = {"name": name, "listed": listed_count, "has": amount.number, "resource": amount.resource}
            related = [(target.doc, (*target.base_path, *amount.path), "the GPUs of the container")]
            yield Violation(("env", number, "value"), values, related=related)


def count_listed_devices(value: str) -> int:
    """Return how many devices a list makes visible; entries after an invalid one do not count."""
    count = 0
    for entry in (word.strip() for word in value.split(",")):
        if not entry or entry.startswith("-"):
            break
        count += 1
    return count


@check()
def gpu_on_launcher(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """GPUs of a Pod that only starts or coordinates. Values: ``role``, ``number``, ``resource``."""
    group = target.group
    if group is None or not (only_launches(target.job, group) or _only_serves(target.job, group)):
        return
    for path, container in list_containers(group):
        amount = count_accelerators(container)
        if amount.number and amount.path is not None:
            values = {"role": group.replica_type, "number": amount.number, "resource": amount.resource}
            yield Violation((*path, *amount.path), values, report_at_selector=True)


def _only_serves(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether a Pod is a parameter server, which keeps variables in the memory of its CPUs."""
    found = find_training_container(group)
    is_server = group.replica_type in ("ps", "PS") and len({one.replica_type for one in job.pods}) > 1
    return is_server and found is not None and "TF_CONFIG" in resolve_environment(found[1])


def _is_in_hostfile(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether the first Pod of a group is in the hostfile, such as a launcher that also trains."""
    hostname = group.doc.data["spec"].get("hostname")
    hosts = [lines.line.text_at(lines.start).split()[0] for lines in read_hostfile(job)]
    hosts += list_single_hosts(job)
    return bool(hostname) and any(host.partition(".")[0] == hostname for host in hosts)


def only_launches(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether a Pod only starts or coordinates programs of other Pods: none of its own programs may train."""
    others = {one.replica_type for one in job.pods} - LAUNCHER_TYPES
    if group.replica_type.lower() not in LAUNCHER_TYPES or not others:
        return False
    if _is_in_hostfile(job, group):
        return False
    if has_trait(job, "ssh") or is_mode_enabled(job, "debug"):
        return has_trait(job, "ssh")
    if has_trait(job, "hostfile") and count_gpus(group):
        return False  # the controller then lists the launcher in the hostfile as well
    programs = [launch.invocation for launch in find_launches(job) if launch.group is group]
    return not any(one.launcher in (*LOCAL_LAUNCHERS, "python") and not one.started_by for one in programs)


@check()
def gpu_without_memory(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A container with GPUs and without a request for cpu or memory. Values: ``gpus``, ``lacks``."""
    amount = count_accelerators(target.data)
    pod = get_mapping(target.group.doc.data, "spec") if target.group is not None else {}
    missing = [
        name
        for name in ("cpu", "memory")
        if get_units(target.data, name) is None and not get_units(pod, name)
    ]
    if amount.number and amount.path is not None and missing:
        yield Violation(
            amount.path[:2], {"gpus": format_count(amount.number, "GPU"), "lacks": " and no ".join(missing)}
        )


@check()
def pod_resources_dropped(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Pod-level resources for a cluster that drops them. Value: ``version``."""
    job = target.job
    minor = int(job.kubernetes_version.rpartition(".")[2])
    if (
        get_mapping(get_mapping(target.data, "spec"), "resources")
        and _FIELD_ADDED_IN <= minor < ENABLED_SINCE
    ):
        yield Violation(("spec", "resources"), {"version": job.kubernetes_version})


@check()
def unknown_device(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A device that no node of the inventory has. Values: ``resource``, ``meant``."""
    group, job = target.group, target.job
    classes = get_section(job, "hardware")
    known_devices = {
        name
        for one in classes
        for key in ("gpus", "resources")
        for name in get_mapping(get_mapping(classes, one), key)
    }
    if group is None or not (get_section(job, "nodes") or known_devices):
        return
    for resource in list_resources(group):
        if "/" not in resource or resource in known_devices or any(iter_node_groups_with(job, resource)):
            continue
        path = place_of(group, resource)
        if path is not None:
            yield Violation(
                path,
                {"resource": resource, "meant": _suggest_device(resource, target, known_devices)},
                at_key=True,
            )


def _suggest_device(resource: str, target: Target, known_devices: set[str]) -> str:
    """Return the device that was probably meant, else all known devices."""
    nodes = get_section(target.job, "nodes")
    node_devices = {
        resource
        for node in nodes
        for resource in get_mapping(get_mapping(nodes, node), "allocatable")
        if "/" in resource
    }
    devices = sorted(known_devices | node_devices)
    vendor = suggest_name(resource.partition("/")[0], (one.partition("/")[0] for one in devices))
    suggestion = suggest_phrase(resource, (one for one in devices if one.startswith(f"{vendor}/")))
    return suggestion or (f", only {format_list(devices, 6)}" if devices else "")


@check()
def gpu_nodes_without_gpus(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Nodes that train on machines with GPUs and request none. Values: ``label``, ``processes``."""
    for launch in find_launches(target.job):
        facts, selector = launch.torchrun, get_mapping(launch.group.doc.data["spec"], "nodeSelector")
        label = next((name for name in selector if name.startswith(_GPU_LABELS)), None)
        processes = (facts.processes or "1") if facts is not None else ""
        if label is None or not processes.isdigit():
            continue
        if count_accelerators(launch.container).number:
            continue
        path = ("spec", "nodeSelector", label)
        values = {"label": label, "processes": format_count(int(processes), "process", "processes")}
        yield Violation(path, values, doc=launch.group.doc, group=launch.group)
        return
