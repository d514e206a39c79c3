"""Two documents compared: what every comparison shares, and what its rules decide."""

from __future__ import annotations

from typing import Any

from podplan.core.path_syntax import index_by_key
from podplan.core.structural_diff import ABSENT, Change, DiffRules, index_by_place, iter_changes

BY_PLACE = DiffRules(lambda _, old, new: index_by_place(old, new))
WHOLE = DiffRules(lambda *_: None)
BY_NAME = DiffRules(
    lambda _, old, new: (index_by_key(old, ("name",)), index_by_key(new, ("name",))),
    is_ordered=lambda _: True,
)


def changes(old: Any, new: Any, rules: DiffRules = BY_PLACE) -> list[Change]:
    return list(iter_changes(old, new, rules))


def test_a_null_in_a_map_is_absent() -> None:
    assert changes({"a": None}, {}) == []
    assert changes({"a": None}, {"a": 1}) == [Change(("a",), ("a",), ABSENT, 1)]


def test_types_differ_unless_the_rules_say_otherwise() -> None:
    assert [(change.old, change.new) for change in changes([1, True], [1.0, 1])] == [(1, 1.0), (True, 1)]
    assert changes([1], [1.0], BY_PLACE._replace(is_equal=lambda _, old, new: old == new)) == []


def test_lists_are_compared_by_place_by_key_or_as_a_whole() -> None:
    old, new = [{"name": "a", "v": 1}, {"name": "b"}], [{"name": "b"}, {"name": "a", "v": 2}]
    assert len(changes(old, new)) == 4
    assert changes(old, new, WHOLE) == [Change((), (), old, new)]
    assert changes(old, new, BY_NAME) == [
        Change((0, "v"), (1, "v"), 1, 2),
        Change((), (), ["a", "b"], ["b", "a"], order_only=True),
    ]


def test_what_one_side_lacks_is_ignored_or_expanded_on_request() -> None:
    old, new = {"x": 1}, {"x": 1, "y": {"z": 2, "added": 3}}
    assert changes(old, new) == [Change(("y",), ("y",), ABSENT, {"z": 2, "added": 3})]
    rules = BY_PLACE._replace(
        is_ignored=lambda change, container: change.new_path[-1] == "added" and container == new["y"],
        expands=lambda change: isinstance(change.new, dict),
    )
    assert changes(old, new, rules) == [Change(("y", "z"), ("y", "z"), ABSENT, 2)]


def test_entries_of_one_side_keep_their_own_index() -> None:
    old, new = [{"name": "a"}], [{"name": "b"}, {"name": "a"}]
    assert changes(old, new, BY_NAME) == [Change((0,), (0,), ABSENT, {"name": "b"})]
