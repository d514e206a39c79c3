"""Volumes on the disk of the node, against the limit of a Pod on ephemeral storage.

The kubelet adds up what emptyDirs on the disk, the writable layers and the logs take, and evicts a Pod where
that is more than the limits of its containers together
(https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#local-ephemeral-storage).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.resources import containers, init_containers, shown
from podplan.lint.analysis.resources import entries as resource_entries
from podplan.lint.target import Hit, Subject

RESOURCE = "ephemeral-storage"


def folder_beyond_limit(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An emptyDir that may grow beyond the limit of the Pod. Values: ``volume``, ``size``, ``limit``."""
    group = subject.group
    if group is None:
        return
    limited = [
        ((*path, "resources", "limits", RESOURCE), amount)
        for path, container in containers(group)
        if (amount := quantities.parse(resource_entries(container, "limits").get(RESOURCE))) is not None
    ]
    of_inits = [
        quantities.parse(resource_entries(container, "limits").get(RESOURCE)) or 0
        for _, container in init_containers(group)
    ]
    limit = max([sum(amount for _, amount in limited), *of_inits])
    for number, volume in entries(mapping(subject.data, "spec"), "volumes") if limited else ():
        folder = mapping(volume, "emptyDir")
        size = quantities.parse(folder.get("sizeLimit"))
        if size is not None and size > limit and not text(folder, "medium"):
            values = {
                "volume": text(volume, "name"),
                "size": shown(size, "memory"),
                "limit": shown(limit, "memory"),
            }
            related = [(subject.doc, limited[0][0], "the limit")]
            yield Hit(("spec", "volumes", number, "emptyDir", "sizeLimit"), values, related=related)
