from __future__ import annotations

import pytest

from podplan.core.limits import MAX_INSTANCES
from podplan.profile.matrix import DEFAULT_MAX_INSTANCES
from tests.profile_texts import came_from, faults, messages, profile, run


def ids(matrix: str, more: str = "") -> list[str]:
    result = run(profile(f"matrix: {matrix}\n{more}"))
    assert result.diagnostics == ()
    return [variant.id for variant in result.variants]


def test_an_instance_for_each_combination_in_the_order_as_written() -> None:
    assert ids("{axes: {size: [base, large], seed: [2, 1]}}") == [
        "size-base.seed-2",
        "size-base.seed-1",
        "size-large.seed-2",
        "size-large.seed-1",
    ]


def test_exclude_and_include() -> None:
    matrix = """
matrix:
  axes: {size: [base, large], seed: [1, 2]}
  exclude: [{size: large, seed: 2}, {size: base, seed: 1}]
  include: [{size: large, lr: 0.1}, {size: huge, seed: 9}]
"""
    found = {variant.id: dict(variant.matrix) for variant in run(profile(matrix)).variants}
    assert found == {
        "size-base.seed-2": {"size": "base", "seed": 2},
        "size-large.seed-1": {"size": "large", "seed": 1, "lr": 0.1},
        "size-huge.seed-9": {"size": "huge", "seed": 9},
    }


def test_exclude_by_one_axis() -> None:
    assert ids("{axes: {a: [x, z], b: [1, 2]}, exclude: [{a: x}]}") == ["a-z.b-1", "a-z.b-2"]


def test_names_have_no_dots_and_trace_to_the_profile() -> None:
    result = run(profile("matrix: {axes: {lr: [0.1, 1e-4], Opt: [Adam W]}}"))
    assert [variant.doc.data["metadata"]["name"] for variant in result.variants] == [
        "resnet-lr-0-1-opt-adam-w",
        "resnet-lr-0-0001-opt-adam-w",
    ]
    assert came_from(result.variants[0].doc, ("metadata", "name")) == "profile.yaml:3"


def test_an_axis_sets_the_param_of_its_name() -> None:
    text = profile(
        "params: {k: {type: integer, default: 7}}\nmatrix: {axes: {k: [1, 2]}}\nreplicas: ${{ params.k }}"
    )
    assert [variant.doc.data["spec"]["replicas"] for variant in run(text).variants] == [1, 2]
    wrong = profile("params: {k: {type: integer}}\nmatrix:\n  axes:\n    k:\n    - 1\n    - x")
    assert faults(wrong) == [("PROF006", 10)]


def test_text_and_number_are_not_the_same_value() -> None:
    assert ids("{axes: {a: [1, 2]}, exclude: [{a: 1}]}") == ["a-2"]
    assert faults(profile("matrix:\n  axes: {a: [1, 2]}\n  exclude: [{a: '1'}]")) == [("PROF011", 7)]


@pytest.mark.parametrize(
    ("matrix", "rule", "line", "said"),
    [
        ("axes: {a: [1, 1]}", "PROF011", 6, "twice"),
        ("axes: {a: []}", "PROF011", 6, "needs a list"),
        ("axes: {a: 3}", "PROF011", 6, "needs a list"),
        ("axes: {a: [[1]]}", "PROF011", 6, "not text, a number or a boolean"),
        ("axes: {a: [null]}", "PROF011", 6, "not text, a number or a boolean"),
        ("axes: {id: [1]}", "PROF011", 6, "matrix.id"),
        ("axes: {}", "PROF011", 6, "needs axes"),
        ("include: []", "PROF011", 5, "needs axes"),
        ("axes: {a: ['${{ params.x }}']}", "PROF010", 6, "expressions"),
        ("axes: {a: [1]}\nexclude: [{b: 1}]", "PROF011", 7, 'no axis "b"'),
        ("axes: {a: [1]}\nexclude: [{a: 2}]", "PROF011", 7, "does not have"),
        ("axes: {a: [1]}\nexclude: [{a: 1}]", "PROF011", 7, "leaves no instance"),
        ("axes: {a: [1]}\nexclude: [1]", "PROF011", 7, "is a map"),
        ("axes: {a: [1]}\nexclude: {a: 1}", "PROF011", 7, "list of at most"),
        ("axes: {a: [1]}\ninclude: [{a: 1}]", "PROF011", 7, "has already"),
        ("axes: {a: [1], b: [1]}\ninclude: [{a: 2}]", "PROF011", 7, "lacks b"),
        ("axes: {a: [1]}\ninclude: [{a: 1, id: 3}]", "PROF011", 7, "makes itself"),
        ("axes: {a: [x.y, x-y]}", "PROF013", 6, "spell one of them in another way"),
        ("axes: {a: [A, a]}", "PROF013", 6, 'called "a-a"'),
        ("axes: {a: [1]}\nmaxInstances: 0", "PROF012", 7, "from 1 to"),
        ("axes: {a: [1]}\nmaxInstances: 1001", "PROF012", 7, "from 1 to"),
        ("axes: {a: [1]}\nmaxInstances: true", "PROF012", 7, "from 1 to"),
    ],
)
def test_faults(matrix: str, rule: str, line: int, said: str) -> None:
    text = profile("matrix:\n" + "".join(f"  {row}\n" for row in matrix.splitlines()))
    assert faults(text) == [(rule, line)]
    assert said in messages(text)
    assert run(text).variants == ()


def test_two_ids_that_differ_only_in_where_their_dots_are() -> None:
    assert "two instances would be called" in messages(
        profile("matrix: {axes: {a: [x, x-b-y], b: [y-b-z, z]}}")
    )


def test_the_number_of_instances_is_bounded() -> None:
    many = ", ".join(map(str, range(DEFAULT_MAX_INSTANCES + 1)))
    assert (
        len(ids(f"{{axes: {{a: [{many}]}}, maxInstances: {DEFAULT_MAX_INSTANCES + 1}}}"))
        == DEFAULT_MAX_INSTANCES + 1
    )
    said = messages(profile(f"matrix: {{axes: {{a: [{many}]}}}}"))
    assert f"raise matrix.maxInstances to {DEFAULT_MAX_INSTANCES + 1}" in said


def test_a_product_without_end_is_never_built() -> None:
    axes = ", ".join(f"a{i}: [{', '.join(map(str, range(100)))}]" for i in range(20))
    assert f"the limit instances is {MAX_INSTANCES}" in messages(profile(f"matrix: {{axes: {{{axes}}}}}"))


def test_long_values_make_short_ids() -> None:
    (first, second) = ids(f"{{axes: {{a: [{'x' * 500}, {'x' * 501}]}}}}")
    assert first != second
    assert len(first) < 50


def test_environment_and_instance_make_the_id() -> None:
    text = profile("matrix: {axes: {a: [1, 2]}}\nenvironments: {dev: {matrix: {axes: {a: [3]}}}}")
    assert [variant.id for variant in run(text, environments="all").variants] == ["a-1", "a-2", "dev/a-3"]


def test_an_environment_called_as_an_instance() -> None:
    text = profile("image: a\nmatrix: {axes: {a: [1]}}\nenvironments: {a-1: {matrix: null}}")
    assert faults(text, environments="all") == [("PROF013", 7)]
