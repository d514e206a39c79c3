"""Formats profiles, base profiles and inventories: fields in the order of the schema, two blanks per level.

Comments stay with the entries that they belong to. The data stays the same, and so do the compiled profiles;
every result is parsed again and compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from podplan.core.provenance import TracedDocument
from podplan.tools.formatter.comments import attach_comments, count_comments
from podplan.tools.formatter.document_spans import DocumentSpan, find_document_spans
from podplan.tools.formatter.field_order import order_fields
from podplan.workspace.documents import classify_document
from podplan.yaml import SourceFile, parse_yaml
from podplan.yaml.positions import LINE_BREAK
from podplan.yaml.tree import CstNode
from podplan.yaml.tree_writer import format_tree

SCHEMA_BY_CATEGORY = {
    "profile": "JobProfile",
    "base": "JobProfile",
    "inventory": "ClusterInventory",
    "mapping": "WorkloadMapping",
}


class FormatMismatchError(Exception):
    """The formatted text would have other data, which is an internal error; ``args[0]`` is the difference."""


def format_source(source: SourceFile) -> str:
    """Format a file without syntax errors.

    Line breaks are those of the first line, and a byte order mark is kept.

    Raises FormatMismatchError: if the data would change.
    """
    text, last, parts = source.text, 0, []
    line_break = LINE_BREAK.search(text)
    for document_span, schema in _iter_document_spans(source):
        tree = order_fields(
            _expand_root(attach_comments(text, document_span.tree, document_span.start, document_span.end)),
            schema,
        )
        leading_break = (
            "" if not document_span.start or text[document_span.start - 1] in "\n\r\ufeff" else "\n"
        )
        lines = "\n".join(format_tree(tree, text)) + "\n"
        parts += [
            text[last : document_span.start],
            (leading_break + lines).replace("\n", line_break[0] if line_break else "\n"),
        ]
        last = document_span.end
    new_text = "".join([*parts, text[last:]])
    if new_text != text:
        _require_equal(source, parse_yaml(new_text.encode(), source.file))
    return new_text


def _iter_document_spans(source: SourceFile) -> Iterator[tuple[DocumentSpan, str]]:
    """Yield the documents that are formatted, each with the name of its schema."""
    for document_span, document in zip(find_document_spans(source.text), source.documents, strict=True):
        category = classify_document(TracedDocument(document.file, document.data, source=document)).category
        if category in SCHEMA_BY_CATEGORY and document_span.tree.node_type == "map":
            yield document_span, SCHEMA_BY_CATEGORY[category]


def _expand_root(tree: CstNode) -> CstNode:
    """Return the root of a document in block style, down to the fields of its spec."""
    entries = tuple(
        leaf._replace(value=leaf.value._replace(is_flow=False))
        if leaf.key is not None and leaf.key.value == "spec" and leaf.value.entries
        else leaf
        for leaf in tree.entries
    )
    return tree._replace(is_flow=False, entries=entries)


def _require_equal(before: SourceFile, after: SourceFile) -> None:
    if [_serialize_canonically(one.data) for one in before.documents] != [
        _serialize_canonically(one.data) for one in after.documents
    ]:
        raise FormatMismatchError(f"{before.file}: its data would change")
    if after.diagnostics:
        raise FormatMismatchError(
            f"{before.file}: it could not be read again: {after.diagnostics[0].message}"
        )
    if count_comments(before) != count_comments(after):
        raise FormatMismatchError(f"{before.file}: its comments would change")


def _serialize_canonically(data: object) -> str:
    return json.dumps(data, sort_keys=True)
