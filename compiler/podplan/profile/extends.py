"""``extends``: merges base profiles below a profile, left to right, the profile last."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.findings import Diagnostic
from podplan.core.limits import MAX_BASE_NODES, MAX_BASES, MAX_EXTENDS_DEPTH, limit_exceeded
from podplan.core.provenance import (
    Cursor,
    TracedDocument,
    attribute_to,
    build_traced_document,
    copy_traced,
    root_cursor,
    trace_to_source,
)
from podplan.core.typing import Any
from podplan.core.wording import add_article
from podplan.profile.merge import OPENING, merge_values, preserve_null

BaseLoader = Callable[[str, TracedDocument], "TracedDocument | Diagnostic"]
EXTENDABLE_KINDS = ("JobProfileBase", "JobProfile")
_INHERITED_METADATA = ("namespace", "labels", "annotations")


def merge_bases(
    profile: TracedDocument, load_base: BaseLoader, diagnostics: list[Diagnostic]
) -> TracedDocument:
    """Merge ``profile`` over its base profiles; return the profile itself if it extends nothing.

    ``load_base(reference, from_doc)`` returns the document that a reference names, or a Diagnostic. An
    invalid base profile is reported in ``diagnostics``, at the entry of ``extends`` that leads to it, and
    skipped.
    """
    return _BaseMerger(load_base, diagnostics).merge_document(profile, ())


class _BaseMerger:
    """Merges base profiles; one that is reached on two paths is merged once."""

    def __init__(self, load_base: BaseLoader, diagnostics: list[Diagnostic]) -> None:
        self.load_base = load_base
        self.diagnostics = diagnostics
        self.merged_documents: dict[tuple[Any, ...], TracedDocument] = {}
        self.base_count = 0
        self.merged_values = 0

    def merge_document(self, doc: TracedDocument, chain: tuple[TracedDocument, ...]) -> TracedDocument:
        key = _document_key(doc)
        if key not in self.merged_documents:
            self.merged_documents[key] = self._merge_references(doc, (*chain, doc))
        return self.merged_documents[key]

    def _merge_references(self, doc: TracedDocument, chain: tuple[TracedDocument, ...]) -> TracedDocument:
        references = root_cursor(doc).get("spec", "extends")
        if not references.exists:
            return doc
        if not isinstance(references.value, list):
            message = "extends is not a list of files; write extends: [FILE]"
            self.diagnostics.append(Diagnostic("PROF001", message, references.path, doc=doc))
            return doc
        self.base_count += len(references.value)
        if self.base_count > MAX_BASES:
            message = (
                f"a profile may extend {MAX_BASES} bases at most, counting those of its bases; merge some"
            )
            self.diagnostics.append(
                Diagnostic("PROF017", limit_exceeded("bases", message), references.path, doc=doc)
            )
            return doc
        merged: TracedDocument | None = None
        for entry in references.entries():
            base = self._load_base(entry, chain)
            if base is not None:
                merged = base if merged is None else overlay_profile(merged, base, self.diagnostics)
                self.merged_values += len(merged.origins)
            if self.merged_values > MAX_BASE_NODES:
                message = (
                    f"the bases of a profile may come to {MAX_BASE_NODES} values at most, "
                    "counted anew at each base that is laid over others; merge some"
                )
                self.diagnostics.append(
                    Diagnostic("PROF017", limit_exceeded("base-nodes", message), references.path, doc=doc)
                )
                return doc
        return doc if merged is None else overlay_profile(merged, doc, self.diagnostics)

    def _load_base(self, entry: Cursor, chain: tuple[TracedDocument, ...]) -> TracedDocument | None:
        reference = entry.value
        if not isinstance(reference, str) or not reference:
            return self._report(entry, "PROF001", "an entry of extends is not the path of a file")
        if OPENING in reference:
            return self._report(entry, "PROF010", "extends may not hold an expression; name the file itself")
        base = self.load_base(reference, entry.doc)
        if isinstance(base, Diagnostic):
            reported_path = base.path or entry.path
            self.diagnostics.append(base._replace(path=reported_path, doc=entry.doc))
            return None
        kind = base.data.get("kind") if isinstance(base.data, dict) else None
        if kind not in EXTENDABLE_KINDS:
            actual = f"is {add_article(kind)}" if isinstance(kind, str) else "has no kind"
            message = f"{reference} {actual}, and only a JobProfileBase or a JobProfile can be extended"
            return self._report(entry, "PROF002", message)
        keys = [_document_key(doc) for doc in chain]
        if _document_key(base) in keys:
            cycle = [*chain[keys.index(_document_key(base)) :], base]
            names = " → ".join(_file_name(doc) for doc in cycle)
            return self._report(
                entry, "PROF002", f"extends goes in a circle: {names}; remove one of the steps"
            )
        if len(chain) > MAX_EXTENDS_DEPTH:
            message = f"extends is more than {MAX_EXTENDS_DEPTH} files deep; extend a base nearer to the root"
            return self._report(entry, "PROF017", limit_exceeded("extends-depth", message))
        return self.merge_document(base, chain)

    def _report(self, entry: Cursor, rule: str, message: str) -> TracedDocument | None:
        self.diagnostics.append(Diagnostic(rule, message, entry.path, doc=entry.doc))
        return None


def overlay_profile(
    base: TracedDocument, over: TracedDocument, diagnostics: list[Diagnostic]
) -> TracedDocument:
    """Merge two profiles: their specs, and the metadata except for the name."""
    lower, upper = root_cursor(base), root_cursor(over)
    tree: dict[str, Any] = {
        key: preserve_null(upper.get(key)) for key in upper.value if key not in ("metadata", "spec")
    }
    tree["metadata"] = _merge_metadata(lower.get("metadata"), upper.get("metadata"), diagnostics)
    tree["spec"] = _merge_spec(lower.get("spec"), upper.get("spec"), diagnostics)
    return build_traced_document(attribute_to(upper, tree), over.name)


def _merge_metadata(base: Cursor, over: Cursor, diagnostics: list[Diagnostic]) -> Any:
    if not isinstance(base.value, dict) or not (isinstance(over.value, dict) or not over.exists):
        return over
    inherited = build_traced_document(
        attribute_to(base, {key: base.get(key) for key in _INHERITED_METADATA if base.get(key).exists}),
        base.doc.name,
    )
    return (
        merge_values(root_cursor(inherited), over, diagnostics)
        if over.exists
        else copy_traced(root_cursor(inherited))
    )


def _merge_spec(base: Cursor, over: Cursor, diagnostics: list[Diagnostic]) -> Any:
    return merge_values(base, over, diagnostics) if over.exists else preserve_null(base)


def _document_key(doc: TracedDocument) -> tuple[Any, ...]:
    last_step = trace_to_source(doc, ())[-1]
    source = last_step.doc.source
    return (source.file, source.index, last_step.path) if source is not None else (id(doc),)


def _file_name(doc: TracedDocument) -> str:
    last_doc = trace_to_source(doc, ())[-1].doc
    return last_doc.file if last_doc.source is not None else doc.name
