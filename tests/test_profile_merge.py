from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.core.findings import Diagnostic
from podplan.core.provenance import (
    Flag,
    Origin,
    TracedDocument,
    attribute_to,
    build_traced_document,
    find_origin,
    root_cursor,
)
from podplan.profile.merge import FieldArea, is_expression, merge_values
from tests.profile_texts import paths


def plain(data: Any, name: str) -> TracedDocument:
    """A document all of which came from a flag."""
    return TracedDocument(name, data, origins={(): Origin("because", flag=Flag(name))})


def merged(
    base: Any, over: Any, strict: bool = False, area: FieldArea | None = None
) -> tuple[Any, list[str]]:
    problems: list[Diagnostic] = []
    below, above = root_cursor(plain(base, "base")), root_cursor(plain(over, "over"))
    tree = merge_values(below, above, problems, strict=strict, area=area or FieldArea())
    return build_traced_document(attribute_to(Flag("test"), tree), "merged").data, [
        problem.rule for problem in problems
    ]


@pytest.mark.parametrize(
    ("base", "over", "expected"),
    [
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"schedule": {"queue": "a", "priority": 1}}, {"schedule": {"priority": 2}},
         {"schedule": {"queue": "a", "priority": 2}}),
        ({"a": [1, 2, 3]}, {"a": [4]}, {"a": [4]}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": 1}, {"a": 1.5}, {"a": 1.5}),
        ({"b": 1, "a": 2}, {"a": 3, "b": 4}, {"b": 4, "a": 3}),
        ({"a": 1}, {"b": None}, {"a": 1, "b": None}),
    ],
)  # fmt: skip
def test_maps_merge_scalars_and_lists_are_replaced_null_deletes(base: Any, over: Any, expected: Any) -> None:
    result, rules = merged(base, over)
    assert (result, list(result)) == (expected, list(expected))
    assert rules == []


def test_keyed_lists_merge_by_name_in_the_order_of_the_base() -> None:
    base = {"roles": [{"name": "chief", "replicas": 1}, {"name": "worker", "replicas": 2, "image": "a"}]}
    over = {"roles": [{"name": "extra"}, {"name": "worker", "replicas": 4}]}
    result, rules = merged(base, over)
    assert result == {
        "roles": [
            {"name": "chief", "replicas": 1},
            {"name": "worker", "replicas": 4, "image": "a"},
            {"name": "extra"},
        ]
    }
    assert rules == []


def test_data_and_ports_inside_a_role_merge_by_name_too() -> None:
    base = {
        "roles": [{"name": "w", "data": [{"name": "a", "mount": "/a"}], "ports": [{"name": "p", "port": 1}]}]
    }
    over = {
        "roles": [{"name": "w", "data": [{"name": "a", "pvc": "x"}], "ports": [{"name": "p", "port": 2}]}]
    }
    result, _ = merged(base, over)
    assert result["roles"][0]["data"] == [{"name": "a", "mount": "/a", "pvc": "x"}]
    assert result["roles"][0]["ports"] == [{"name": "p", "port": 2}]


@pytest.mark.parametrize(
    ("base", "over"),
    [
        ({"run": ["train.py"]}, {"run": {"module": ["train"]}}),
        ({"run": {"module": ["a"]}}, {"run": {"python": ["b.py"]}}),
        ({"env": {"A": "1"}}, {"env": {"A": {"secret": "s/k"}}}),
        ({"env": {"A": {"secret": "s/k"}}}, {"env": {"A": {"configMap": "c/k"}}}),
        ({"env": {"A": 1}}, {"env": {"A": "x"}}),
        ({"shm": "auto"}, {"shm": 1024}),
        ({"processes": "auto"}, {"processes": 4}),
        ({"deadline": 3600}, {"deadline": "1h"}),
        ({"replicas": 2}, {"replicas": "${{ params.n }}"}),
        ({"run": ["a"]}, {"run": "${{ params.run }}"}),
        ({"resources": {"limits": {"cpu": 4}}}, {"resources": {"limits": {"cpu": "500m"}}}),
        ({"params": {"n": {"default": 1}}}, {"params": {"n": {"default": "x"}}}),
    ],
)
def test_fields_with_several_forms_are_replaced_whole(base: Any, over: Any) -> None:
    assert merged(base, over) == (over, [])


@pytest.mark.parametrize(
    ("base", "over"),
    [
        ({"replicas": 2}, {"replicas": "two"}),
        ({"replicas": 2}, {"replicas": True}),
        ({"image": "a"}, {"image": {"name": "a"}}),
        ({"schedule": {"queue": "a"}}, {"schedule": "a"}),
        ({"data": [{"name": "a"}]}, {"data": {"name": "a"}}),
        ({"pod": {"spec": {"tolerations": []}}}, {"pod": {"spec": {"tolerations": {}}}}),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_a_change_of_type_is_a_problem_and_the_base_stays(base: Any, over: Any, strict: bool) -> None:
    assert merged(base, over, strict) == (base, ["PROF003"])


@pytest.mark.parametrize(
    ("over", "rule"),
    [
        ({"roles": [{"name": "wrker"}]}, "PROF004"),
        ({"data": [{"name": "x"}]}, "PROF004"),
        ({"image": None}, "PROF004"),
        ({"schedule": {"queue": None}}, "PROF004"),
        ({"roles": [{"replicas": 1}]}, "PROF001"),
        ({"roles": [{"name": "worker"}, {"name": "worker"}]}, "PROF001"),
    ],
)
def test_a_strict_overlay_names_only_what_is_there(over: Any, rule: str) -> None:
    base = {"roles": [{"name": "worker"}]}
    result, rules = merged(base, over, strict=True)
    assert rules == [rule]
    assert result["roles"] == base["roles"]


def test_nulls_that_speak_to_a_later_step_stay() -> None:
    base = {"pod": {"spec": {"a": 1}}, "roles": [{"name": "w", "env": {"A": "1"}}]}
    over = {"pod": {"spec": {"a": None, "b": None}}, "roles": [{"name": "w", "env": {"A": None, "B": None}}]}
    for strict in (False, True):
        assert merged(base, over, strict) == (over, [])


def test_overlays_of_one_environment_merge_and_keep_their_nulls() -> None:
    base = {"environments": {"dev": {"image": "a", "replicas": 1}, "prod": {"image": "b"}}}
    over = {"environments": {"dev": {"image": None}, "prod": None}}
    assert merged(base, over)[0] == {"environments": {"dev": {"image": None, "replicas": 1}}}


def test_what_is_replaced_is_noted() -> None:
    problems: list[Diagnostic] = []
    base, over = plain({"a": 1, "m": {"b": 1}}, "base"), plain({"a": 2, "m": {"b": 2}}, "over")
    result = build_traced_document(merge_values(root_cursor(base), root_cursor(over), problems), "merged")
    for path in (("a",), ("m", "b")):
        origin, _ = find_origin(result, path)
        assert [(place.doc.name, place.path) for place in origin.sources] == [("over", path)]
        assert [(place.doc.name, place.path) for place in origin.overridden] == [("base", path)]


def test_only_whole_expressions_have_no_type_yet() -> None:
    assert is_expression("${{ params.a }}")
    assert not is_expression("${{ a }}-${{ b }}")
    assert not is_expression("x${{ a }}")
    assert not is_expression(" ${{ a }}")


names = st.sampled_from(["a", "b", "env", "run", "pod", "roles", "data", "schedule", "environments"])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "x", "${{ params.a }}"])
)
values = st.recursive(
    scalars,
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.lists(st.fixed_dictionaries({"name": st.sampled_from("xyz")}, optional={"a": below}), max_size=3),
        st.dictionaries(names, below, max_size=4),
    ),
    max_leaves=12,
)
maps = st.dictionaries(names, values, max_size=5)


@given(maps)
def test_an_empty_overlay_changes_nothing(base: Any) -> None:
    for strict in (False, True):
        assert merged(base, {}, strict) == (base, [])


@given(maps)
def test_over_nothing_a_profile_stays_as_it_is(over: Any) -> None:
    assert merged({}, over) == (over, [])


@given(maps, maps, st.booleans())
def test_no_form_of_profile_raises_and_all_is_traced(base: Any, over: Any, strict: bool) -> None:
    problems: list[Diagnostic] = []
    tree = merge_values(
        root_cursor(plain(base, "base")), root_cursor(plain(over, "over")), problems, strict=strict
    )
    result = build_traced_document(tree, "merged")
    assert all(find_origin(result, path) for path in paths(result.data))
    assert all(one.doc and one.doc.name in ("base", "over") for one in problems)


@given(maps, maps)
def test_the_overlay_wins_wherever_it_has_a_scalar(base: Any, over: Any) -> None:
    result, rules = merged(base, over)
    for key, value in over.items():
        if isinstance(value, str | int) and not rules:
            assert result[key] == value


def test_so_many_wrong_names_of_one_list_are_compared_with_those_that_it_has_and_no_more() -> None:
    """90,000 of them, each compared with as many, were a quarter of an hour."""
    problems: list[Diagnostic] = []
    base = {"data": [{"name": f"a{one}"} for one in range(20)]}
    over = {"data": [{"name": f"wrong-{one}"} for one in range(300)]}
    merge_values(root_cursor(plain(base, "base")), root_cursor(plain(over, "over")), problems, strict=True)
    messages = [problem.message for problem in problems]
    assert len(messages) == 300
    assert messages[0].startswith('"data" has no entry named "wrong-0" to overlay; there is a0, a1,')
    assert messages[-1] == '"data" has no entry named "wrong-299" to overlay'
    assert sum("; " in message for message in messages) == 100
