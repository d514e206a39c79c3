"""Values compared as data: what holds for any two, and what each kind of list is compared by."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.core.findings import value_at
from podplan.core.indexed_text import Indexed
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.structural_diff import ABSENT
from podplan.report.diff_changes import format_change_lines
from podplan.tools.diff.document_changes import iter_document_changes
from podplan.tools.diff.lowered_objects import iter_lowered_changes
from podplan.tools.diff.model import Difference

NAMES = st.sampled_from(["a", "b", "c", "env", "limits", "ports"])
WORDS = st.one_of(
    st.sampled_from(["1", "1000m", "-x", "--y", "", "two\nlines"]), st.integers(0, 3), st.booleans()
)
NAMED = st.lists(st.fixed_dictionaries({"name": NAMES, "value": WORDS}), max_size=3)
TREES = st.recursive(
    st.one_of(WORDS, st.lists(WORDS, max_size=4), NAMED),
    lambda below: st.one_of(st.dictionaries(NAMES, below, max_size=3), st.lists(below, max_size=3)),
    max_leaves=8,
)


def told(one: Any, other: Any) -> Counter[tuple[str, str, str]]:
    return Counter(
        (delta.part, repr(delta.before), repr(delta.after)) for delta in iter_document_changes(one, other)
    )


@given(TREES)
@settings(deadline=None)
def test_equal_data_differs_in_nothing(tree: Any) -> None:
    assert not told(tree, tree)


@given(TREES, TREES)
@settings(deadline=None)
def test_what_is_told_of_a_part_stands_there(one: Any, other: Any) -> None:
    for delta in iter_document_changes({"spec": one}, {"spec": other}):
        if delta.part.endswith("(order)") or isinstance(delta.before, list) or isinstance(delta.after, list):
            continue  # of a list the stretch that differs is told
        if delta.before is not ABSENT:
            assert value_at({"spec": one}, delta.before_path) == delta.before
        if delta.after is not ABSENT:
            assert value_at({"spec": other}, delta.after_path) == delta.after


@given(TREES, TREES)
@settings(deadline=None)
def test_other_data_differs_in_something(one: Any, other: Any) -> None:
    if not told(one, other):
        assert _meant(one) == _meant(other)


def _meant(tree: Any) -> Any:
    """Data without what comparing passes over: the order of names, and how quantities are written."""
    if isinstance(tree, dict):
        return {key: _meant(below) for key, below in tree.items()}
    if isinstance(tree, list):
        return sorted(repr(_meant(entry)) for entry in tree)
    return {"1000m": "1", 1: "1"}.get(tree, tree) if not isinstance(tree, bool) else tree


@pytest.mark.parametrize(
    ("field", "before", "after", "parts"),
    [
        (
            "containers",
            [{"name": "a", "image": "x"}],
            [{"name": "b"}, {"name": "a", "image": "y"}],
            ["[a].image", "[b]"],
        ),
        (
            "volumeMounts",
            [{"name": "v", "mountPath": "/a"}],
            [{"name": "v", "mountPath": "/b"}],
            ["[v]", "[v]"],
        ),
        ("env", [{"name": "A"}, {"name": "B"}], [{"name": "B"}, {"name": "A"}], [" (order)"]),
        ("volumes", [{"name": "A"}, {"name": "B"}], [{"name": "B"}, {"name": "A"}], []),
        ("env", [{"name": "A", "value": "1"}] * 2, [{"name": "A", "value": "1"}], ["[1]"]),
        ("ports", [{"containerPort": 80}], [{"containerPort": 81}], ["[0]", "[0]"]),
        ("anything", [{"x": 1}, {"x": 2}], [{"x": 1}, {"x": 3}], ["[1].x"]),
        ("args", ["a", "--b", "c"], ["a", "--b", "d"], [""]),
        ("limits", {"memory": "1024Mi", "gpu": 8}, {"memory": "1Gi", "gpu": "8"}, []),
        ("labels", {"size": "1024Mi"}, {"size": "1Gi"}, [".size"]),
        ("flag", True, 1, [""]),
        ("text", None, "", [""]),
        ("nothing", None, None, []),
    ],
)
def test_what_lists_and_quantities_are_compared_by(
    field: str, before: Any, after: Any, parts: list[str]
) -> None:
    found = [delta.part for delta in iter_document_changes({field: before}, {field: after})]
    assert found == [f"{field}{part}" for part in parts]


def test_the_value_of_an_option_is_told_with_it() -> None:
    before, after = ["train", "--lr", "1", "x"], ["train", "--lr", "2", "x", "--amp"]
    found = [
        (delta.before, delta.after, delta.after_path)
        for delta in iter_document_changes({"args": before}, {"args": after})
    ]
    assert found == [(["--lr", "1"], ["--lr", "2"], ("args", 2)), (ABSENT, ["--amp"], ("args", 4))]


def test_of_a_list_that_is_beyond_measure_the_stretch_is_told_that_differs() -> None:
    words = [str(number) for number in range(5_000)]
    before, after = ["same", *words, "end"], ["same", *words[1:], "new", "end"]
    found = [
        (delta.before, delta.after) for delta in iter_document_changes({"args": before}, {"args": after})
    ]
    assert found == [(words, [*words[1:], "new"])]
    assert [delta.after for delta in iter_document_changes({"args": before}, {"args": [*before, "x"]})] == [
        ["x"]
    ]


def test_what_takes_the_square_of_its_length_is_short() -> None:
    """Words and lines of which nothing is alike but everything nearly: each compared with each."""
    before, after = (["a", "b"] * 20_000 for _ in range(2))
    after[::3] = ["c"] * len(after[::3])
    assert len(list(iter_document_changes({"args": before}, {"args": after}))) == 1
    change = Difference("ConfigMap", "data.x", (), "\n".join(before), "\n".join(after), 1, (), (0,))
    assert format_change_lines(change) == ["- 40000 lines", "+ 40000 lines, others from line 1 on"]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
@settings(deadline=None)
def test_of_lines_those_are_told_that_go_and_come(one: list[str], other: list[str]) -> None:
    change = Difference("ConfigMap", "x", (), "\n".join([*one, "z"]), "\n".join([*other, "z"]), 1, (), (0,))
    told = format_change_lines(change)
    gone, new = (Counter(line[2:] for line in told if line[0] == sign) for sign in "-+")
    if "\n" in change.before + change.after:
        assert Counter(one) - Counter(other) <= gone
        assert Counter(one) - gone == Counter(other) - new


def group(start: int, replicas: int, image: str = "a") -> ReplicaGroup:
    data = {"kind": "Pod", "metadata": {"name": f"job-w-{start}"}, "image": image}
    return ReplicaGroup(
        TracedDocument("Pod", data, replica_texts={("metadata", "name"): Indexed(("job-w-", 0))}),
        "w",
        start,
        replicas,
    )


CUTS = st.lists(st.integers(1, 4), max_size=4)


@given(CUTS, CUTS)
@settings(deadline=None)
def test_every_index_is_compared_once(left: list[int], right: list[int]) -> None:
    """However the replicas are cut into groups, each is compared with the one of its index."""
    before, after = _groups(left, "a"), _groups(right, "b")
    found = list(iter_lowered_changes(before, after, lambda data: data))
    counted = Counter[str]()
    for part in found:
        how = "both" if part.delta.part else "gone" if part.delta.after is ABSENT else "new"
        counted[how] += part.objects
    one, other = sum(left), sum(right)
    assert (counted["both"], counted["gone"], counted["new"]) == (
        min(one, other),
        max(one - other, 0),
        max(other - one, 0),
    )
    assert sum(not part.delta.part for part in found) == (one != other)


def _groups(cuts: list[int], image: str) -> list[ReplicaGroup]:
    return [group(sum(cuts[:number]), count, image) for number, count in enumerate(cuts)]
