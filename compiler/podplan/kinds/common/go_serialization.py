"""Containers of a CR as a controller in Go writes them into other objects.

It leaves out values of variables that are empty, states protocols, and writes quantities in their shortest
form.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior, Cursor, Traced, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.kinds.common.quantities import canonicalize_quantity

TracedMap = dict[str, Any]


def write_container(container: Cursor, protocol: Behavior, quantity: Behavior) -> TracedMap:
    """A container; the behaviors are those for protocols and for quantities."""
    tree: TracedMap = dict(container.fields())
    if "ports" in tree:
        tree["ports"] = write_ports(container, protocol)
    if "env" in tree:
        tree["env"] = write_env(container)
    if "resources" in tree:
        tree["resources"] = write_resources(container.get("resources"), quantity)
    return tree


def write_env(container: Cursor) -> list[Any]:
    """The variables of a container, without values that are empty."""
    return [
        attribute_to(one, {key: field for key, field in one.fields().items() if field.value != ""})
        if isinstance(one.value, dict) and one.value.get("value") == ""
        else one
        for one in container.get("env").entries()
    ]


def write_ports(container: Cursor, protocol: Behavior) -> list[Any]:
    """The ports of a container; without a protocol they get TCP."""
    return [
        port
        if not isinstance(port.value, dict) or port.get("protocol").exists
        else attribute_to(port, {**port.fields(), "protocol": attribute_to((protocol, port), "TCP")})
        for port in container.get("ports").entries()
    ]


def write_resources(resources: Cursor, quantity: Behavior) -> Any:
    """Resources with their quantities in the shortest form."""
    if not isinstance(resources.value, dict):
        return resources
    tree: TracedMap = dict(resources.fields())
    for section in ("limits", "requests"):
        amounts = resources.get(section).fields()
        if any(one.value != canonicalize_quantity(one.value) for one in amounts.values()):
            tree[section] = attribute_to(
                resources.get(section),
                {name: write_quantity(one, quantity) for name, one in amounts.items()},
            )
    return attribute_to(resources, tree)


def write_volumes(volumes: Cursor, quantity: Behavior) -> Cursor | Traced:
    """The volumes of a Pod with their sizes in the shortest form."""
    entries = volumes.entries()
    written = [_write_volume(one, quantity) for one in entries]
    is_same = all(one is entry for one, entry in zip(written, entries, strict=True))
    return volumes if is_same else attribute_to(volumes, written)


def _write_volume(volume: Cursor, quantity: Behavior) -> Cursor | Traced:
    size = volume.get("emptyDir", "sizeLimit")
    written = write_quantity(size, quantity)
    if written is size:
        return volume
    empty_dir = volume.get("emptyDir")
    tree = {**empty_dir.fields(), "sizeLimit": written}
    return attribute_to(volume, {**volume.fields(), "emptyDir": attribute_to(empty_dir, tree)})


def write_quantity(cursor: Cursor, quantity: Behavior) -> Cursor | Traced:
    """A quantity in its shortest form."""
    if canonicalize_quantity(cursor.value) == cursor.value:
        return cursor
    return compute_traced(canonicalize_quantity, cursor, behavior=quantity)
