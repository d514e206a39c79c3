"""Old spellings in profiles, and the launcher dialect of ColossalAIJob in profiles."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import DocumentFix, Path
from podplan.core.typing import Any
from podplan.schema.old_spellings import find_current_kind
from podplan.tools.formatter.comments import attach_comments
from podplan.tools.formatter.document_spans import DocumentSpan
from podplan.tools.formatter.rewriting import rewrite_document
from podplan.tools.migrator.old_spellings import remove_entry
from podplan.yaml import Document, parse_yaml
from podplan.yaml.edits.changes import FixRefused, apply_edits, build_edits

Data = dict[str, Any]


def iter_overlays(data: Data) -> Iterator[tuple[Path, Data]]:
    """Yield the spec of a profile or base profile, and its environments."""
    spec = data.get("spec")
    if not isinstance(spec, dict):
        return
    yield ("spec",), spec
    environments = spec.get("environments")
    for name, overlay in environments.items() if isinstance(environments, dict) else ():
        if isinstance(overlay, dict):
            yield ("spec", "environments", name), overlay


def iter_override_patches(data: Data) -> Iterator[tuple[Path, Data]]:
    """Yield each override as a partial CR, with its path."""
    spec = data.get("spec")
    job = spec.get("job") if isinstance(spec, dict) else None
    for path, overlay in iter_overlays(data):
        override = overlay.get("override")
        for index, entry in enumerate(override if isinstance(override, list) else ()):
            if isinstance(entry, dict) and isinstance(entry.get("spec"), dict):
                kind = (find_current_kind(job) or job) if isinstance(job, str) else ""
                yield (*path, "override", index), {"kind": kind, "spec": entry["spec"]}


def find_launcher_dialects(data: Data) -> list[Path]:
    """Return where a profile or base profile selects the launcher dialect."""
    dialect_paths = []
    for path, overlay in iter_overlays(data):
        block = overlay.get("colossalai")
        if isinstance(block, dict) and block.get("dialect") == "launcher":
            dialect_paths.append((*path, "colossalai", "dialect"))
    return dialect_paths


def remove_dialect(document: Document, path: Path, document_span: DocumentSpan) -> str:
    """Return the text of the document, which is ``document_span``, without the dialect at ``path``.

    In that dialect a launcher has no template, so ``pod`` of the spec does not apply to it; its role states
    that afterwards.

    Raises FixRefused: if that is impossible.
    """
    for patch_path, patch in iter_override_patches(document.data):
        launcher_fields = [name for name in ("launcher", "worker") if name in patch["spec"]]
        if launcher_fields:
            number = patch_path[-1] + 1 if isinstance(patch_path[-1], int) else 1
            raise FixRefused(
                f"override {number} is about {launcher_fields[0]}, which the other dialect does not have"
            )
    text = _remove_field(document, path, document_span)
    if not any("pod" in overlay for _, overlay in iter_overlays(document.data)):
        return text
    after = parse_yaml(text.encode(), document.file).documents
    if len(after) != 1:
        raise FixRefused("the document cannot be read without what stands above it")
    change = _build_pod_exclusion(after[0].data["spec"])
    return apply_edits(text, build_edits(after[0], change)) if change is not None else text


def _remove_field(document: Document, path: Path, document_span: DocumentSpan) -> str:
    """Return the text of a document without a field, or the mapping that would be empty, and their
    comments."""
    tree = attach_comments(document.text, document_span.tree, document_span.start, document_span.end)
    try:
        new, _ = remove_entry(tree, path)
    except LookupError:
        raise FixRefused("it comes through an alias or a merge key") from None
    return rewrite_document(document.text, tree, new, document_span.start, document_span.end)


def _build_pod_exclusion(spec: Data) -> DocumentFix | None:
    """Return the change that excludes the launcher from ``pod`` of the spec; None if it has its own
    ``pod``."""
    roles = spec.get("roles")
    if not isinstance(roles, list):
        return DocumentFix("", "set", ("spec", "roles"), [{"name": "launcher", "pod": None}])
    names = [role.get("name") if isinstance(role, dict) else None for role in roles]
    if "launcher" not in names:
        raise FixRefused(
            "the launcher would get what pod says; write {name: launcher, pod: null} into roles first"
        )
    index = names.index("launcher")
    if "pod" in roles[index]:
        return None
    return DocumentFix("", "set", ("spec", "roles", index, "pod"), None)
