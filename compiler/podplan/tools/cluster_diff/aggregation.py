"""Differences as people read them: one for all replicas that differ in the same way."""

from __future__ import annotations

import re
from collections.abc import Mapping

from podplan.core.findings import Path
from podplan.core.path_syntax import show
from podplan.core.provenance import trace
from podplan.core.replica_groups import CONFIGURED
from podplan.core.typing import Any, NamedTuple
from podplan.tools.cluster_diff.differences import ABSENT, Difference


class Told(NamedTuple):
    """A difference in one or several objects of one kind.

    ``names`` are the objects, as predicted where they are. ``basis`` is how well the prediction is known, and
    ``why`` what it rests on. ``settings`` are those that adopt what is really there; without any, none does.
    """

    kind: str
    names: tuple[str, ...]
    part: str
    path: Path
    predicted: Any
    real: Any
    ordered: bool
    basis: str
    why: str
    fact: str
    settings: tuple[str, ...]


def folded(found: list[Difference], by: Mapping[int, tuple[str, ...]]) -> list[Told]:
    """Differences in the order of the first of each; ``by`` has their settings, by the number of each."""
    listed: list[Told] = []
    known: dict[str, int] = {}
    for number, difference in enumerate(found):
        told = _told(difference, by.get(number, ()))
        keys = [_key(difference, told), _key(difference, told, unnamed=True)]
        place = next((known[key] for key in keys if key in known), None)
        if place is None:
            place = len(listed)
            listed.append(told)
        else:
            listed[place] = listed[place]._replace(names=(*listed[place].names, *told.names))
        for key in keys:
            known.setdefault(key, place)
    return listed


def _key(difference: Difference, told: Told, *, unnamed: bool = False) -> str:
    """What differences have in common that are told as one; ``unnamed`` leaves the replica open."""
    is_address = difference.path[-1:] == ("clusterIP",)
    said: tuple[Any, ...] = (told.part, difference.predicted, None if is_address else difference.real)
    if unnamed or difference.path == ():
        said = tuple(_unnamed(difference, value) for value in said)
    return repr((unnamed, told.kind, said, told.settings, told.ordered))


def _told(difference: Difference, settings: tuple[str, ...]) -> Told:
    predicted, real = difference.predicted_in, difference.real_in
    whole = real if difference.predicted is ABSENT or predicted is None else predicted.object
    path = difference.real_path if whole is real else difference.path
    basis, why, fact = _basis(difference)
    return Told(
        difference.kind,
        (difference.name,),
        show(whole, path),
        path,
        difference.predicted,
        difference.real,
        difference.ordered,
        basis,
        why,
        fact,
        settings,
    )


def _basis(difference: Difference) -> tuple[str, str, str]:
    """How well a predicted value is known, what it rests on or where it was written, and its fact."""
    if difference.doc is None or difference.predicted is ABSENT:
        return "", "", ""
    steps = trace(difference.doc, difference.path)
    fact = next((step.origin.fact for step in steps if step.origin is not None and step.origin.fact), None)
    if fact is None:
        end = steps[-1]
        line = f":{end.doc.source.span(end.path).line}" if end.doc.source is not None else ""
        return "written", f"{end.doc.name}{line}", ""
    if fact.basis == CONFIGURED:
        return CONFIGURED, f"{fact.source}; without that, {fact.text}", fact.id
    return fact.basis, fact.text, fact.id


def _unnamed(difference: Difference, value: Any) -> Any:
    """A value with the name and the index of its object left open."""
    if isinstance(value, dict):
        return {
            key: _unnamed(difference, below) for key, below in value.items() if key not in ("uid", "status")
        }
    if isinstance(value, list):
        return [_unnamed(difference, below) for below in value]
    predicted = difference.predicted_in
    if not isinstance(value, str):
        return value
    if predicted is None or not predicted.group.role:
        return re.sub(r"-[0-9]+\b", "-{index}", value) if difference.path == () else value
    if value.isdecimal() and len(value) < 10:
        return f"{{index + {int(value) - predicted.number}}}"
    index, role = predicted.number, re.escape(predicted.group.role)
    value = re.sub(rf"(?:(?<=-)|(?<=^)){index}(?=$|[.\"' ])", "{index}", value)
    return re.sub(rf"(?:(?<=-)|(?<=^)){role}(?=$|-)", "{type}", value)
