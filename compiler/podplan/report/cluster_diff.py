"""A cluster diff as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from podplan.config.toml_writer import format_key, format_toml
from podplan.core.findings import to_json_pointer
from podplan.core.structural_diff import ABSENT
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.tools.cluster_diff.aggregation import AggregatedDifference

MAX_VALUE_LENGTH = 200
MAX_NAMES = 2


def render_text(
    differences: Sequence[AggregatedDifference], values: Mapping[str, Any], kind: str, notes: Sequence[str]
) -> str:
    """Render the differences, each with its options; then the options to write, and notes.

    ``kind`` is the name that the configuration has for it.
    """
    blocks = [_format_difference(one) for one in differences]
    if values:
        lines = [f'"{id_}" = {format_toml(value)}' for id_, value in values.items()]
        table = f"  [lowering.{format_key(kind)}]"
        blocks.append("\n".join(["these settings adopt what is really there:", table, *_indent_lines(lines)]))
    blocks.append("\n".join([_format_summary(differences), *notes]))
    return "\n\n".join(blocks) + "\n"


def render_json(
    differences: Sequence[AggregatedDifference], values: Mapping[str, Any], kind: str, notes: Sequence[str]
) -> str:
    """Render for machines: ``{"format": 1, "differences": […], "settings": {…}, "kind", "notes"}``."""
    document = {
        "format": 1,
        "kind": kind,
        "differences": [_build_entry(one) for one in differences],
        "settings": dict(values),
        "notes": list(notes),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _format_difference(difference: AggregatedDifference) -> str:
    lines = [
        f"{difference.kind}/{_format_names(difference.names)}"
        + (f"  {difference.path_text}" if difference.path_text else "")
    ]
    order = "in this order: " if difference.order_only else ""
    basis = f"  [{difference.basis}] {difference.explanation}" if difference.basis else ""
    lines.append(f"  predicted  {order}{_format_value(difference, difference.predicted)}")
    lines += [f"           {basis}"] if basis else []
    lines.append(f"  real       {order}{_format_value(difference, difference.real)}")
    lines.append(f"  adopted by {', '.join(difference.options) if difference.options else 'no setting'}")
    return "\n".join(lines)


def _format_value(difference: AggregatedDifference, value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    if not difference.path:
        return "this object"
    line, value = _select_differing_line(difference, value)
    text = line + json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + " …"


def _select_differing_line(difference: AggregatedDifference, value: Any) -> tuple[str, Any]:
    """Return the first line of a text that differs, with its number in words."""
    if not isinstance(difference.predicted, str) or not isinstance(difference.real, str):
        return "", value
    ours, theirs, lines = difference.predicted.splitlines(), difference.real.splitlines(), value.splitlines()
    pairs = zip(ours, theirs, strict=False)
    number = next((i for i, pair in enumerate(pairs) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    if max(len(ours), len(theirs)) < 2 or number >= len(lines):
        return "", value
    return f"line {number + 1}: ", lines[number]


def _format_names(names: Sequence[str]) -> str:
    """Format names as a list, those of many replicas by the first and the last."""
    return ", ".join(names) if len(names) <= MAX_NAMES else f"{names[0]} … {names[-1]} ({len(names)})"


def _format_summary(differences: Sequence[AggregatedDifference]) -> str:
    if not differences:
        return "equal: the real objects are as predicted"
    adoptable = sum(bool(one.options) for one in differences)
    not_adoptable = len(differences) - adoptable
    return (
        f"{format_count(len(differences), 'difference')}: settings adopt {adoptable}, none adopts"
        f" {not_adoptable}"
    )


def _indent_lines(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _build_entry(difference: AggregatedDifference) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "object": {"kind": difference.kind, "names": list(difference.names)},
        "path": to_json_pointer(difference.path),
        "predicted": None if difference.predicted is ABSENT else difference.predicted,
        "real": None if difference.real is ABSENT else difference.real,
        "what": "missing"
        if difference.real is ABSENT
        else "extra"
        if difference.predicted is ABSENT
        else "other",
        "basis": difference.basis or None,
        "fact": difference.behavior_id or None,
        "settings": list(difference.options),
    }
    return entry | ({"what": "order"} if difference.order_only else {})
