"""Which settings would make a prediction come true: tried one by one, kept where less is left to differ."""

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
    """The settings that make differences go, what is left with them, and the settings for each difference.

    ``by`` is by the number of the difference in the comparison without the settings; a difference that is
    not in there stays.
    """

    values: Mapping[str, Any]
    after: ClusterDiff
    options_by_difference: Mapping[int, tuple[str, ...]]


def find_adoption(before: ClusterDiff) -> Adoption:
    """The settings for what differs in a comparison of all objects."""
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
    """The real objects that settings are tried on, and what differs there to begin with."""

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
            is_sampled=self.is_sampled,
        )


def _build_trial(before: ClusterDiff) -> AdoptionTrial:
    real, sampled = sample_objects(before)
    if not sampled:
        return AdoptionTrial(before, False)
    return AdoptionTrial(compute_cluster_diff(before.cr, before.options, real, is_sampled=True), True)


def _search_values(trial: AdoptionTrial) -> dict[str, Any]:
    """Values that together leave the least to differ, as far as trying one after the other tells."""
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
    """Whether fewer Services are predicted, and those are not there either."""
    return id_ == "service.per" and any(one.kind == "Service" for one in candidate.matches.missing_objects)


def _merge_table(current: ClusterDiff, id_: str, value: Any) -> Any:
    """A table of labels with the keys that were taken since it was proposed."""
    if id_.endswith((".labels", ".annotations")):
        return {**current.current_option(id_).value, **value}
    return value


def _drop_unneeded(trial: AdoptionTrial, values: dict[str, Any]) -> dict[str, Any]:
    """``values`` without those that nothing is gained by, in the order of their ids."""
    lowest_cost = trial.compare_with(values).total_cost
    for id_ in list(values):
        reduced = {key: value for key, value in values.items() if key != id_}
        if trial.compare_with(reduced).total_cost <= lowest_cost:
            values = reduced
    return {id_: values[id_] for id_ in sorted(values)}


def _find_reappearing(
    before: ClusterDiff, after: ClusterDiff, values: Mapping[str, Any], id_: str
) -> set[tuple[Any, ...]]:
    """The places that differ again without one of the settings."""
    reduced = {key: value for key, value in values.items() if key != id_}
    remaining = {_identify_part(difference) for difference in after.differences}
    return {
        _identify_part(difference) for difference in _compare_with_values(before, reduced).differences
    } - remaining


def _compare_with_values(before: ClusterDiff, values: Mapping[str, Any]) -> ClusterDiff:
    return compute_cluster_diff(before.cr, override_options(before, values), before.real)


def _identify_part(difference: ObjectDifference) -> tuple[Any, ...]:
    """What tells a difference from others: the real object and the part of it, or what is missing."""
    real_object = difference.real_object
    if real_object is None:
        return (difference.kind, difference.name, ())
    return (difference.kind, real_object["metadata"]["name"], difference.real_path)


def _is_valid_value(id_: str, value: Any) -> bool:
    """Whether a value may be given to a setting, by its schema."""
    option = list_lowering_options().get(id_)
    if option is None or type(value) is not type(option.value) or find_unknown_word(option, value):
        return False
    if option.choices:
        return value in option.choices
    if isinstance(value, list) and not (value and all(isinstance(entry, str) for entry in value)):
        return False
    return value != "" and explain_missing_word(option, value) is None
