"""What a role asks of a node: hardware class, resources, number of GPUs, and the size of /dev/shm."""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Cursor, at, computed, copied
from podplan.core.suggestions import meant_or_known
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.merge import plain, present, without_nulls
from podplan.kinds.common.profile import Role, shown
from podplan.kinds.t9k import behaviors

Tree = dict[str, Any]

_COUNT = pattern(r"[0-9]{1,9}")
_QUANTITY = pattern(r"([0-9]{1,18}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)?")
_SMALLER = {"Ki": "", "Mi": "Ki", "Gi": "Mi", "Ti": "Gi", "Pi": "Ti", "Ei": "Pi"} | {
    "k": "", "M": "k", "G": "M", "T": "G", "P": "T", "E": "P",
}  # fmt: skip


class Node(NamedTuple):
    """What a role asks of its nodes, as parts of marked trees.

    ``resources`` of the training container, ``scheduling`` fields of the Pod, the ``shm`` that the hardware
    class gives, and the number of ``gpus`` with the place that it comes from. ``known`` is false where
    the profile names a hardware class that does not exist: a problem by itself.
    """

    resources: Any
    scheduling: Tree
    shm: Cursor
    gpus: int
    counted: Cursor
    known: bool


def node(role: Role, inventory: Cursor, problems: list[Problem]) -> Node:
    """The hardware class and the resources of a role; a role that writes either inherits neither."""
    own = role.where.get("hardware").exists or role.where.get("resources").exists
    where = role.where if own or not role.takes("resources") else role.spec
    resources, name = where.get("resources"), where.get("hardware")
    hardware = _class(name, inventory, problems)
    tree = _resources(hardware, name, resources) if hardware.exists else without_nulls(resources)
    limits = (plain(tree) or {}).get("limits") if isinstance(plain(tree), dict) else None
    gpus = gpu_count(limits, (*hardware.get("gpus").fields(), *behaviors.GPU_RESOURCES.value))
    places = present({key: hardware.get(key) for key in ("nodeSelector", "tolerations")})
    scheduling = {key: copied(place, because=(name,)) for key, place in places.items()}
    counted = resources.get("limits") if not name.exists else name
    return Node(
        tree if resources.exists or hardware.exists else None,
        scheduling,
        hardware.get("shm"),
        gpus,
        counted,
        hardware.exists or not name.exists,
    )


def gpu_count(limits: Any, names: tuple[str, ...]) -> int:
    """The number of GPUs among the limits of a container; ``names`` are the resources that count as GPUs."""
    if not isinstance(limits, dict):
        return 0
    counts = (str(limits[name]) for name in dict.fromkeys(names) if name in limits)
    return sum(int(count) for count in counts if _COUNT.fullmatch(count))


def _class(name: Cursor, inventory: Cursor, problems: list[Problem]) -> Cursor:
    """The hardware class in the ClusterInventory; a place where nothing is written if there is none.

    Of a name that is no text the form of the profile tells.
    """
    classes = inventory.get("spec", "hardware")
    found = classes.get(str(name.value))
    if isinstance(name.value, str) and not found.exists:
        problems.append(Problem("PROF016", _no_class(str(name.value), classes), name.path))
    return found if name.exists else classes.get("")


def _no_class(name: str, classes: Cursor) -> str:
    known = classes.fields()
    if not known:
        return f"there is no ClusterInventory with hardware classes to look up {shown(name)} in"
    return f"the ClusterInventory has no hardware class {shown(name)}{meant_or_known(name, known)}"


def _resources(hardware: Cursor, name: Cursor, written: Cursor) -> Any:
    """Limits and requests of the class, equally (so that the Pod is Guaranteed), under those written.

    A limit that is written also takes the place of the request of the class: a request above its limit
    would be refused. ``name`` is where the profile names the class.
    """
    amounts = {
        **present({key: hardware.get(key) for key in ("cpu", "memory")}),
        **hardware.get("gpus").fields(),
        **hardware.get("resources").fields(),
    }
    given: Tree = {key: copied(amount, because=(name,)) for key, amount in amounts.items()}
    limits, requests = written.get("limits").fields(), written.get("requests").fields()
    kept = {key: value for key, value in given.items() if key not in limits}
    tree = {
        "limits": {**given, **limits} or None,
        "requests": {**kept, **requests} or None,
        "claims": written.get("claims"),
    }
    return at(hardware, present(tree))


def shm_size(role: Role, given: Node, problems: list[Problem]) -> Any:
    """The size of /dev/shm as a marked quantity; None where it is left to the node."""
    asked = role.get("shm")
    if asked.value == "none":
        return None
    if asked.exists and asked.value != "auto":
        return asked
    if given.shm.exists:
        return (
            copied(given.shm, because=(given.counted,))
            if not asked.exists
            else at((asked, given.shm), given.shm.value)
        )
    if not asked.exists:
        return None
    half = half_of(_limit(plain(given.resources), "memory"))
    if half is None and not given.known:
        return None
    if half is None:
        message = "shm: auto needs a hardware class with shm or a memory limit; write a quantity such as 16Gi"
        problems.append(Problem("PROF022", message, asked.path))
        return None
    return at((asked, behaviors.SHM_AUTO), half)


def _limit(resources: Any, name: str) -> Any:
    limits = resources.get("limits") if isinstance(resources, dict) else None
    return limits.get(name) if isinstance(limits, dict) else None


def half_of(quantity: Any) -> str | None:
    """Half of a quantity of memory in the largest unit that keeps it whole; None for what is no quantity."""
    from fractions import Fraction

    match = _QUANTITY.fullmatch(str(quantity))
    if match is None:
        return None
    number, unit = Fraction(match[1]) / 2, match[2] or ""
    while number.denominator != 1 and unit:
        number *= 1024 if unit.endswith("i") else 1000
        unit = _SMALLER[unit]
    return f"{int(number)}{unit}"


def process_count(asked: Cursor, nodes: list[tuple[Role, Node]], problems: list[Problem]) -> Any:
    """``processes`` as a marked integer: auto is written out as the number of GPUs of each replica."""
    if asked.value != "auto":
        return asked
    if not all(given.known for _, given in nodes):
        return None
    counts = {given.gpus for _, given in nodes}
    if len(counts) == 1 and 0 not in counts:
        return computed(lambda _, __: max(counts), asked, nodes[0][1].counted, fact=behaviors.PROCESSES_AUTO)
    if counts == {0}:
        message = "processes: auto needs GPUs in hardware or resources.limits; write the number of processes"
    else:
        listed = ", ".join(f"{role.name} has {given.gpus}" for role, given in nodes)
        message = f"processes: auto needs the same number of GPUs in every role, and {listed}"
    problems.append(Problem("PROF022", message, asked.path))
    return None
