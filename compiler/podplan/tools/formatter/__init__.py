"""Profiles, bases and inventories in one form: fields in the order of the schema, two blanks for a level.

Comments stay with what they are about. The data is the same before and after, and so is what profiles compile
to; nothing is returned that was not read again and compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from podplan.core.provenance import Doc
from podplan.tools.formatter.comments import commented, said
from podplan.tools.formatter.document_spans import Extent, extents
from podplan.tools.formatter.field_order import ordered
from podplan.tools.formatter.printing import lines_of
from podplan.workspace.documents import classified
from podplan.yaml import Source, read
from podplan.yaml.positions import LINE_BREAK
from podplan.yaml.tree import Tree

SCHEMAS = {"profile": "JobProfile", "base": "JobProfile", "inventory": "ClusterInventory"}


class Unequal(Exception):
    """The form would not say the same; this is a fault of podplan. ``args[0]`` says what differs."""


def formatted(source: Source) -> str:
    """The text of a file, without faults, with its profiles, bases and inventories in canonical form.

    Line breaks are those of the first line, and a byte order mark stays. Raises Unequal.
    """
    text, last, parts = source.text, 0, []
    line_break = LINE_BREAK.search(text)
    for extent, schema in _extents(source):
        tree = ordered(_root(commented(text, extent.tree, extent.start, extent.end)), schema)
        begins = "" if not extent.start or text[extent.start - 1] in "\n\r\ufeff" else "\n"
        lines = "\n".join(lines_of(tree, text)) + "\n"
        parts += [
            text[last : extent.start],
            (begins + lines).replace("\n", line_break[0] if line_break else "\n"),
        ]
        last = extent.end
    new = "".join([*parts, text[last:]])
    if new != text:
        _demand_equal(source, read(new.encode(), source.file))
    return new


def _extents(source: Source) -> Iterator[tuple[Extent, str]]:
    """The documents that are formatted, each with the name of its schema."""
    for extent, document in zip(extents(source.text), source.documents, strict=True):
        what = classified(Doc(document.file, document.data, source=document)).what
        if what in SCHEMAS and extent.tree.what == "map":
            yield extent, SCHEMAS[what]


def _root(tree: Tree) -> Tree:
    """The root of a document as blocks, down to the fields of its spec."""
    entries = tuple(
        leaf._replace(value=leaf.value._replace(flow=False))
        if leaf.key is not None and leaf.key.value == "spec" and leaf.value.entries
        else leaf
        for leaf in tree.entries
    )
    return tree._replace(flow=False, entries=entries)


def _demand_equal(before: Source, after: Source) -> None:
    if [_canonical(one.data) for one in before.documents] != [
        _canonical(one.data) for one in after.documents
    ]:
        raise Unequal(f"{before.file}: its data would change")
    if after.faults:
        raise Unequal(f"{before.file}: it could not be read again: {after.faults[0].message}")
    if said(before) != said(after):
        raise Unequal(f"{before.file}: its comments would change")


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True)
