"""What one file has used of the bounds on reading."""

from __future__ import annotations

from podplan.core.limits import (
    MAX_ALIASES,
    MAX_DEPTH,
    MAX_DOCUMENTS,
    MAX_EXPANDED_NODES,
    MAX_EXPANDED_TEXT,
    MAX_NODES,
    BoundExceeded,
    beyond,
)
from podplan.core.typing import Any


class Tally:
    """Counts what a file uses; every method raises BoundExceeded when its bound is passed."""

    __slots__ = ("aliases", "documents", "expanded", "expanded_text", "file", "nodes", "read")

    def __init__(self, file: str) -> None:
        self.file = file
        self.documents = 0
        self.nodes = 0
        self.read = 0
        self.aliases = 0
        self.expanded = 0
        self.expanded_text = 0

    def exceeded(self, limit: str, what: str, bound: int, cure: str) -> BoundExceeded:
        return BoundExceeded(beyond(limit, f"more than {bound:,} {what}; {cure}")).in_file(self.file)

    def document(self) -> None:
        self.documents += 1
        if self.documents > MAX_DOCUMENTS:
            raise self.exceeded("documents", "documents", MAX_DOCUMENTS, "split the file")

    def may_pass_nodes(self, text: str) -> bool:
        """Whether the file can have too many nodes with ``text``: in YAML each takes a character."""
        self.read += len(text)
        return self.read > MAX_NODES

    def node(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.exceeded("nodes", "keys and values", MAX_NODES, "split the file")

    def depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH:,} levels of nesting; flatten the document"
            raise BoundExceeded(message).in_file(self.file)

    def alias(self) -> None:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise self.exceeded("aliases", "aliases", MAX_ALIASES, "write the values out")

    def expand(self, value: Any, depth: int) -> None:
        """Count the nodes and the text that an alias for ``value`` stands for, written out below ``depth``
        levels."""
        waiting = [(value, depth + 1)]
        while waiting:
            node, level = waiting.pop()
            self.expanded += 1
            if self.expanded > MAX_EXPANDED_NODES:
                cure = "write the values out where they are needed"
                raise self.exceeded("expanded-nodes", "nodes behind aliases", MAX_EXPANDED_NODES, cure)
            if isinstance(node, dict | list):
                self.depth(level)
                below = node.values() if isinstance(node, dict) else node
                waiting.extend((entry, level + 1) for entry in below)
            elif isinstance(node, str):
                self.expanded_text += len(node)
                if self.expanded_text > MAX_EXPANDED_TEXT:
                    cure = "write the values out where they are needed"
                    raise self.exceeded("expanded-text", "characters behind aliases", MAX_EXPANDED_TEXT, cure)
