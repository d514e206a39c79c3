"""``matrix``: one instance of the profile for each combination of the values of its axes."""

from __future__ import annotations

import json
from itertools import product

from podplan.core.findings import Diagnostic
from podplan.core.lazy_regex import compile_lazily
from podplan.core.limits import MAX_INSTANCES, limit_exceeded
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any, NamedTuple
from podplan.profile.merge import OPENING

DEFAULT_MAX_INSTANCES = 8
_MAX_VALUE_LENGTH = 40
_NON_DNS_CHARACTER = compile_lazily(r"[^a-z0-9]")


class MatrixInstance(NamedTuple):
    """One combination.

    ``id`` is such as ``size-large.seed-1``; ``values`` are the cursors of the values, by axis and by the
    further keys of ``include``.
    """

    id: str
    values: dict[str, Cursor]

    @property
    def label(self) -> str:
        """The id as a part of a name: without dots, which names of Services must not contain."""
        return self.id.replace(".", "-")


SINGLE_INSTANCE = MatrixInstance("", {})


def expand_matrix(doc: TracedDocument, diagnostics: list[Diagnostic]) -> list[MatrixInstance]:
    """Return the instances of a profile in the order of its axes, then those that ``include`` adds.

    A profile without a matrix has one instance, with the id "". If the matrix is invalid, the result is empty
    and ``diagnostics`` has the reason.
    """
    matrix = root_cursor(doc).get("spec", "matrix")
    if not matrix.exists:
        return [SINGLE_INSTANCE]
    matrix_diagnostics: list[Diagnostic] = []
    matrix_instances = _combine_axes(matrix, matrix_diagnostics)
    diagnostics.extend(matrix_diagnostics)
    return [] if matrix_diagnostics else matrix_instances


def _combine_axes(matrix: Cursor, diagnostics: list[Diagnostic]) -> list[MatrixInstance]:
    def report(rule: str, message: str, cursor: Cursor, on_key: bool = False) -> None:
        diagnostics.append(Diagnostic(rule, message, cursor.path, on_key, doc=cursor.doc))

    if not matrix.get("axes").exists:
        report("PROF011", "a matrix needs axes; write axes: {name: [values]}", matrix, True)
        return []
    axes = _read_axes(matrix.get("axes"), report)
    if diagnostics:
        return []
    max_instances = _read_max_instances(matrix.get("maxInstances"), report)
    count = 1
    for values in axes.values():
        count *= len(values)
    if count > MAX_INSTANCES:
        message = f"the axes make {count} combinations; use fewer values"
        report("PROF017", limit_exceeded("instances", message), matrix.get("axes"), True)
        return []
    rows_by_key = {
        _build_key(combination): dict(zip(axes, combination, strict=True))
        for combination in product(*axes.values())
    }
    for entry in _read_rows(matrix.get("exclude"), report):
        _apply_exclude(entry, axes, rows_by_key, report)
    for entry in _read_rows(matrix.get("include"), report):
        _apply_include(entry, axes, rows_by_key, report)
    if not rows_by_key and not diagnostics:
        report(
            "PROF011",
            "exclude leaves no instance; remove an entry, or the matrix",
            matrix.get("exclude"),
            True,
        )
    if len(rows_by_key) > max_instances:
        message = (
            f"the matrix has {len(rows_by_key)} instances, and at most {max_instances} are allowed; "
            f"raise matrix.maxInstances to {len(rows_by_key)}, or use fewer values"
        )
        report("PROF012", message, matrix, True)
    matrix_instances = [
        MatrixInstance(_build_id({axis: row[axis] for axis in axes}), row) for row in rows_by_key.values()
    ]
    _require_distinct_labels(matrix_instances, axes, report)
    return matrix_instances


def _read_axes(axes: Cursor, report: Any) -> dict[str, list[Cursor]]:
    if not isinstance(axes.value, dict) or not axes.value:
        report("PROF011", "a matrix needs axes; write axes: {name: [values]}", axes)
        return {}
    result: dict[str, list[Cursor]] = {}
    for name in axes.value:
        axis = axes.get(name)
        if name == "id":
            report(
                "PROF011", 'an axis may not be called "id": matrix.id is the id of the instance', axis, True
            )
        elif not isinstance(axis.value, list) or not axis.value:
            report("PROF011", f'the axis "{name}" needs a list of values', axis)
        else:
            result[name] = _read_axis_values(name, axis, report)
    return result


def _read_axis_values(name: str, axis: Cursor, report: Any) -> list[Cursor]:
    seen_values: set[str] = set()
    for value in axis.entries():
        if _require_scalar(value, name, report):
            if _encode_value(value.value) in seen_values:
                value_text = _encode_value(value.value)
                report(
                    "PROF011", f'the axis "{name}" has {value_text} twice, so two instances are equal', value
                )
            seen_values.add(_encode_value(value.value))
    return axis.entries()


def _require_scalar(value: Cursor, name: str, report: Any) -> bool:
    if not isinstance(value.value, str | int | float | bool):
        report("PROF011", f'a value of "{name}" is not text, a number or a boolean', value)
        return False
    if isinstance(value.value, str) and OPENING in value.value:
        report("PROF010", "the matrix may not hold expressions; it is what expressions see", value)
        return False
    return True


def _read_max_instances(maximum: Cursor, report: Any) -> int:
    if not maximum.exists:
        return DEFAULT_MAX_INSTANCES
    value = maximum.value
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_INSTANCES:
        report("PROF012", f"maxInstances is a number from 1 to {MAX_INSTANCES}", maximum)
        return MAX_INSTANCES
    return value


def _read_rows(rows: Cursor, report: Any) -> list[dict[str, Cursor]]:
    """Return the entries of include or exclude, with the entry itself under the key ""."""
    if not rows.exists:
        return []
    if not isinstance(rows.value, list) or len(rows.value) > MAX_INSTANCES:
        report("PROF011", f"this is a list of at most {MAX_INSTANCES} maps such as {{axis: value}}", rows)
        return []
    result = []
    for row in rows.entries():
        if not isinstance(row.value, dict) or not row.value:
            report("PROF011", "an entry of include or exclude is a map such as {axis: value}", row)
        elif all(_require_scalar(row.get(key), key, report) for key in row.value):
            result.append({"": row, **{key: row.get(key) for key in row.value}})
    return result


def _apply_exclude(row: dict[str, Cursor], axes: Any, rows_by_key: dict[Any, Any], report: Any) -> None:
    entry = row.pop("")
    for key in row:
        if key not in axes:
            report("PROF011", f'there is no axis "{key}"{suggest_or_list(key, axes)}', row[key], True)
            return
    excluded = _find_matching(row, axes, rows_by_key)
    if not excluded:
        report("PROF011", "exclude names a combination that the matrix does not have", entry)
    for key in excluded:
        del rows_by_key[key]


def _apply_include(row: dict[str, Cursor], axes: Any, rows_by_key: dict[Any, Any], report: Any) -> None:
    entry = row.pop("")
    if "id" in row:
        report("PROF011", '"id" is the id of the instance, which podplan makes itself', row["id"], True)
        return
    axis_values = {key: value for key, value in row.items() if key in axes}
    additional = {key: value for key, value in row.items() if key not in axes}
    matching = _find_matching(axis_values, axes, rows_by_key)
    if matching and not additional:
        report("PROF011", "include names a combination that the matrix has already", entry)
    elif matching:
        for key in matching:
            rows_by_key[key] = {**rows_by_key[key], **additional}
    elif len(axis_values) == len(axes):
        combination = {axis: row[axis] for axis in axes}
        rows_by_key[_build_key(tuple(combination.values()))] = {**combination, **additional}
    else:
        missing_axes = ", ".join(axis for axis in axes if axis not in row)
        message = f"include agrees with no instance, and for a new one it lacks {missing_axes}"
        report("PROF011", message, entry)


def _find_matching(row: dict[str, Cursor], axes: Any, rows_by_key: dict[Any, Any]) -> list[Any]:
    """Return the keys of the combinations that have the values of ``row``."""
    expected = {axis: _encode_value(row[axis].value) for axis in row}
    if len(expected) == len(axes):
        key = tuple(expected[axis] for axis in axes)
        return [key] if key in rows_by_key else []
    positions = [(index, expected[axis]) for index, axis in enumerate(axes) if axis in expected]
    return [key for key in rows_by_key if all(key[index] == text for index, text in positions)]


def _build_key(combination: tuple[Cursor, ...]) -> tuple[str, ...]:
    return tuple(_encode_value(cursor.value) for cursor in combination)


def _encode_value(value: Any) -> str:
    """Encode a value with its type: 1, "1" and true differ."""
    return json.dumps(value)


def _build_id(values: dict[str, Cursor]) -> str:
    return ".".join(
        f"{_to_dns_label(axis)}-{_to_dns_label(_format_value(cursor.value))}"
        for axis, cursor in values.items()
    )


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _to_dns_label(text: str) -> str:
    """Return ``text`` as a part of a DNS label: lower case, other characters as dashes, truncated."""
    if len(text) > _MAX_VALUE_LENGTH:
        from hashlib import sha256

        text = f"{text[: _MAX_VALUE_LENGTH - 9]}-{sha256(text.encode()).hexdigest()[:8]}"
    return _NON_DNS_CHARACTER.sub("-", text.lower()).rstrip("-") or "x"


def _require_distinct_labels(
    matrix_instances: list[MatrixInstance], axes: dict[str, list[Cursor]], report: Any
) -> None:
    first_by_label: dict[str, MatrixInstance] = {}
    for instance in matrix_instances:
        other = first_by_label.setdefault(instance.label, instance)
        if other is not instance:
            axis = next(
                a
                for a in axes
                if _encode_value(other.values[a].value) != _encode_value(instance.values[a].value)
            )
            first_value, second_value = (
                _encode_value(other.values[axis].value),
                _encode_value(instance.values[axis].value),
            )
            message = (
                f'two instances would be called "{instance.label}": names keep only letters, digits and '
                f"dashes of {first_value} and {second_value}; spell one of them in another way"
            )
            report("PROF013", message, instance.values[axis])
