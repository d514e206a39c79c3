from __future__ import annotations

import pytest

from tests.profile_texts import faults, messages, one, profile, run, spec


def test_a_value_comes_from_the_environment_else_the_default() -> None:
    text = profile(
        "params: {k: {default: 3}}\nreplicas: ${{ params.k }}\nenvironments: {e: {values: {k: 5}}}"
    )
    assert spec(text) == {"replicas": 3}
    assert spec(text, environments=("e",)) == {"replicas": 5}


def test_a_flag_wins_over_the_environment() -> None:
    text = profile(
        "params: {k: {type: integer}}\nreplicas: ${{ params.k }}\nenvironments: {e: {values: {k: 5}}}"
    )
    assert spec(text, environments=("e",), sets={"params.k": "6"}) == {"replicas": 6}


def test_a_param_without_a_value_is_a_problem_at_its_line() -> None:
    text = profile("params:\n  seed: {type: integer}")
    assert faults(text) == [("PROF005", 6)]
    assert "--set params.seed=" in messages(text)


def test_a_default_may_be_false_or_null_where_the_type_allows() -> None:
    assert spec(profile("params: {a: {default: false}}\nmode: ${{ params.a }}")) == {"mode": False}
    assert spec(profile('params: {a: {type: ["null", string], default: null}}\nmode: ${{ params.a }}')) == {
        "mode": None
    }
    assert faults(profile("params: {a: {type: integer, default: null}}")) == [("PROF006", 5)]


def test_as_written_may_lack_what_an_environment_gives() -> None:
    text = profile(
        "params: {k: {type: integer}}\nenvironments:\n  a: {values: {k: 1}}\n  b: {values: {k: 2}}"
    )
    result = run(text, environments="all")
    assert result.diagnostics == ()
    assert [variant.id for variant in result.variants] == ["a", "b"]
    half = profile("params:\n  k: {type: integer}\nenvironments:\n  a: {values: {k: 1}}\n  b: {}")
    assert faults(half, environments="all") == [("PROF005", 6)]
    assert [variant.id for variant in run(half, environments="all").variants] == ["a"]
    assert faults(text) == [("PROF005", 5)]


@pytest.mark.parametrize(
    ("fragment", "value", "said"),
    [
        ("{type: integer}", "x", "must be of type integer"),
        ("{type: integer}", "1.5", "must be of type integer"),
        ("{type: [integer, string]}", "true", "must be of type integer, string"),
        ("{minimum: 1}", "0", "must be at least 1"),
        ("{maximum: 9}", "10", "must be at most 9"),
        ("{enum: [a, b]}", "c", 'must be one of "a", "b"'),
        ('{pattern: "^a+$"}', "b", 'must match "^a+$"'),
        ("{type: array, items: {type: integer}}", "[1, x]", "at 1"),
        ("{minLength: 3}", "ab", "is not allowed"),
    ],
)
def test_values_are_checked(fragment: str, value: str, said: str) -> None:
    text = profile(f"params:\n  p: {fragment}\nenvironments:\n  e:\n    values:\n      p: {value}")
    assert faults(text, environments=("e",)) == [("PROF006", 10)]
    assert said in messages(text, environments=("e",))


def test_a_default_is_checked_too() -> None:
    assert faults(profile("params:\n  p: {type: integer,\n    default: x}")) == [("PROF006", 7)]


def test_a_value_for_no_param() -> None:
    text = profile("params: {epochs: {default: 1}}\nenvironments:\n  e:\n    values:\n      epoch: 2")
    assert faults(text, environments="all") == [("PROF006", 9)]
    assert 'did you mean "epochs"?' in messages(text, environments="all")
    assert "no params" in messages(profile("environments: {e: {values: {a: 1}}}"), environments="all")


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        ("{type: int}", "cannot be used"),
        ("{minimun: 3}", 'did you mean "minimum"?'),
        ("{items: {tipe: string}}", 'did you mean "type"?'),
        ('{$ref: "file:///etc/passwd"}', 'unknown keyword "$ref"'),
        ('{items: {$ref: "http://127.0.0.1/x"}}', 'unknown keyword "$ref"'),
        ('{properties: {a: {$dynamicRef: "#x"}}}', "unknown keyword"),
        ("{pattern: '(a'}", "cannot be used"),
        ("{pattern: '(?=a)'}", "cannot be used"),
        ("integer", "is not a map"),
    ],
)
def test_a_schema_that_cannot_be_used(fragment: str, said: str) -> None:
    text = profile(f"params:\n  p: {fragment}")
    assert faults(text) == [("PROF007", 6)]
    assert said in messages(text)


def test_params_that_are_not_a_map() -> None:
    assert faults(profile("params: [a]")) == [("PROF001", 5)]
    assert faults(profile("params: {a: null}")) == [("PROF005", 5)]


def test_a_pattern_cannot_take_for_ever() -> None:
    """With a search that goes back, 5,000 letters would take twice as long as 4,999."""
    text = profile(f"params: {{p: {{pattern: '^(a+)+$', default: {'a' * 5000}b}}}}")
    assert faults(text) == [("PROF006", 5)]


def test_a_value_may_not_hold_an_expression() -> None:
    text = profile("params:\n  a: {default: 1}\n  b: {default: ['${{ params.a }}']}")
    assert faults(text) == [("PROF010", 7)]


def test_the_value_is_traced_beside_the_expression() -> None:
    text = profile(
        "params: {k: {default: 3}}\nreplicas: ${{ params.k }}\nenvironments: {e: {values: {k: 5}}}"
    )
    for environments, path in (
        (None, ("spec", "params", "k", "default")),
        (("e",), ("spec", "environments", "e", "values", "k")),
    ):
        document = one(text, environments=environments)
        places = document.origins[("spec", "replicas")].sources
        assert [place.path for place in places] == [("spec", "replicas"), path]
