"""``environments``: an overlay over the spec by name, and the flags that go over it."""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, Doc, at, root, split
from podplan.core.suggestions import meant_or_known
from podplan.core.typing import Any
from podplan.profile.merge import Problems, kept, merge

METADATA = ("namespace", "labels", "annotations")
_NOT_SPEC = frozenset({*METADATA, "values"})
_NEVER = ("extends", "environments")


def names(doc: Doc) -> list[str]:
    """The environments of a profile as it stands after ``extends``, in the order of the file."""
    return list(root(doc).get("spec", "environments").fields())


def under(doc: Doc, environment: str, problems: Problems) -> Doc | None:
    """``doc`` with the overlay of one environment merged in; None, and a problem, where there is no such."""
    everything = root(doc).get("spec", "environments")
    overlay = everything.get(environment)
    if not overlay.exists:
        known = meant_or_known(environment, names(doc)) or "; the profile has no environments"
        message = f'there is no environment "{environment}"{known}'
        place = everything if everything.exists else root(doc).get("spec")
        problems.append((doc, Problem("PROF014", message, place.path, on_key=everything.exists)))
        return None
    if not isinstance(overlay.value, dict):
        message = f'the environment "{environment}" is not a map of fields of the spec'
        problems.append((doc, Problem("PROF001", message, overlay.path)))
        return None
    for key in _NEVER:
        if key in overlay.value:
            message = f'an environment may not have "{key}"; only the spec itself may'
            problems.append((doc, Problem("PROF001", message, (*overlay.path, key), on_key=True)))
    patch = _part(overlay, [key for key in overlay.value if key not in _NOT_SPEC and key not in _NEVER])
    metadata = _part(overlay, [key for key in METADATA if key in overlay.value])
    return patched(doc, root(patch), root(metadata), problems)


def values(doc: Doc, environment: str, problems: Problems) -> dict[str, Cursor]:
    """The values of params that the overlay of an environment gives."""
    given = root(doc).get("spec", "environments", environment, "values")
    if given.exists and not isinstance(given.value, dict):
        message = "values is not a map; write values: {param: value}"
        problems.append((doc, Problem("PROF001", message, given.path)))
    return {key: given.get(key) for key in given.value} if isinstance(given.value, dict) else {}


def patched(doc: Doc, spec: Cursor, metadata: Cursor, problems: Problems) -> Doc:
    """``doc`` with a strict overlay over its spec and its metadata."""
    whole = root(doc)
    tree: dict[str, Any] = {key: kept(whole.get(key)) for key in whole.value}
    if metadata.value:
        tree["metadata"] = merge(whole.get("metadata"), metadata, problems, strict=True)
    tree["spec"] = merge(whole.get("spec"), spec, problems, strict=True)
    return split(at(whole, tree), doc.name)


def _part(overlay: Cursor, keys: list[str]) -> Doc:
    """Some keys of an overlay as a document of their own, each traced to where it is written."""
    return split(at(overlay, {key: kept(overlay.get(key)) for key in keys}), overlay.doc.name)
