"""Volumes on the disk of the node, against the limit of a Pod on ephemeral storage.

The kubelet adds up emptyDirs on the disk, writable layers and logs, and evicts a Pod if
the sum exceeds the limits of its containers together
(https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#local-ephemeral-storage).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.resources import format_amount, list_containers, list_init_containers
from podplan.lint.analysis.resources import get_resource_entries as resource_entries
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

RESOURCE = "ephemeral-storage"


@check(aliases=("folder-beyond-limit",))
def folder_beyond_storage_limit(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An emptyDir that may grow beyond the limit of the Pod. Values: ``volume``, ``size``, ``limit``."""
    group = subject.group
    if group is None:
        return
    limited = [
        ((*path, "resources", "limits", RESOURCE), amount)
        for path, container in list_containers(group)
        if (amount := quantities.parse_quantity(resource_entries(container, "limits").get(RESOURCE)))
        is not None
    ]
    of_inits = [
        quantities.parse_quantity(resource_entries(container, "limits").get(RESOURCE)) or 0
        for _, container in list_init_containers(group)
    ]
    limit = max([sum(amount for _, amount in limited), *of_inits])
    for number, volume in get_entries(get_mapping(subject.data, "spec"), "volumes") if limited else ():
        folder = get_mapping(volume, "emptyDir")
        size = quantities.parse_quantity(folder.get("sizeLimit"))
        if size is not None and size > limit and not get_text(folder, "medium"):
            values = {
                "volume": get_text(volume, "name"),
                "size": format_amount(size, "memory"),
                "limit": format_amount(limit, "memory"),
            }
            related = [(subject.doc, limited[0][0], "the limit")]
            yield Violation(("spec", "volumes", number, "emptyDir", "sizeLimit"), values, related=related)
