"""The comments of a YAML document, each with the path of the data that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from podplan.core.findings import Path
from podplan.core.typing import Literal, NamedTuple
from podplan.tools.formatter.comments import attach_comments
from podplan.yaml import Document
from podplan.yaml.comments import find_markers_around
from podplan.yaml.scalars import resolve_plain_key
from podplan.yaml.tree import CstNode, parse_cst


class PlacedComment(NamedTuple):
    """A comment with its ``#``, above, beside (on the same line) or below the data at ``path``, or at the
    top or the end of the document. A comment below is not indented less than the key or the dash."""

    text: str
    position: Literal["top", "above", "beside", "below", "end"]
    path: Path


def extract_comments(document: Document, top: Path = ()) -> list[PlacedComment]:
    """Return the comments of one document of a file, in order; with ``top``, those below that path."""
    return list(_group_by_top(document, len(top)).get(top, ()))


@lru_cache(maxsize=1)  # the jobs of a List are imported in order
def _group_by_top(document: Document, depth: int) -> dict[Path, list[PlacedComment]]:
    """Group the comments of a document by the first ``depth`` steps of their paths, which are removed."""
    root = document.span(())
    before, after = find_markers_around(document.text, root.start, root.end)
    text = document.text[max(before, 0) : after]
    by_top: dict[Path, list[PlacedComment]] = {}
    if "#" not in text:
        return by_top
    for tree in parse_cst(text):
        for placed in _iter_placed_comments(attach_comments(text, tree, 0, len(text)), ()):
            if not depth or len(placed.path) > depth:
                inside = placed._replace(path=placed.path[depth:])
                by_top.setdefault(placed.path[:depth], []).append(inside)
    return by_top


def _iter_placed_comments(node: CstNode, path: Path) -> Iterator[PlacedComment]:
    """Yield the comments of a collection in order; those that open it are above its first entry."""
    entry_paths = [(*path, _get_step(node, index)) for index in range(len(node.entries))]
    yield from _place("above" if path else "top", node.leading_comments, entry_paths[0] if path else ())
    for entry, entry_path in zip(node.entries, entry_paths, strict=True):
        yield from _place("above", entry.comments_above, entry_path)
        yield from _place("beside", (entry.line_comment,), entry_path)
        yield from _place("below", entry.comments_below, entry_path)
        if entry.value.entries:
            yield from _iter_placed_comments(entry.value, entry_path)
    yield from _place("below" if path else "end", node.trailing_comments, entry_paths[-1] if path else ())


def _place(
    position: Literal["top", "above", "beside", "below", "end"], texts: tuple[str, ...], path: Path
) -> Iterator[PlacedComment]:
    return (PlacedComment(text, position, path) for text in texts if text)


def _get_step(node: CstNode, index: int) -> str | int:
    """Return the step of a path that leads to an entry: its index, or the key that Kubernetes reads."""
    key = node.entries[index].key
    if key is None:
        return index
    is_plain = key.node_type == "scalar" and not key.style and not key.prefix
    return (resolve_plain_key(key.value) if is_plain else None) or key.value
