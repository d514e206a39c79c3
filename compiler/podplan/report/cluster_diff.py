"""What differs between the lowered objects of a job and the real ones, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from podplan.core.findings import pointer
from podplan.core.typing import Any
from podplan.tools.cluster_diff.aggregation import Told
from podplan.tools.cluster_diff.config_writer import toml
from podplan.tools.cluster_diff.differences import ABSENT

MAX_SHOWN = 200
MAX_NAMES = 2


def as_text(told: Sequence[Told], values: Mapping[str, Any], kind: str, notes: Sequence[str]) -> str:
    """The differences, each with its settings; then the settings to write, and what else there is to know."""
    blocks = [_block(one) for one in told]
    if values:
        lines = [f'"{id_}" = {toml(value)}' for id_, value in values.items()]
        blocks.append(
            "\n".join(["these settings adopt what is really there:", f"  [lowering.{kind}]", *_in(lines)])
        )
    blocks.append("\n".join([_summary(told), *notes]))
    return "\n\n".join(blocks) + "\n"


def as_json(told: Sequence[Told], values: Mapping[str, Any], kind: str, notes: Sequence[str]) -> str:
    """The same for machines: ``{"format": 1, "differences": […], "settings": {…}, "kind", "notes"}``."""
    whole = {
        "format": 1,
        "kind": kind,
        "differences": [_entry(one) for one in told],
        "settings": dict(values),
        "notes": list(notes),
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _block(one: Told) -> str:
    lines = [f"{one.kind}/{_names(one.names)}" + (f"  {one.part}" if one.part else "")]
    order = "in this order: " if one.ordered else ""
    basis = f"  [{one.basis}] {one.why}" if one.basis else ""
    lines.append(f"  predicted  {order}{_shown(one, one.predicted)}")
    lines += [f"           {basis}"] if basis else []
    lines.append(f"  real       {order}{_shown(one, one.real)}")
    lines.append(f"  adopted by {', '.join(one.settings) if one.settings else 'no setting'}")
    return "\n".join(lines)


def _shown(one: Told, value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    if not one.path:
        return "this object"
    line, value = _line(one, value)
    text = line + json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + " …"


def _line(one: Told, value: Any) -> tuple[str, Any]:
    """Of texts of several lines, the first that is not the same in both, with its number in words."""
    if not isinstance(one.predicted, str) or not isinstance(one.real, str):
        return "", value
    ours, theirs, lines = one.predicted.splitlines(), one.real.splitlines(), value.splitlines()
    pairs = zip(ours, theirs, strict=False)
    number = next((i for i, pair in enumerate(pairs) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    if max(len(ours), len(theirs)) < 2 or number >= len(lines):
        return "", value
    return f"line {number + 1}: ", lines[number]


def _names(names: Sequence[str]) -> str:
    """Names as a list, those of many replicas by the first and the last."""
    return ", ".join(names) if len(names) <= MAX_NAMES else f"{names[0]} … {names[-1]} ({len(names)})"


def _summary(told: Sequence[Told]) -> str:
    if not told:
        return "equal: the real objects are as predicted"
    adoptable = sum(bool(one.settings) for one in told)
    others = len(told) - adoptable
    return f"{_counted(len(told), 'difference')}: settings adopt {adoptable}, none adopts {others}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _in(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _entry(one: Told) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "object": {"kind": one.kind, "names": list(one.names)},
        "path": pointer(one.path),
        "predicted": None if one.predicted is ABSENT else one.predicted,
        "real": None if one.real is ABSENT else one.real,
        "what": "missing" if one.real is ABSENT else "extra" if one.predicted is ABSENT else "other",
        "basis": one.basis or None,
        "fact": one.fact or None,
        "settings": list(one.settings),
    }
    return entry | ({"what": "order"} if one.ordered else {})
