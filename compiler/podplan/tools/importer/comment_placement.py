"""Comments of a CR at the places of the profile that say the same.

Compiling tells where each part of a CR comes from; a comment goes the same way back.
"""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import Doc, origin_of, origins_below
from podplan.core.typing import Any
from podplan.kinds.compilation import compile_profile
from podplan.tools.importer.comments import PlacedComment

# Places that stand for a whole role or job: a comment there would be about something else.
_ROLES: Path = ("spec", "roles")
_SAME = ("apiVersion", "kind", "metadata")


def moved(comments: list[PlacedComment], profile: dict[str, Any]) -> list[PlacedComment]:
    """``comments`` with the paths of the profile; what has no place there goes to the top.

    What several roles say in the CR is said once in the profile, and so is a comment that each of them has.
    """
    if not comments:
        return []
    cr = compile_profile(Doc("profile", profile), None).cr
    assert cr is not None, "an imported profile compiles"
    first: dict[PlacedComment, Path] = {}
    return [
        there
        for comment in comments
        if first.setdefault(there := _moved(comment, cr, profile), comment.path) == comment.path
    ]


def _moved(comment: PlacedComment, cr: Doc, profile: dict[str, Any]) -> PlacedComment:
    if comment.where in ("top", "end"):
        return comment
    place = _between_fields(comment, cr, profile) or _home(cr, comment.path)
    if place is None or not _written(profile, place):
        return comment._replace(where="top", path=())
    return comment._replace(path=place)


def _between_fields(comment: PlacedComment, cr: Doc, profile: dict[str, Any]) -> Path | None:
    """The field of the profile's spec above or below which a comment between fields of the CR's spec belongs.

    None for a comment that stands elsewhere.
    """
    path = comment.path
    if path[0] != "spec" or comment.where == "beside":
        return None
    if comment.where == "below":
        closing = len(path) <= 2 or (len(path) == 3 and isinstance(path[2], int))
        return ("spec", list(profile["spec"])[-1]) if closing else None
    if len(path) > 2:
        return None
    return _first_field(cr, path, profile) if len(path) == 2 else path


def _first_field(cr: Doc, path: Path, profile: dict[str, Any]) -> Path | None:
    """The first field of the profile's spec that says something of ``path``: ``roles``, where they do."""
    places = [_source(cr, below) for below in (path, *(below for below, _ in origins_below(cr, path)))]
    said = {place[1] for place in places if place is not None and place[0] == "spec"}
    field = "roles" if "roles" in said else next((field for field in profile["spec"] if field in said), None)
    return ("spec", field) if field is not None else None


def _home(cr: Doc, path: Path) -> Path | None:
    """The place of the profile that ``path`` of the CR comes from, or the first below that has one."""
    if path[0] in _SAME:
        return path
    if not _written(cr.data, path):
        return None
    own = _source(cr, path)
    if own is not None:
        return own
    value: Any = cr.data
    for step in path:
        value = value[step]
    steps = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    home = next((home for step in steps if (home := _home(cr, (*path, step))) is not None), None)
    about_all = isinstance(value, list) and home is not None and home[:2] == _ROLES
    return _ROLES if about_all else home


def _source(cr: Doc, path: Path) -> Path | None:
    """The place that ``path`` comes from; None where that is a whole role or job."""
    origin, rest = origin_of(cr, path)
    if not origin.places:
        return None
    place = origin.places[0].path
    if origin.how == "copied":
        place = (*place, *rest)
    return None if _is_general(place) else place


def _is_general(place: Path) -> bool:
    return len(place) < 2 or (place[:2] == _ROLES and len(place) <= 3)


def _written(data: Any, path: Path) -> bool:
    for step in path:
        if isinstance(data, dict):
            if step not in data:
                return False
        elif not (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            return False
        data = data[step]
    return True
