"""What the API server asks of ``metadata`` beyond its schema."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import entries, text
from podplan.kubernetes.messages import missing

MAX_ANNOTATION_BYTES = 256 * 1024


def check(metadata: dict[str, Any], path: Path, form: str = "", required: bool = False) -> Iterator[Problem]:
    """The problems of an ObjectMeta whose name must have ``form`` (no check when empty)."""
    name, prefix = text(metadata, "name"), text(metadata, "generateName")
    if name and form:
        yield from named(name, form, (*path, "name"))
    elif prefix and form:
        # The server adds five characters, so the prefix itself may end in "-".
        yield from named(prefix, form, (*path, "generateName"), prefix.rstrip("-") or prefix)
    elif required and not prefix and metadata.get("name", "") == "":
        yield missing("name", path)
    yield from _annotations(metadata, path)
    yield from _owners(metadata, path)


def named(name: str, form: str, path: Path, looked_at: str = "") -> Iterator[Problem]:
    """The problem of a name that does not have ``form`` (a key of ``names.FORMS``).

    ``looked_at`` is the part of the name that must have it, when that is not the whole.
    """
    fault = names.fault(form, looked_at or name)
    if fault:
        rule = "SCHEMA005" if fault.startswith("has") else "SCHEMA006"
        yield Problem(rule, f"{path[-1]} {names.shown(name)} {fault}", path)


def _annotations(metadata: dict[str, Any], path: Path) -> Iterator[Problem]:
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
        message = f"annotations have {size} bytes in all; at most {MAX_ANNOTATION_BYTES} are allowed"
        yield Problem("SCHEMA005", message, (*path, "annotations"))


def _owners(metadata: dict[str, Any], path: Path) -> Iterator[Problem]:
    first: Path | None = None
    for index, owner in entries(metadata, "ownerReferences"):
        if owner.get("controller") is True:
            at = (*path, "ownerReferences", index, "controller")
            if first is not None:
                message = "an object can have one controller; two ownerReferences say controller: true"
                related = ((first, "the first controller"), (at, "the second"))
                # The API server blames the list, since either entry may be the wrong one.
                yield Problem("SCHEMA009", message, at[:-2], related=related)
            first = first or at
