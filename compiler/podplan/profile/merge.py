"""One profile, or an overlay, laid over another.

Maps merge by key, scalars and plain lists are replaced, ``roles``, ``data`` and ``ports`` merge by name,
null deletes. A change of type is a problem. docs/profile.md has the rules in words.
"""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, Doc, at, copied
from podplan.core.suggestions import meant_or_known
from podplan.core.typing import Any, NamedTuple

Problems = list[tuple[Doc, Problem]]

KEYED = frozenset({"roles", "data", "ports"})
OPENING, CLOSING = "${{", "}}"

# Spelled as in Kubernetes, where a quantity or a port may be a number or text.
_KUBERNETES = frozenset({"resources", "pod", "container", "tensorboard", "generic"})
_NUMBER_OR_TEXT = frozenset({("shm",), ("processes",), ("deadline",)})
# Where a null is an instruction to a later step: what it deletes is not in the profile.
_PATCHES = frozenset({"pod", "container"})
# How many wrong names of one list are compared with those that it has, which takes milliseconds for each.
_MOST_MEANT = 100


class Area(NamedTuple):
    """Where in the profile format a merge is.

    ``fields`` are those below the spec, the role or the overlay that was entered last. With ``keeps_nulls``
    a null stays in the result, for the step that it speaks to.
    """

    fields: tuple[str, ...] = ()
    keeps_nulls: bool = False

    def below(self, key: str) -> Area:
        if self.fields == ("environments",):
            return Area((), True)
        fields = (*self.fields, key)
        return Area(fields, self.keeps_nulls or fields[0] in _PATCHES)

    def entry(self) -> Area:
        """An entry of this list; a role has the fields of a spec, and may delete what the spec gives it."""
        return Area((), True) if self.fields == ("roles",) else Area((*self.fields, "*"), self.keeps_nulls)

    @property
    def is_keyed(self) -> bool:
        return len(self.fields) == 1 and self.fields[0] in KEYED

    @property
    def is_whole(self) -> bool:
        """Whether the value has several forms that must not mix, and so is replaced whole."""
        match self.fields:
            case ("run",) | ("env", _) | ("values", _) | ("params", _, _) | ("matrix", "axes", _):
                return True
        return False

    @property
    def number_or_text(self) -> bool:
        return self.fields in _NUMBER_OR_TEXT or (bool(self.fields) and self.fields[0] in _KUBERNETES)


SPEC = Area()


def merge(base: Cursor, over: Cursor, problems: Problems, *, strict: bool = False, area: Area = SPEC) -> Any:
    """The marked tree of ``over`` laid over ``base``; each value notes the one that it replaces.

    Strict is the mode of environments and flags: they may only name entries, and delete fields, that are
    there. What cannot be merged is added to ``problems`` at its place in ``over``, and ``base`` stays.
    """
    if not base.exists and not strict:
        return over
    if area.is_whole:
        return copied(over, over=(base,))
    if isinstance(over.value, dict) and (isinstance(base.value, dict) or not base.exists):
        return _map(base, over, problems, strict, area) if over.value else kept(base if base.exists else over)
    if area.is_keyed and isinstance(over.value, list) and (isinstance(base.value, list) or not base.exists):
        return _entries(base, over, problems, strict, area)
    change = _change_of_type(base, over, area)
    if change:
        problems.append((over.doc, Problem("PROF003", change, over.path)))
        return base
    return copied(over, over=(base,))


def kept(cursor: Cursor) -> Any:
    """``cursor`` as a leaf that stands even where it is null."""
    return cursor if cursor.exists else at(cursor, None)


def _map(base: Cursor, over: Cursor, problems: Problems, strict: bool, area: Area) -> Any:
    before = base.value or {}
    result: dict[str, Any] = {}
    for key in before:
        if key not in over.value:
            result[key] = kept(base.get(key))
        else:
            _put(result, key, base.get(key), over.get(key), problems, strict, area)
    for key in over.value:
        if key not in before:
            _put(result, key, base.get(key), over.get(key), problems, strict, area)
    if not base.exists:
        return at(over, result)
    # Whatever is missing from the map is best added where the map belongs: an overlay is only a difference.
    return at((base, over) if strict else (over, base), result)


def _put(
    result: dict[str, Any],
    key: str,
    base: Cursor,
    over: Cursor,
    problems: Problems,
    strict: bool,
    area: Area,
) -> None:
    if over.exists:
        result[key] = merge(base, over, problems, strict=strict, area=area.below(key))
    elif area.keeps_nulls or (not strict and not base.exists):
        result[key] = at(over, None, over=(base,))
    elif not base.exists:
        message = f'null deletes "{key}", but there is nothing to delete; remove the line'
        problems.append((over.doc, Problem("PROF004", message, over.path, on_key=True)))


def _entries(base: Cursor, over: Cursor, problems: Problems, strict: bool, area: Area) -> Any:
    field = area.fields[0]
    there = [name for name in map(_name, base.entries()) if name is not None]
    known = set(there)
    patches: dict[str, Cursor] = {}
    unknown = 0
    for entry in over.entries():
        name = _name(entry)
        if name is None:
            message = f'an entry of "{field}" has no name, by which such lists are merged; give it one'
            problems.append((over.doc, Problem("PROF001", message, entry.path)))
        elif name in patches:
            message = f'"{field}" has two entries named "{name}"; merge them into one'
            problems.append((over.doc, Problem("PROF001", message, (*entry.path, "name"))))
        elif strict and name not in known:
            unknown += 1
            meant = meant_or_known(name, there) if unknown <= _MOST_MEANT else ""
            message = f'"{field}" has no entry named "{name}" to overlay{meant}'
            how = "an environment changes what the spec has; add the entry to the spec first"
            problems.append((over.doc, Problem("PROF004", message, (*entry.path, "name"), help=how)))
        else:
            patches[name] = entry
    result: list[Any] = []
    for entry in base.entries():
        patch = patches.pop(_name(entry) or "", None)
        if patch is None:
            result.append(kept(entry))
        else:
            result.append(merge(entry, patch, problems, strict=strict, area=area.entry()))
    result.extend(patches.values())
    if not base.exists:
        return at(over, result)
    return at((base, over) if strict else (over, base), result)


def _name(entry: Cursor) -> str | None:
    name = entry.value.get("name") if isinstance(entry.value, dict) else None
    return name if isinstance(name, str) and name else None


def _change_of_type(base: Cursor, over: Cursor, area: Area) -> str:
    before, now = _form(base.value), _form(over.value)
    if "" in (before, now) or before == now:
        return ""
    if area.number_or_text and {before, now} == {"a number", "text"}:
        return ""
    return f'"{_field(over)}" was {before} and becomes {now}; an overlay may not change the type'


def _field(cursor: Cursor) -> str:
    return str(next((step for step in reversed(cursor.path) if isinstance(step, str)), ""))


def _form(value: Any) -> str:
    """What a value is, in words; "" for what may still become anything."""
    if isinstance(value, str):
        return "" if is_expression(value) else "text"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, dict):
        return "a map"
    return "a list" if isinstance(value, list) else ""


def is_expression(text: str) -> bool:
    """Whether a scalar is nothing but one expression, so that its type is not known yet."""
    return text.startswith(OPENING) and text.endswith(CLOSING) and text.find(CLOSING) == len(text) - 2
