"""``matrix``: one instance of the profile for each combination of the values of its axes."""

from __future__ import annotations

import json
from itertools import product

from podplan.core.findings import Problem
from podplan.core.lazy_regex import pattern
from podplan.core.limits import MAX_INSTANCES, beyond
from podplan.core.provenance import Cursor, Doc, root
from podplan.core.suggestions import meant_or_known
from podplan.core.typing import Any, NamedTuple
from podplan.profile.merge import OPENING, Problems

DEFAULT_INSTANCES = 8
_LONGEST_VALUE = 40
_NOT_DNS = pattern(r"[^a-z0-9]")


class Instance(NamedTuple):
    """One combination.

    ``id`` is such as ``size-large.seed-1``; ``values`` are the places of the values, by axis and by the
    further keys of ``include``.
    """

    id: str
    values: dict[str, Cursor]

    @property
    def label(self) -> str:
        """The id as a part of a name: without dots, which the names of Services may not have."""
        return self.id.replace(".", "-")


NONE = Instance("", {})


def instances(doc: Doc, problems: Problems) -> list[Instance]:
    """The instances of a profile in order of its axes, then those that ``include`` adds.

    A profile without a matrix has one, with the id "". Where the matrix is at fault the result is empty, and
    ``problems`` says why.
    """
    matrix = root(doc).get("spec", "matrix")
    if not matrix.exists:
        return [NONE]
    own: Problems = []
    found = _combined(matrix, own)
    problems.extend(own)
    return [] if own else found


def _combined(matrix: Cursor, problems: Problems) -> list[Instance]:
    def refuse(rule: str, message: str, place: Cursor, on_key: bool = False) -> None:
        problems.append((place.doc, Problem(rule, message, place.path, on_key)))

    if not matrix.get("axes").exists:
        refuse("PROF011", "a matrix needs axes; write axes: {name: [values]}", matrix, True)
        return []
    axes = _axes(matrix.get("axes"), refuse)
    if problems:
        return []
    most = _most(matrix.get("maxInstances"), refuse)
    count = 1
    for values in axes.values():
        count *= len(values)
    if count > MAX_INSTANCES:
        message = f"the axes make {count} combinations; use fewer values"
        refuse("PROF017", beyond("instances", message), matrix.get("axes"), True)
        return []
    chosen = {
        _key(combination): dict(zip(axes, combination, strict=True))
        for combination in product(*axes.values())
    }
    for entry in _rows(matrix.get("exclude"), refuse):
        _exclude(entry, axes, chosen, refuse)
    for entry in _rows(matrix.get("include"), refuse):
        _include(entry, axes, chosen, refuse)
    if not chosen and not problems:
        refuse(
            "PROF011",
            "exclude leaves no instance; remove an entry, or the matrix",
            matrix.get("exclude"),
            True,
        )
    if len(chosen) > most:
        message = (
            f"the matrix has {len(chosen)} instances, and at most {most} are allowed; "
            f"raise matrix.maxInstances to {len(chosen)}, or use fewer values"
        )
        refuse("PROF012", message, matrix, True)
    found = [Instance(_id({axis: row[axis] for axis in axes}), row) for row in chosen.values()]
    _demand_unlike(found, axes, refuse)
    return found


def _axes(axes: Cursor, refuse: Any) -> dict[str, list[Cursor]]:
    if not isinstance(axes.value, dict) or not axes.value:
        refuse("PROF011", "a matrix needs axes; write axes: {name: [values]}", axes)
        return {}
    result: dict[str, list[Cursor]] = {}
    for name in axes.value:
        axis = axes.get(name)
        if name == "id":
            refuse(
                "PROF011", 'an axis may not be called "id": matrix.id is the id of the instance', axis, True
            )
        elif not isinstance(axis.value, list) or not axis.value:
            refuse("PROF011", f'the axis "{name}" needs a list of values', axis)
        else:
            result[name] = _values(name, axis, refuse)
    return result


def _values(name: str, axis: Cursor, refuse: Any) -> list[Cursor]:
    seen: set[str] = set()
    for value in axis.entries():
        if _is_scalar(value, name, refuse):
            if _text(value.value) in seen:
                said = _text(value.value)
                refuse("PROF011", f'the axis "{name}" has {said} twice, so two instances are equal', value)
            seen.add(_text(value.value))
    return axis.entries()


def _is_scalar(value: Cursor, name: str, refuse: Any) -> bool:
    if not isinstance(value.value, str | int | float | bool):
        refuse("PROF011", f'a value of "{name}" is not text, a number or a boolean', value)
        return False
    if isinstance(value.value, str) and OPENING in value.value:
        refuse("PROF010", "the matrix may not hold expressions; it is what expressions see", value)
        return False
    return True


def _most(bound: Cursor, refuse: Any) -> int:
    if not bound.exists:
        return DEFAULT_INSTANCES
    value = bound.value
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_INSTANCES:
        refuse("PROF012", f"maxInstances is a number from 1 to {MAX_INSTANCES}", bound)
        return MAX_INSTANCES
    return value


def _rows(rows: Cursor, refuse: Any) -> list[dict[str, Cursor]]:
    """The entries of include or exclude; the entry itself under the key ""."""
    if not rows.exists:
        return []
    if not isinstance(rows.value, list) or len(rows.value) > MAX_INSTANCES:
        refuse("PROF011", f"this is a list of at most {MAX_INSTANCES} maps such as {{axis: value}}", rows)
        return []
    result = []
    for row in rows.entries():
        if not isinstance(row.value, dict) or not row.value:
            refuse("PROF011", "an entry of include or exclude is a map such as {axis: value}", row)
        elif all(_is_scalar(row.get(key), key, refuse) for key in row.value):
            result.append({"": row, **{key: row.get(key) for key in row.value}})
    return result


def _exclude(row: dict[str, Cursor], axes: Any, chosen: dict[Any, Any], refuse: Any) -> None:
    entry = row.pop("")
    for key in row:
        if key not in axes:
            refuse("PROF011", f'there is no axis "{key}"{meant_or_known(key, axes)}', row[key], True)
            return
    gone = _agreeing(row, axes, chosen)
    if not gone:
        refuse("PROF011", "exclude names a combination that the matrix does not have", entry)
    for key in gone:
        del chosen[key]


def _include(row: dict[str, Cursor], axes: Any, chosen: dict[Any, Any], refuse: Any) -> None:
    entry = row.pop("")
    if "id" in row:
        refuse("PROF011", '"id" is the id of the instance, which podplan makes itself', row["id"], True)
        return
    on_axes = {key: value for key, value in row.items() if key in axes}
    more = {key: value for key, value in row.items() if key not in axes}
    there = _agreeing(on_axes, axes, chosen)
    if there and not more:
        refuse("PROF011", "include names a combination that the matrix has already", entry)
    elif there:
        for key in there:
            chosen[key] = {**chosen[key], **more}
    elif len(on_axes) == len(axes):
        combination = {axis: row[axis] for axis in axes}
        chosen[_key(tuple(combination.values()))] = {**combination, **more}
    else:
        missing = ", ".join(axis for axis in axes if axis not in row)
        message = f"include agrees with no instance, and for a new one it lacks {missing}"
        refuse("PROF011", message, entry)


def _agreeing(row: dict[str, Cursor], axes: Any, chosen: dict[Any, Any]) -> list[Any]:
    """The keys of the combinations that have the values of ``row``."""
    wanted = {axis: _text(row[axis].value) for axis in row}
    if len(wanted) == len(axes):
        key = tuple(wanted[axis] for axis in axes)
        return [key] if key in chosen else []
    places = [(index, wanted[axis]) for index, axis in enumerate(axes) if axis in wanted]
    return [key for key in chosen if all(key[index] == text for index, text in places)]


def _key(combination: tuple[Cursor, ...]) -> tuple[str, ...]:
    return tuple(_text(cursor.value) for cursor in combination)


def _text(value: Any) -> str:
    """A value with its type: 1, "1" and true differ."""
    return json.dumps(value)


def _id(values: dict[str, Cursor]) -> str:
    return ".".join(f"{_dns(axis)}-{_dns(_plain(cursor.value))}" for axis, cursor in values.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _dns(text: str) -> str:
    """``text`` as a part of a DNS label: lower case, dashes for all else, long text cut."""
    if len(text) > _LONGEST_VALUE:
        from hashlib import sha256

        text = f"{text[: _LONGEST_VALUE - 9]}-{sha256(text.encode()).hexdigest()[:8]}"
    return _NOT_DNS.sub("-", text.lower()).rstrip("-") or "x"


def _demand_unlike(found: list[Instance], axes: dict[str, list[Cursor]], refuse: Any) -> None:
    first: dict[str, Instance] = {}
    for instance in found:
        other = first.setdefault(instance.label, instance)
        if other is not instance:
            axis = next(a for a in axes if _text(other.values[a].value) != _text(instance.values[a].value))
            one, two = _text(other.values[axis].value), _text(instance.values[axis].value)
            message = (
                f'two instances would be called "{instance.label}": names keep only letters, digits and '
                f"dashes of {one} and {two}; spell one of them in another way"
            )
            refuse("PROF013", message, instance.values[axis])
