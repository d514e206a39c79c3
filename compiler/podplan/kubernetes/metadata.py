"""Constraints on ``metadata`` beyond its schema."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.kubernetes.messages import diagnose_missing_field

MAX_ANNOTATION_BYTES = 256 * 1024


def validate_object_meta(
    metadata: dict[str, Any], path: Path, name_form: str = "", required: bool = False
) -> Iterator[Diagnostic]:
    """Yield the diagnostics of an ObjectMeta whose name must have ``name_form`` (no check if empty)."""
    name, prefix = get_text(metadata, "name"), get_text(metadata, "generateName")
    if name and name_form:
        yield from validate_name(name, name_form, (*path, "name"))
    elif prefix and name_form:
        # The server appends five characters, so the prefix itself may end in "-".
        yield from validate_name(prefix, name_form, (*path, "generateName"), prefix.rstrip("-") or prefix)
    elif required and not prefix and metadata.get("name", "") == "":
        yield diagnose_missing_field("name", path)
    yield from _validate_annotations(metadata, path)
    yield from _validate_owner_references(metadata, path)


def validate_name(name: str, form: str, path: Path, checked_part: str = "") -> Iterator[Diagnostic]:
    """Yield a diagnostic if a name does not have ``form`` (a key of ``names.NAME_FORMS``).

    ``checked_part`` is the part of the name that must have it, if not the whole.
    """
    mismatch = names.explain_mismatch(form, checked_part or name)
    if mismatch:
        rule = "SCHEMA005" if mismatch.startswith("has") else "SCHEMA006"
        yield Diagnostic(rule, f"{path[-1]} {names.format_value(name)} {mismatch}", path)


def _validate_annotations(metadata: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict) or not annotations:
        return
    size = sum(
        len(part.encode("utf-8", "surrogatepass"))
        for item in annotations.items()
        for part in item
        if isinstance(part, str)
    )
    if size > MAX_ANNOTATION_BYTES:
        message = f"annotations have {size} bytes in total; at most {MAX_ANNOTATION_BYTES} are allowed"
        yield Diagnostic("SCHEMA005", message, (*path, "annotations"))


def _validate_owner_references(metadata: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    first_controller: Path | None = None
    for index, owner in get_entries(metadata, "ownerReferences"):
        if owner.get("controller") is True:
            controller_path = (*path, "ownerReferences", index, "controller")
            if first_controller is not None:
                message = "an object can have one controller, but two ownerReferences set controller: true"
                related = ((first_controller, "the first controller"), (controller_path, "the second"))
                # The API server reports the list, since either entry may be wrong.
                yield Diagnostic("SCHEMA009", message, controller_path[:-2], related=related)
            first_controller = first_controller or controller_path
