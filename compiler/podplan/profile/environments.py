"""``environments``: named overlays over the spec, and overlays of flags over those."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, TracedDocument, attribute_to, build_traced_document, root_cursor
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any
from podplan.profile.merge import merge_values, preserve_null

METADATA_FIELDS = ("namespace", "labels", "annotations")
_NON_SPEC_FIELDS = frozenset({*METADATA_FIELDS, "values"})
_FORBIDDEN_FIELDS = ("extends", "environments")


def list_environments(doc: TracedDocument) -> list[str]:
    """Return the environments of a profile after ``extends``, in the order of the file."""
    return list(root_cursor(doc).get("spec", "environments").fields())


def apply_environment(
    doc: TracedDocument, environment: str, diagnostics: list[Diagnostic]
) -> TracedDocument | None:
    """Merge the overlay of one environment into ``doc``; None, with a diagnostic, if it does not exist."""
    environments = root_cursor(doc).get("spec", "environments")
    overlay = environments.get(environment)
    if not overlay.exists:
        hint = suggest_or_list(environment, list_environments(doc)) or "; the profile has no environments"
        message = f'there is no environment "{environment}"{hint}'
        reported = environments if environments.exists else root_cursor(doc).get("spec")
        diagnostics.append(Diagnostic("PROF014", message, reported.path, on_key=environments.exists, doc=doc))
        return None
    if not isinstance(overlay.value, dict):
        message = f'the environment "{environment}" is not a map of fields of the spec'
        diagnostics.append(Diagnostic("PROF001", message, overlay.path, doc=doc))
        return None
    for key in _FORBIDDEN_FIELDS:
        if key in overlay.value:
            message = f'an environment may not have "{key}"; only the spec itself may'
            diagnostics.append(Diagnostic("PROF001", message, (*overlay.path, key), on_key=True, doc=doc))
    patch = _extract_keys(
        overlay,
        [key for key in overlay.value if key not in _NON_SPEC_FIELDS and key not in _FORBIDDEN_FIELDS],
    )
    metadata = _extract_keys(overlay, [key for key in METADATA_FIELDS if key in overlay.value])
    return apply_overlay(doc, root_cursor(patch), root_cursor(metadata), diagnostics)


def collect_param_values(
    doc: TracedDocument, environment: str, diagnostics: list[Diagnostic]
) -> dict[str, Cursor]:
    """Return the values of params in the overlay of an environment."""
    values_cursor = root_cursor(doc).get("spec", "environments", environment, "values")
    if values_cursor.exists and not isinstance(values_cursor.value, dict):
        message = "values is not a map; write values: {param: value}"
        diagnostics.append(Diagnostic("PROF001", message, values_cursor.path, doc=doc))
    return (
        {key: values_cursor.get(key) for key in values_cursor.value}
        if isinstance(values_cursor.value, dict)
        else {}
    )


def apply_overlay(
    doc: TracedDocument, spec: Cursor, metadata: Cursor, diagnostics: list[Diagnostic]
) -> TracedDocument:
    """Merge a strict overlay into the spec and the metadata of ``doc``."""
    profile = root_cursor(doc)
    tree: dict[str, Any] = {key: preserve_null(profile.get(key)) for key in profile.value}
    if metadata.value:
        tree["metadata"] = merge_values(profile.get("metadata"), metadata, diagnostics, strict=True)
    tree["spec"] = merge_values(profile.get("spec"), spec, diagnostics, strict=True)
    return build_traced_document(attribute_to(profile, tree), doc.name)


def _extract_keys(overlay: Cursor, keys: list[str]) -> TracedDocument:
    """Return some keys of an overlay as a separate document, traced to where they are written."""
    return build_traced_document(
        attribute_to(overlay, {key: preserve_null(overlay.get(key)) for key in keys}), overlay.doc.name
    )
