"""Which settings would make a prediction come true: tried one by one, kept where less is left to differ."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import Any, NamedTuple
from podplan.kinds.lowering_options import lacking, settings, unknown_word
from podplan.tools.cluster_diff.differences import Difference
from podplan.tools.cluster_diff.observed_job import Compared, compared, sample, with_values
from podplan.tools.cluster_diff.option_candidates import PROPOSERS

_ROUNDS = 4


class Adoption(NamedTuple):
    """The settings that make differences go, what is left with them, and the settings for each difference.

    ``by`` is by the number of the difference in the comparison without the settings; a difference that is
    not in there stays.
    """

    values: Mapping[str, Any]
    after: Compared
    by: Mapping[int, tuple[str, ...]]


def adoption(before: Compared) -> Adoption:
    """The settings for what differs in a comparison of all objects."""
    values = _needed(few, _found(few)) if (few := _few(before)).differences else {}
    after = _with(before, values)
    left = {_part(difference) for difference in after.differences}
    without = {id_: _gone(before, after, values, id_) for id_ in values}
    by = {}
    for number, difference in enumerate(before.differences):
        part = _part(difference)
        if part not in left:
            by[number] = tuple(id_ for id_ in values if part in without[id_]) or tuple(values)
    return Adoption(values, after, by)


class Tried(NamedTuple):
    """The real objects that settings are tried on, and what differs there to begin with."""

    before: Compared
    sampled: bool

    @property
    def differences(self) -> list[Difference]:
        return self.before.differences

    def with_values(self, values: Mapping[str, Any]) -> Compared:
        return compared(
            self.before.cr, with_values(self.before, values), self.before.real, sampled=self.sampled
        )


def _few(before: Compared) -> Tried:
    real, sampled = sample(before)
    if not sampled:
        return Tried(before, False)
    return Tried(compared(before.cr, before.options, real, sampled=True), True)


def _found(few: Tried) -> dict[str, Any]:
    """Values that together leave the least to differ, as far as trying one after the other tells."""
    values: dict[str, Any] = {}
    now = few.before
    for _ in range(_ROUNDS):
        cost = now.cost
        for propose in PROPOSERS:
            tried: list[tuple[str, Any]] = []
            for id_, value in propose(now):
                if not now.differences:
                    return values
                if (id_, value) in tried or not _is_setting(id_, value) or value == now.fact(id_).value:
                    continue
                tried.append((id_, value))
                value = _laid_over(now, id_, value)
                then = few.with_values({**values, id_: value})
                if then.cost < now.cost and not _only_hides(id_, then):
                    values[id_], now = value, then
        if now.cost >= cost:
            break
    return values


def _only_hides(id_: str, then: Compared) -> bool:
    """Whether fewer Services are predicted, and those are not there either."""
    return id_ == "service.per" and any(one.kind == "Service" for one in then.matched.missing)


def _laid_over(now: Compared, id_: str, value: Any) -> Any:
    """A table of labels with the keys that were taken since it was proposed."""
    if id_.endswith((".labels", ".annotations")):
        return {**now.fact(id_).value, **value}
    return value


def _needed(few: Tried, values: dict[str, Any]) -> dict[str, Any]:
    """``values`` without those that nothing is gained by, in the order of their ids."""
    least = few.with_values(values).cost
    for id_ in list(values):
        fewer = {key: value for key, value in values.items() if key != id_}
        if few.with_values(fewer).cost <= least:
            values = fewer
    return {id_: values[id_] for id_ in sorted(values)}


def _gone(before: Compared, after: Compared, values: Mapping[str, Any], id_: str) -> set[tuple[Any, ...]]:
    """The places that differ again without one of the settings."""
    fewer = {key: value for key, value in values.items() if key != id_}
    there = {_part(difference) for difference in after.differences}
    return {_part(difference) for difference in _with(before, fewer).differences} - there


def _with(before: Compared, values: Mapping[str, Any]) -> Compared:
    return compared(before.cr, with_values(before, values), before.real)


def _part(difference: Difference) -> tuple[Any, ...]:
    """What tells a difference from others: the real object and the part of it, or what is missing."""
    whole = difference.real_in
    if whole is None:
        return (difference.kind, difference.name, ())
    return (difference.kind, whole["metadata"]["name"], difference.real_path)


def _is_setting(id_: str, value: Any) -> bool:
    """Whether a value may be given to a setting, by its schema."""
    fact = settings().get(id_)
    if fact is None or type(value) is not type(fact.value) or unknown_word(fact, value):
        return False
    if fact.choices:
        return value in fact.choices
    if isinstance(value, list) and not (value and all(isinstance(entry, str) for entry in value)):
        return False
    return value != "" and lacking(fact, value) is None
