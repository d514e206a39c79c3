"""Finds the lowering options that make a prediction match: tried one by one, and kept if fewer differences
are left."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import Any, NamedTuple
from podplan.kinds.lowering_options import explain_missing_word, find_unknown_word, list_lowering_options
from podplan.tools.cluster_diff.differences import ObjectDifference
from podplan.tools.cluster_diff.observed_job import (
    ClusterDiff,
    compute_cluster_diff,
    override_options,
    sample_objects,
)
from podplan.tools.cluster_diff.option_candidates import PROPOSERS

_MAX_ROUNDS = 4


class Adoption(NamedTuple):
    """The adopted options, the cluster diff with them, and the options for each difference.

    ``options_by_difference`` is by the number of the difference in the comparison without the options; a
    difference that is not in it remains.
    """

    values: Mapping[str, Any]
    after: ClusterDiff
    options_by_difference: Mapping[int, tuple[str, ...]]


def find_adoption(before: ClusterDiff) -> Adoption:
    """Find the options for the differences in a comparison of all objects."""
    values = (
        _drop_unneeded(trial, _search_values(trial)) if (trial := _build_trial(before)).differences else {}
    )
    after = _compare_with_values(before, values)
    remaining = {_identify_part(difference) for difference in after.differences}
    reappearing = {id_: _find_reappearing(before, after, values, id_) for id_ in values}
    options_by_difference = {}
    for number, difference in enumerate(before.differences):
        part = _identify_part(difference)
        if part not in remaining:
            options_by_difference[number] = tuple(id_ for id_ in values if part in reappearing[id_]) or tuple(
                values
            )
    return Adoption(values, after, options_by_difference)


class AdoptionTrial(NamedTuple):
    """The real objects that options are tried on, and their differences without options."""

    before: ClusterDiff
    is_sampled: bool

    @property
    def differences(self) -> list[ObjectDifference]:
        return self.before.differences

    def compare_with(self, values: Mapping[str, Any]) -> ClusterDiff:
        return compute_cluster_diff(
            self.before.cr,
            override_options(self.before, values),
            self.before.real,
            self.before.references,
            is_sampled=self.is_sampled,
        )


def _build_trial(before: ClusterDiff) -> AdoptionTrial:
    real, sampled = sample_objects(before)
    if not sampled:
        return AdoptionTrial(before, False)
    sample = compute_cluster_diff(before.cr, before.options, real, before.references, is_sampled=True)
    return AdoptionTrial(sample, True)


def _search_values(trial: AdoptionTrial) -> dict[str, Any]:
    """Search for values that together leave the fewest differences, trying one after the other."""
    values: dict[str, Any] = {}
    current = trial.before
    for _ in range(_MAX_ROUNDS):
        cost = current.total_cost
        for propose in PROPOSERS:
            tried: list[tuple[str, Any]] = []
            for id_, value in propose(current):
                if not current.differences:
                    return values
                if (
                    (id_, value) in tried
                    or not _is_valid_value(id_, value)
                    or value == current.current_option(id_).value
                ):
                    continue
                tried.append((id_, value))
                value = _merge_table(current, id_, value)
                candidate = trial.compare_with({**values, id_: value})
                if candidate.total_cost < current.total_cost and not _only_hides(id_, candidate):
                    values[id_], current = value, candidate
        if current.total_cost >= cost:
            break
    return values


def _only_hides(id_: str, candidate: ClusterDiff) -> bool:
    """Whether the option ``service.per`` only predicts fewer Services, which do not exist either."""
    return id_ == "service.per" and any(one.kind == "Service" for one in candidate.matches.missing_objects)


def _merge_table(current: ClusterDiff, id_: str, value: Any) -> Any:
    """Merge a table of labels with the keys that were adopted since it was proposed."""
    if id_.endswith((".labels", ".annotations")):
        return {**current.current_option(id_).value, **value}
    return value


def _drop_unneeded(trial: AdoptionTrial, values: dict[str, Any]) -> dict[str, Any]:
    """Return ``values`` without those that have no effect, sorted by id."""
    lowest_cost = trial.compare_with(values).total_cost
    for id_ in list(values):
        reduced = {key: value for key, value in values.items() if key != id_}
        if trial.compare_with(reduced).total_cost <= lowest_cost:
            values = reduced
    return {id_: values[id_] for id_ in sorted(values)}


def _find_reappearing(
    before: ClusterDiff, after: ClusterDiff, values: Mapping[str, Any], id_: str
) -> set[tuple[Any, ...]]:
    """Return the parts that differ again without one of the options."""
    reduced = {key: value for key, value in values.items() if key != id_}
    remaining = {_identify_part(difference) for difference in after.differences}
    return {
        _identify_part(difference) for difference in _compare_with_values(before, reduced).differences
    } - remaining


def _compare_with_values(before: ClusterDiff, values: Mapping[str, Any]) -> ClusterDiff:
    return compute_cluster_diff(before.cr, override_options(before, values), before.real, before.references)


def _identify_part(difference: ObjectDifference) -> tuple[Any, ...]:
    """Return the identity of a difference: the real object and the part of it, or the missing object."""
    real_object = difference.real_object
    if real_object is None:
        return (difference.kind, difference.name, ())
    return (difference.kind, real_object["metadata"]["name"], difference.real_path)


def _is_valid_value(id_: str, value: Any) -> bool:
    """Whether an option accepts a value, by its schema."""
    option = list_lowering_options().get(id_)
    if option is None or type(value) is not type(option.value) or find_unknown_word(option, value):
        return False
    if option.choices:
        return value in option.choices
    if isinstance(value, list) and not (value and all(isinstance(entry, str) for entry in value)):
        return False
    return value != "" and explain_missing_word(option, value) is None
