"""``ClusterInventory``: what a cluster offers, checked in beside the profiles, and look-ups in it.

The form is schemas/ClusterInventory.json; docs/profile.md has an example.
"""

from __future__ import annotations

from podplan.findings import Problem
from podplan.nearest import meant_or_known
from podplan.provenance import Cursor, Doc, root

# The sections of an inventory by name, each with what an entry of it is called.
SECTIONS = {
    "hardware": "hardware class",
    "queues": "queue",
    "nodes": "node group",
    "pvcs": "PersistentVolumeClaim",
    "secrets": "Secret",
    "configMaps": "ConfigMap",
    "namespaces": "namespace",
}
FIELDS = (*SECTIONS, "asOf", "cluster", "kubernetes", "registries")


def look_up(
    inventory: Doc | None, section: str, name: Cursor, namespace: str | None = None
) -> Cursor | Problem:
    """The entry of a section that the name at ``name`` stands for, or the Problem at that place.

    An entry that lists ``namespaces`` is there for those alone; None for ``namespace`` is any.
    """
    what = SECTIONS[section]
    if inventory is None:
        message = f'there is no ClusterInventory that says what the {what} "{name.value}" is; check one in'
        return Problem("PROF016", message, name.path)
    entries = root(inventory).get("spec", section)
    if not isinstance(name.value, str) or not isinstance(entries.value, dict):
        known: list[str] = []
    else:
        known = list(entries.value)
        if name.value in entries.value:
            entry = entries.get(name.value)
            allowed = entry.get("namespaces").otherwise([])
            if namespace is None or not isinstance(allowed, list) or not allowed or namespace in allowed:
                return entry
            listed = ", ".join(map(str, allowed))
            message = f'the {what} "{name.value}" is in the namespaces {listed}, not in "{namespace}"'
            return Problem("PROF016", message, name.path)
    near = meant_or_known(str(name.value), known) or "; it lists none"
    return Problem("PROF016", f'the ClusterInventory has no {what} "{name.value}"{near}', name.path)


def hardware(inventory: Doc | None, name: Cursor) -> Cursor | Problem:
    """The hardware class that ``hardware: NAME`` stands for."""
    return look_up(inventory, "hardware", name)


def queue(inventory: Doc | None, name: Cursor) -> Cursor | Problem:
    """The queue that ``schedule.queue`` names."""
    return look_up(inventory, "queues", name)


def pvc(inventory: Doc | None, name: Cursor, namespace: str | None = None) -> Cursor | Problem:
    """The PersistentVolumeClaim that an entry of ``data`` names."""
    return look_up(inventory, "pvcs", name, namespace)
