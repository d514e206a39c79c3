"""The documents of a text, each with its lines between the markers around it."""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.yaml.comments import find_markers_around
from podplan.yaml.positions import LINE_BREAK
from podplan.yaml.tree import CstNode, parse_cst


class DocumentSpan(NamedTuple):
    """The root of a document, and the offsets of its lines."""

    tree: CstNode
    start: int
    end: int


def find_document_spans(text: str) -> list[DocumentSpan]:
    """Return the documents of a text without syntax errors; empty documents are skipped."""
    document_spans = []
    for tree in parse_cst(text):
        before, after = find_markers_around(text, tree.start, tree.end)
        start = (
            _find_content_start(text, before, tree.start)
            if before >= 0
            else len(text) - len(text.lstrip("\ufeff"))
        )
        document_spans.append(DocumentSpan(tree, start, after))
    return document_spans


def _find_content_start(text: str, start: int, content: int) -> int:
    """Return where a document begins after its ---: on the next line, unless this line has content."""
    line_break = LINE_BREAK.search(text, start)
    return line_break.end() if line_break and line_break.end() <= content else start
