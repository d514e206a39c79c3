"""Merges a profile or an overlay over another.

Mappings merge by key, scalars and plain lists are replaced, ``roles``, ``data`` and ``ports`` merge by name,
null deletes. A change of type is an error. docs/profile.md states the rules.
"""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to, copy_traced
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any, NamedTuple

KEYED_LISTS = frozenset({"roles", "data", "ports"})
OPENING, CLOSING = "${{", "}}"

# Fields in Kubernetes spelling, where a quantity or a port may be a number or text.
_KUBERNETES_FIELDS = frozenset({"resources", "pod", "container", "tensorboard", "generic", "replicatedJob"})
_NUMBER_OR_TEXT = frozenset({("shm",), ("processes",), ("deadline",)})
# Fields in which a null is an instruction to a later step, because it deletes what is not in the profile.
_PATCH_FIELDS = frozenset({"pod", "container", "replicatedJob"})
# How many wrong names of one list get a suggestion, which takes milliseconds each.
_MAX_SUGGESTIONS = 100


class FieldArea(NamedTuple):
    """The position of a merge in the profile format.

    ``fields`` are the steps below the innermost spec, role or overlay. With ``keeps_nulls`` a null stays in
    the result, for the step that evaluates it.
    """

    fields: tuple[str, ...] = ()
    keeps_nulls: bool = False

    def child(self, key: str) -> FieldArea:
        if self.fields == ("environments",):
            return FieldArea((), True)
        fields = (*self.fields, key)
        return FieldArea(fields, self.keeps_nulls or fields[0] in _PATCH_FIELDS)

    def list_entry(self) -> FieldArea:
        """The area of an entry of this list; a role has the fields of a spec, and may delete inherited
        ones."""
        return (
            FieldArea((), True)
            if self.fields == ("roles",)
            else FieldArea((*self.fields, "*"), self.keeps_nulls)
        )

    @property
    def is_keyed(self) -> bool:
        return len(self.fields) == 1 and self.fields[0] in KEYED_LISTS

    @property
    def is_replaced_whole(self) -> bool:
        """Whether the value has several forms that must not be merged, and so is replaced as a whole."""
        match self.fields:
            case ("run",) | ("runtime",) | ("env", _) | ("values", _):
                return True
            case ("params", _, _) | ("matrix", "axes", _):
                return True
        return False

    @property
    def allows_number_or_text(self) -> bool:
        return self.fields in _NUMBER_OR_TEXT or (bool(self.fields) and self.fields[0] in _KUBERNETES_FIELDS)


SPEC_AREA = FieldArea()


def merge_values(
    base: Cursor,
    over: Cursor,
    diagnostics: list[Diagnostic],
    *,
    strict: bool = False,
    area: FieldArea = SPEC_AREA,
) -> Any:
    """Return the traced tree of ``over`` merged over ``base``; each value records the one that it replaces.

    Strict is the mode of environments and flags: they may only name entries, and delete fields, that exist.
    What cannot be merged is reported at its path in ``over``, and ``base`` stays.
    """
    if not base.exists and not strict:
        return over
    if area.is_replaced_whole:
        return copy_traced(over, overridden=(base,))
    if isinstance(over.value, dict) and (isinstance(base.value, dict) or not base.exists):
        return (
            _merge_map(base, over, diagnostics, strict, area)
            if over.value
            else preserve_null(base if base.exists else over)
        )
    if area.is_keyed and isinstance(over.value, list) and (isinstance(base.value, list) or not base.exists):
        return _merge_entries(base, over, diagnostics, strict, area)
    type_change = _describe_type_change(base, over, area)
    if type_change:
        diagnostics.append(Diagnostic("PROF003", type_change, over.path, doc=over.doc))
        return base
    return copy_traced(over, overridden=(base,))


def preserve_null(cursor: Cursor) -> Any:
    """Return ``cursor`` as a leaf that is kept even if it is null."""
    return cursor if cursor.exists else attribute_to(cursor, None)


def _merge_map(
    base: Cursor, over: Cursor, diagnostics: list[Diagnostic], strict: bool, area: FieldArea
) -> Any:
    base_fields = base.value or {}
    result: dict[str, Any] = {}
    for key in base_fields:
        if key not in over.value:
            result[key] = preserve_null(base.get(key))
        else:
            _merge_key(result, key, base.get(key), over.get(key), diagnostics, strict, area)
    for key in over.value:
        if key not in base_fields:
            _merge_key(result, key, base.get(key), over.get(key), diagnostics, strict, area)
    if not base.exists:
        return attribute_to(over, result)
    # A missing field is best added where the mapping is defined: an overlay states only differences.
    return attribute_to((base, over) if strict else (over, base), result)


def _merge_key(
    result: dict[str, Any],
    key: str,
    base: Cursor,
    over: Cursor,
    diagnostics: list[Diagnostic],
    strict: bool,
    area: FieldArea,
) -> None:
    if over.exists:
        result[key] = merge_values(base, over, diagnostics, strict=strict, area=area.child(key))
    elif area.keeps_nulls or (not strict and not base.exists):
        result[key] = attribute_to(over, None, overridden=(base,))
    elif not base.exists:
        message = f'null deletes "{key}", but there is nothing to delete; remove the line'
        diagnostics.append(Diagnostic("PROF004", message, over.path, on_key=True, doc=over.doc))


def _merge_entries(
    base: Cursor, over: Cursor, diagnostics: list[Diagnostic], strict: bool, area: FieldArea
) -> Any:
    field = area.fields[0]
    base_names = [name for name in map(_find_entry_name, base.entries()) if name is not None]
    known_names = set(base_names)
    patches: dict[str, Cursor] = {}
    unknown_count = 0
    for entry in over.entries():
        name = _find_entry_name(entry)
        if name is None:
            message = f'an entry of "{field}" has no name, by which such lists are merged; give it one'
            diagnostics.append(Diagnostic("PROF001", message, entry.path, doc=over.doc))
        elif name in patches:
            message = f'"{field}" has two entries named "{name}"; merge them into one'
            diagnostics.append(Diagnostic("PROF001", message, (*entry.path, "name"), doc=over.doc))
        elif strict and name not in known_names:
            unknown_count += 1
            hint = suggest_or_list(name, base_names) if unknown_count <= _MAX_SUGGESTIONS else ""
            message = f'"{field}" has no entry named "{name}" to overlay{hint}'
            instruction = "an environment changes what the spec has; add the entry to the spec first"
            diagnostics.append(
                Diagnostic("PROF004", message, (*entry.path, "name"), help=instruction, doc=over.doc)
            )
        else:
            patches[name] = entry
    result: list[Any] = []
    for entry in base.entries():
        patch = patches.pop(_find_entry_name(entry) or "", None)
        if patch is None:
            result.append(preserve_null(entry))
        else:
            result.append(merge_values(entry, patch, diagnostics, strict=strict, area=area.list_entry()))
    result.extend(patches.values())
    if not base.exists:
        return attribute_to(over, result)
    return attribute_to((base, over) if strict else (over, base), result)


def _find_entry_name(entry: Cursor) -> str | None:
    name = entry.value.get("name") if isinstance(entry.value, dict) else None
    return name if isinstance(name, str) and name else None


def _describe_type_change(base: Cursor, over: Cursor, area: FieldArea) -> str:
    base_type, new_type = _describe_type(base.value), _describe_type(over.value)
    if "" in (base_type, new_type) or base_type == new_type:
        return ""
    if area.allows_number_or_text and {base_type, new_type} == {"a number", "text"}:
        return ""
    return (
        f'"{_find_field_name(over)}" was {base_type} and becomes {new_type}; an overlay may not change the'
        " type"
    )


def _find_field_name(cursor: Cursor) -> str:
    return str(next((step for step in reversed(cursor.path) if isinstance(step, str)), ""))


def _describe_type(value: Any) -> str:
    """Return the type of a value in words; "" for an expression, whose type is unknown."""
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
    """Whether a scalar is exactly one expression, so that its type is not known yet."""
    return text.startswith(OPENING) and text.endswith(CLOSING) and text.find(CLOSING) == len(text) - 2
