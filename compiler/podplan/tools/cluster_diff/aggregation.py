"""Aggregates differences: one for all replicas that differ in the same way."""

from __future__ import annotations

import re
from collections.abc import Mapping

from podplan.core.findings import Path
from podplan.core.path_syntax import format_path
from podplan.core.provenance import trace_to_source
from podplan.core.replica_groups import CONFIGURED_BASIS
from podplan.core.structural_diff import ABSENT
from podplan.core.typing import Any, NamedTuple
from podplan.tools.cluster_diff.differences import ObjectDifference


class AggregatedDifference(NamedTuple):
    """A difference in one or several objects of one kind.

    ``names`` are the predicted objects, or the real ones that were not predicted. ``basis`` is that of the
    prediction, and ``explanation`` what it is based on. ``options`` are those that adopt the real value;
    empty if there are none.
    """

    kind: str
    names: tuple[str, ...]
    path_text: str
    path: Path
    predicted: Any
    real: Any
    order_only: bool
    basis: str
    explanation: str
    behavior_id: str
    options: tuple[str, ...]


def aggregate_differences(
    differences: list[ObjectDifference], options_by_difference: Mapping[int, tuple[str, ...]]
) -> list[AggregatedDifference]:
    """Aggregate differences, in the order of the first of each; ``options_by_difference`` is by their
    number."""
    aggregated: list[AggregatedDifference] = []
    index_by_key: dict[str, int] = {}
    for number, difference in enumerate(differences):
        aggregate = _build_aggregate(difference, options_by_difference.get(number, ()))
        keys = [_build_key(difference, aggregate), _build_key(difference, aggregate, unnamed=True)]
        index = next((index_by_key[key] for key in keys if key in index_by_key), None)
        if index is None:
            index = len(aggregated)
            aggregated.append(aggregate)
        else:
            aggregated[index] = aggregated[index]._replace(names=(*aggregated[index].names, *aggregate.names))
        for key in keys:
            index_by_key.setdefault(key, index)
    return aggregated


def _build_key(
    difference: ObjectDifference, aggregate: AggregatedDifference, *, unnamed: bool = False
) -> str:
    """Return the key that aggregated differences share; with ``unnamed``, without the replica."""
    is_address = difference.path[-1:] == ("clusterIP",)
    key_values: tuple[Any, ...] = (
        aggregate.path_text,
        difference.predicted,
        None if is_address else difference.real,
    )
    if unnamed or difference.path == ():
        key_values = tuple(_generalize_names(difference, value) for value in key_values)
    return repr((unnamed, aggregate.kind, key_values, aggregate.options, aggregate.order_only))


def _build_aggregate(difference: ObjectDifference, options: tuple[str, ...]) -> AggregatedDifference:
    predicted, real = difference.predicted_object, difference.real_object
    shown_object = real if difference.predicted is ABSENT or predicted is None else predicted.object
    path = difference.real_path if shown_object is real else difference.path
    basis, why, behavior_id = _find_basis(difference)
    return AggregatedDifference(
        difference.kind,
        (difference.name,),
        format_path(shown_object, path),
        path,
        difference.predicted,
        difference.real,
        difference.order_only,
        basis,
        why,
        behavior_id,
        options,
    )


def _find_basis(difference: ObjectDifference) -> tuple[str, str, str]:
    """Return the basis of a predicted value, what it is based on or where it was written, and its
    behavior."""
    if difference.doc is None or difference.predicted is ABSENT:
        return "", "", ""
    steps = trace_to_source(difference.doc, difference.path)
    behavior = next(
        (step.origin.behavior for step in steps if step.origin is not None and step.origin.behavior), None
    )
    if behavior is None:
        source_step = steps[-1]
        line = (
            f":{source_step.doc.source.span(source_step.path).line}"
            if source_step.doc.source is not None
            else ""
        )
        return "written", f"{source_step.doc.name}{line}", ""
    if behavior.basis == CONFIGURED_BASIS:
        return CONFIGURED_BASIS, f"{behavior.source}; without that, {behavior.text}", behavior.id
    return behavior.basis, behavior.text, behavior.id


def _generalize_names(difference: ObjectDifference, value: Any) -> Any:
    """Return a value with placeholders for the name and the index of its object."""
    if isinstance(value, dict):
        return {
            key: _generalize_names(difference, below)
            for key, below in value.items()
            if key not in ("uid", "status")
        }
    if isinstance(value, list):
        return [_generalize_names(difference, below) for below in value]
    predicted = difference.predicted_object
    if not isinstance(value, str):
        return value
    if predicted is None or not predicted.group.replica_type:
        return re.sub(r"-[0-9]+\b", "-{index}", value) if difference.path == () else value
    if value.isdecimal() and len(value) < 10:
        return f"{{index + {int(value) - predicted.replica_index}}}"
    index, role = predicted.replica_index, re.escape(predicted.group.replica_type)
    value = re.sub(rf"(?:(?<=-)|(?<=^)){index}(?=$|[.\"' ])", "{index}", value)
    return re.sub(rf"(?:(?<=-)|(?<=^)){role}(?=$|-)", "{type}", value)
