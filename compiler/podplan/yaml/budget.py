"""The use of the parser limits by one file."""

from __future__ import annotations

from podplan.core.limits import (
    MAX_ALIASES,
    MAX_DEPTH,
    MAX_DOCUMENTS,
    MAX_EXPANDED_NODES,
    MAX_EXPANDED_TEXT,
    MAX_NODES,
    LimitExceeded,
    limit_exceeded,
)
from podplan.core.typing import Any


class ParseBudget:
    """Counts what a file uses; every method raises LimitExceeded when its limit is exceeded."""

    __slots__ = ("aliases", "characters", "documents", "expanded_nodes", "expanded_text", "file", "nodes")

    def __init__(self, file: str) -> None:
        self.file = file
        self.documents = 0
        self.nodes = 0
        self.characters = 0
        self.aliases = 0
        self.expanded_nodes = 0
        self.expanded_text = 0

    def build_error(self, limit: str, subject: str, maximum: int, remedy: str) -> LimitExceeded:
        return LimitExceeded(limit_exceeded(limit, f"more than {maximum:,} {subject}; {remedy}")).with_file(
            self.file
        )

    def count_document(self) -> None:
        self.documents += 1
        if self.documents > MAX_DOCUMENTS:
            raise self.build_error("documents", "documents", MAX_DOCUMENTS, "split the file")

    def may_exceed_nodes(self, text: str) -> bool:
        """Whether the file can have too many nodes with ``text``: each node takes at least a character."""
        self.characters += len(text)
        return self.characters > MAX_NODES

    def count_node(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.build_error("nodes", "keys and values", MAX_NODES, "split the file")

    def check_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH:,} levels of nesting; flatten the document"
            raise LimitExceeded(message).with_file(self.file)

    def count_alias(self) -> None:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise self.build_error("aliases", "aliases", MAX_ALIASES, "write the values out")

    def count_expansion(self, value: Any, depth: int) -> None:
        """Count the nodes and the text that an alias for ``value`` expands to, below ``depth`` levels."""
        stack = [(value, depth + 1)]
        while stack:
            node, level = stack.pop()
            self.expanded_nodes += 1
            if self.expanded_nodes > MAX_EXPANDED_NODES:
                remedy = "write the values out where they are needed"
                raise self.build_error("expanded-nodes", "nodes behind aliases", MAX_EXPANDED_NODES, remedy)
            if isinstance(node, dict | list):
                self.check_depth(level)
                children = node.values() if isinstance(node, dict) else node
                stack.extend((entry, level + 1) for entry in children)
            elif isinstance(node, str):
                self.expanded_text += len(node)
                if self.expanded_text > MAX_EXPANDED_TEXT:
                    remedy = "write the values out where they are needed"
                    raise self.build_error(
                        "expanded-text", "characters behind aliases", MAX_EXPANDED_TEXT, remedy
                    )
