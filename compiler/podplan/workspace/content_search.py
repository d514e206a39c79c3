"""The contents of files below a root, and which of them mention what other files depend on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from podplan.cluster.kinds import MENTION as CLUSTER_MENTION
from podplan.cluster.kinds import MENTIONED_WORDS, OPERATOR_IMAGES
from podplan.core.limits import LimitExceeded
from podplan.core.typing import NamedTuple
from podplan.workspace.files import OutsideRoot, files_below, is_bounded, read_found_file

INVENTORY, MAPPING = "ClusterInventory", "WorkloadMapping"
CLUSTER_OBJECTS, OPERATORS, QUEUES = "objects of the cluster", "operators", "queues"


class SearchedFolder(NamedTuple):
    """A folder that is searched for documents, and what is excluded there."""

    path: str
    exclude: tuple[str, ...]


def _describes_cluster(content: bytes) -> bool:
    may_mention = any(word in content for word in MENTIONED_WORDS)
    return may_mention and CLUSTER_MENTION.search(content.decode("latin-1")) is not None


def _names_operator(content: bytes) -> bool:
    """Whether a file may have the Deployment of an operator, or what kustomize changes in it."""
    may_hold = any(word in content for word in (b"Deployment", b"ustomiz", b"newTag"))
    return may_hold and any(name in content for name in OPERATOR_IMAGES)


# Whether the content of a file mentions a subject that files elsewhere depend on.
MENTIONS: dict[str, Callable[[bytes], bool]] = {
    INVENTORY: lambda content: b"ClusterInventory" in content,
    MAPPING: lambda content: b"WorkloadMapping" in content,
    CLUSTER_OBJECTS: _describes_cluster,
    OPERATORS: _names_operator,
    QUEUES: lambda content: b"kueue.x-k8s.io/queue-name" in content,
}


def iter_contents(
    root: str, folder: str, exclude: Sequence[str], unsaved_texts: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the YAML files below ``folder``, which is in ``root``, with their content.

    Files that cannot be read are skipped: most of them have nothing to do with the checked one. Of a folder
    above the current one, the path of a file does not go up and down again.
    """
    if os.path.commonpath((os.path.realpath(folder), root)) != root:
        folder = root
    for path in files_below(folder, exclude, [], "repository" if is_bounded(root) else "folder"):
        with suppress(OSError, OutsideRoot, LimitExceeded):
            text = unsaved_texts.get(path)
            content = read_found_file(root, path) if text is None else text.encode()
            yield os.path.relpath(path) if path.startswith(os.pardir) else path, content
