"""Moves comments of a CR to the equivalent places of the profile.

Provenance of the compiled profile tells where each part of a CR comes from; a comment follows the same path.
"""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument, find_origin, iter_origins_below
from podplan.core.typing import Any
from podplan.kinds.compilation import compile_profile
from podplan.tools.importer.comments import PlacedComment

# Paths of whole roles or jobs: a comment there would be about something else.
_ROLES_PATH: Path = ("spec", "roles")
_UNCHANGED_FIELDS = ("apiVersion", "kind")


def move_comments(comments: list[PlacedComment], profile: dict[str, Any]) -> list[PlacedComment]:
    """Return ``comments`` with paths in the profile; a comment without an equivalent goes to the top.

    A field that several roles have in the CR is once in the profile, and so is a comment on each of them.
    """
    if not comments:
        return []
    cr = compile_profile(TracedDocument("profile", profile), None).cr
    assert cr is not None, "an imported profile compiles"
    first: dict[PlacedComment, Path] = {}
    return [
        there
        for comment in comments
        if first.setdefault(there := _move_comment(comment, cr, profile), comment.path) == comment.path
    ]


def _move_comment(comment: PlacedComment, cr: TracedDocument, profile: dict[str, Any]) -> PlacedComment:
    if comment.position in ("top", "end"):
        return comment
    profile_path = _find_adjacent_field(comment, cr, profile) or _find_profile_path(cr, comment.path)
    if profile_path is None or not _is_written(profile, profile_path):
        return comment._replace(position="top", path=())
    return comment._replace(path=profile_path)


def _find_adjacent_field(comment: PlacedComment, cr: TracedDocument, profile: dict[str, Any]) -> Path | None:
    """Return the field of the profile for a comment between fields of the CR's spec.

    None for a comment elsewhere.
    """
    path = comment.path
    if path[0] != "spec" or comment.position == "beside":
        return None
    if comment.position == "below":
        closing = len(path) <= 2 or (len(path) == 3 and isinstance(path[2], int))
        return ("spec", list(profile["spec"])[-1]) if closing else None
    if len(path) > 2:
        return None
    return _find_first_field(cr, path, profile) if len(path) == 2 else path


def _find_first_field(cr: TracedDocument, path: Path, profile: dict[str, Any]) -> Path | None:
    """Return the first field of the profile's spec that contributes to ``path``; ``roles`` if those do."""
    profile_paths = [
        _find_source_path(cr, below)
        for below in (path, *(below for below, _ in iter_origins_below(cr, path)))
    ]
    mentioned_fields = {place[1] for place in profile_paths if place is not None and place[0] == "spec"}
    field = (
        "roles"
        if "roles" in mentioned_fields
        else next((field for field in profile["spec"] if field in mentioned_fields), None)
    )
    return ("spec", field) if field is not None else None


def _find_profile_path(cr: TracedDocument, path: Path) -> Path | None:
    """Return the path in the profile that ``path`` of the CR comes from, or the first below that has one."""
    if path[0] in _UNCHANGED_FIELDS:
        return path
    if not _is_written(cr.data, path):
        return None
    direct_path = _find_source_path(cr, path)
    if direct_path is not None:
        return direct_path
    value: Any = cr.data
    for step in path:
        value = value[step]
    steps = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    nested_path = next(
        (nested_path for step in steps if (nested_path := _find_profile_path(cr, (*path, step))) is not None),
        None,
    )
    about_all = isinstance(value, list) and nested_path is not None and nested_path[:2] == _ROLES_PATH
    return _ROLES_PATH if about_all else nested_path


def _find_source_path(cr: TracedDocument, path: Path) -> Path | None:
    """Return the path that ``path`` comes from; None if that is a whole role or job."""
    origin, rest = find_origin(cr, path)
    if not origin.sources:
        return None
    source_path = origin.sources[0].path
    if origin.derivation == "copied":
        source_path = (*source_path, *rest)
    return None if _is_general_path(source_path) else source_path


def _is_general_path(path: Path) -> bool:
    return len(path) < 2 or (path[:2] == _ROLES_PATH and len(path) <= 3)


def _is_written(data: Any, path: Path) -> bool:
    for step in path:
        if isinstance(data, dict):
            if step not in data:
                return False
        elif not (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            return False
        data = data[step]
    return True
