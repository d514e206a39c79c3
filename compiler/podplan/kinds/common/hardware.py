"""What a role requests of a node: hardware class, resources, number of GPUs, and the size of /dev/shm."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Cursor, attribute_to, compute_traced, copy_traced
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common import behaviors
from podplan.kinds.common.merge import drop_absent, drop_nulls, to_plain_data
from podplan.kinds.common.profile import ProfileRole, format_value

TracedMap = dict[str, Any]

_COUNT_PATTERN = compile_lazily(r"[0-9]{1,9}")
_QUANTITY_PATTERN = compile_lazily(
    r"([0-9]{1,18}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)?"
)
_NEXT_SMALLER_UNIT = {"Ki": "", "Mi": "Ki", "Gi": "Mi", "Ti": "Gi", "Pi": "Ti", "Ei": "Pi"} | {
    "k": "", "M": "k", "G": "M", "T": "G", "P": "T", "E": "P",
}  # fmt: skip


class NodeRequest(NamedTuple):
    """The node request of a role, as parts of traced trees.

    ``resources`` are those of the training container, ``scheduling`` are fields of the Pod, ``shm`` is the
    size in the hardware class, and ``gpu_count`` is the number of GPUs, which comes from ``gpu_origin``.
    ``is_class_known`` is false if the profile names a hardware class that does not exist, which is reported
    separately.
    """

    resources: Any
    scheduling: TracedMap
    shm: Cursor
    gpu_count: int
    gpu_origin: Cursor
    is_class_known: bool


def resolve_node_request(role: ProfileRole, inventory: Cursor, diagnostics: list[Diagnostic]) -> NodeRequest:
    """Resolve the hardware class and the resources of a role; a role that states one inherits neither."""
    has_own_hardware = role.entry.get("hardware").exists or role.entry.get("resources").exists
    level = role.entry if has_own_hardware or not role.inherits_field("resources") else role.spec
    resources, name = level.get("resources"), level.get("hardware")
    hardware = _find_hardware_class(name, inventory, diagnostics)
    tree = _merge_resources(hardware, name, resources) if hardware.exists else drop_nulls(resources)
    limits = (to_plain_data(tree) or {}).get("limits") if isinstance(to_plain_data(tree), dict) else None
    gpus_per_replica = count_gpus(limits, (*hardware.get("gpus").fields(), *behaviors.GPU_RESOURCES.value))
    scheduling_cursors = drop_absent({key: hardware.get(key) for key in ("nodeSelector", "tolerations")})
    scheduling = {key: copy_traced(place, via=(name,)) for key, place in scheduling_cursors.items()}
    gpu_origin = resources.get("limits") if not name.exists else name
    return NodeRequest(
        tree if resources.exists or hardware.exists else None,
        scheduling,
        hardware.get("shm"),
        gpus_per_replica,
        gpu_origin,
        hardware.exists or not name.exists,
    )


def count_gpus(limits: Any, resource_names: tuple[str, ...]) -> int:
    """Count the GPUs in the limits of a container; ``resource_names`` are the resources that count as
    GPUs."""
    if not isinstance(limits, dict):
        return 0
    counts = (str(limits[name]) for name in dict.fromkeys(resource_names) if name in limits)
    return sum(int(count) for count in counts if _COUNT_PATTERN.fullmatch(count))


def _find_hardware_class(name: Cursor, inventory: Cursor, diagnostics: list[Diagnostic]) -> Cursor:
    """Return the hardware class in the ClusterInventory, or a cursor at a missing field if there is none.

    A name that is not a string is reported by the schema of the profile.
    """
    classes = inventory.get("spec", "hardware")
    hardware_class = classes.get(str(name.value))
    if isinstance(name.value, str) and not hardware_class.exists:
        diagnostics.append(
            Diagnostic("PROF016", _describe_missing_class(str(name.value), classes), name.path)
        )
    return hardware_class if name.exists else classes.get("")


def _describe_missing_class(name: str, classes: Cursor) -> str:
    class_fields = classes.fields()
    if not class_fields:
        return f"there is no ClusterInventory with hardware classes to look up {format_value(name)} in"
    return (
        "the ClusterInventory has no hardware class"
        f" {format_value(name)}{suggest_or_list(name, class_fields)}"
    )


def _merge_resources(hardware: Cursor, name: Cursor, written_resources: Cursor) -> Any:
    """Merge the written resources over those of the class, whose limits and requests are equal (Guaranteed
    QoS).

    A written limit also replaces the request of the class: the API server rejects a request above its limit.
    ``name`` is where the profile names the class.
    """
    amounts = {
        **drop_absent({key: hardware.get(key) for key in ("cpu", "memory")}),
        **hardware.get("gpus").fields(),
        **hardware.get("resources").fields(),
    }
    class_resources: TracedMap = {key: copy_traced(amount, via=(name,)) for key, amount in amounts.items()}
    limits, requests = written_resources.get("limits").fields(), written_resources.get("requests").fields()
    class_requests = {key: value for key, value in class_resources.items() if key not in limits}
    tree = {
        "limits": {**class_resources, **limits} or None,
        "requests": {**class_requests, **requests} or None,
        "claims": written_resources.get("claims"),
    }
    return attribute_to(hardware, drop_absent(tree))


def resolve_shm_size(role: ProfileRole, node_request: NodeRequest, diagnostics: list[Diagnostic]) -> Any:
    """Return the size of /dev/shm as a traced quantity; None for the default of the node."""
    shm_field = role.get_field("shm")
    if shm_field.value == "none":
        return None
    if shm_field.exists and shm_field.value != "auto":
        return shm_field
    if node_request.shm.exists:
        return (
            copy_traced(node_request.shm, via=(node_request.gpu_origin,))
            if not shm_field.exists
            else attribute_to((shm_field, node_request.shm), node_request.shm.value)
        )
    if not shm_field.exists:
        return None
    half = halve_quantity(_get_limit(to_plain_data(node_request.resources), "memory"))
    if half is None and not node_request.is_class_known:
        return None
    if half is None:
        message = "shm: auto needs a hardware class with shm or a memory limit; write a quantity such as 16Gi"
        diagnostics.append(Diagnostic("PROF022", message, shm_field.path))
        return None
    return attribute_to((shm_field, behaviors.SHM_AUTO), half)


def _get_limit(resources: Any, name: str) -> Any:
    limits = resources.get("limits") if isinstance(resources, dict) else None
    return limits.get(name) if isinstance(limits, dict) else None


def halve_quantity(quantity: Any) -> str | None:
    """Return half of a memory quantity in the largest unit that keeps it an integer; None for an invalid
    one."""
    from fractions import Fraction

    match = _QUANTITY_PATTERN.fullmatch(str(quantity))
    if match is None:
        return None
    number, unit = Fraction(match[1]) / 2, match[2] or ""
    while number.denominator != 1 and unit:
        number *= 1024 if unit.endswith("i") else 1000
        unit = _NEXT_SMALLER_UNIT[unit]
    return f"{int(number)}{unit}"


def resolve_process_count(
    processes_field: Cursor,
    node_requests: list[tuple[ProfileRole, NodeRequest]],
    diagnostics: list[Diagnostic],
) -> Any:
    """Return ``processes`` as a traced integer: "auto" becomes the number of GPUs of each replica."""
    if processes_field.value != "auto":
        return processes_field
    if not all(given.is_class_known for _, given in node_requests):
        return None
    counts = {given.gpu_count for _, given in node_requests}
    if len(counts) == 1 and 0 not in counts:
        return compute_traced(
            lambda _, __: max(counts),
            processes_field,
            node_requests[0][1].gpu_origin,
            behavior=behaviors.PROCESSES_AUTO,
        )
    if counts == {0}:
        message = "processes: auto needs GPUs in hardware or resources.limits; write the number of processes"
    else:
        counts_by_role = ", ".join(f"{role.name} has {given.gpu_count}" for role, given in node_requests)
        message = f"processes: auto needs the same number of GPUs in every role, and {counts_by_role}"
    diagnostics.append(Diagnostic("PROF022", message, processes_field.path))
    return None
