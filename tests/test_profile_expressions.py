from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any

import pytest

from podplan.core.suggestions import suggest_or_list
from podplan.profile import expressions
from podplan.profile.expressions import split_text
from podplan.profile.values import ProfileExpressionError
from tests.profile_texts import came_from, doc, faults, line, messages, one, profile, run, spec

PARAMS = """
params:
  count: {type: integer, default: 3}
  rate: {type: number, default: 0.5}
  flag: {type: boolean, default: true}
  text: {type: string, default: abc}
  args: {type: array, default: [--a, 1]}
  nothing: {default: null}
"""


def value(text: str, **more: Any) -> Any:
    """What a scalar becomes under PARAMS."""
    return spec(profile(f"{PARAMS}\nworkingDir: {text}"), **more)["workingDir"]


def said(text: str, **more: Any) -> str:
    return messages(profile(f"{PARAMS}\nworkingDir: {text}"), **more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${{ params.count }}", 3),
        ("${{params.rate}}", 0.5),
        ("${{ params.flag }}", True),
        ("${{ params.args }}", ["--a", 1]),
        ("${{ params.nothing }}", None),
        ("n${{ params.count }}", "n3"),
        ("${{ params.flag }}-${{ params.rate }}", "true-0.5"),
        ("'${{ params.count }} '", "3 "),
        ("${{ params.count + 1 }}", 4),
        ("${{ params.count * 2 - 1 }}", 5),
        ("${{ 6 / 2 }}", 3),
        ("${{ 7 / 2 }}", 3.5),
        ("${{ 7 // 2 }}", 3),
        ("${{ 7 % 4 }}", 3),
        ("${{ -params.count }}", -3),
        ("\"${{ 'big' if params.count > 2 else 'small' }}\"", "big"),
        ("${{ params.flag and not params.count == 4 }}", True),
        ("${{ params.text | upper }}", "ABC"),
        ("\"${{ params.text | replace('b', '-') }}\"", "a-c"),
        ("\"${{ params.args | join(' ') }}\"", "--a 1"),
        ("${{ params.args | length }}", 2),
        ("\"${{ params.args[0] }}\"", "--a"),
        ("\"${{ params['text'] }}\"", "abc"),
        ("${{ params.nothing | default(4) }}", 4),
        ("\"${{ metadata.namespace | default('none') }}\"", "none"),
        ("${{ params.rate | string }}", "0.5"),
        ("${{ params.flag | string }}", "true"),
        ("\"${{ '12' | int }}\"", 12),
        ("\"${{ '1.5' | float }}\"", 1.5),
        ("${{ 2.6 | round }}", 3),
        ("${{ 2.648 | round(2) }}", 2.65),
        ("\"${{ [params.count, 9] | max }}\"", 9),
        ("\"${{ [params.count, 9] | min }}\"", 3),
        ("${{ -5 | abs }}", 5),
        ("${{ params.args | tojson }}", '["--a", 1]'),
        ("\"${{ params.text in ['abc', 'x'] }}\"", True),
        ("\"${{ '}}' }}\"", "}}"),
        ("\"${{ 'it''s' }}\"".replace("''", "\\\\'"), "it's"),
        ("${{ metadata.name }}", "resnet"),
        ('"[${{ environment }}]"', "[]"),
    ],
)  # fmt: skip
def test_values(text: str, expected: Any) -> None:
    result = value(text)
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(
    "text", ["$HOME", "${HOME}", "$(date)", "$$", "{{ params.count }}", "}}", "$ {{ x }}", "a $x ${y} $(z)"]
)
def test_the_dollars_of_the_shell_and_of_kubernetes_pass(text: str) -> None:
    assert value(f"'{text}'") == text


def test_two_dollars_write_the_opening_itself() -> None:
    assert value("'$${{ github.sha }}'") == "${{ github.sha }}"
    assert value("'$${{ x }} ${{ params.count }}'") == "${{ x }} 3"


def test_the_name_of_the_environment() -> None:
    text = profile("workingDir: /${{ environment }}\nenvironments: {dev: {}}")
    assert [v.doc.data["spec"]["workingDir"] for v in run(text, environments="all").variants] == ["/", "/dev"]


def test_expressions_see_what_the_environment_changed() -> None:
    text = profile(
        "workingDir: /${{ metadata.namespace }}/${{ metadata.labels.team }}\n"
        "environments: {dev: {namespace: ml, labels: {team: a}}}"
    )
    assert spec(text, environments=("dev",))["workingDir"] == "/ml/a"


def test_labels_may_hold_expressions_and_the_spec_sees_their_values() -> None:
    head = "kind: JobProfile\nmetadata: {name: a, labels: {run: 'r-${{ params.k }}'}}\nspec:\n"
    document = one(profile("params: {k: {default: 1}}\nworkingDir: ${{ metadata.labels.run }}", head))
    assert document.data["metadata"]["labels"] == {"run": "r-1"}
    assert document.data["spec"]["workingDir"] == "r-1"


def test_the_matrix_and_the_id_of_the_instance() -> None:
    text = profile("matrix: {axes: {a: [x.y]}}\nworkingDir: ${{ matrix.a }}/${{ matrix.id }}")
    assert spec(text)["workingDir"] == "x.y/a-x-y"


def test_the_inventory() -> None:
    inventory = doc(
        "apiVersion: podplan/v1\nkind: ClusterInventory\nspec: {hardware: {big: {cpu: 8}}}\n", "inv.yaml"
    )
    assert value("${{ inventory.hardware.big.cpu }}", inventory=inventory) == 8
    assert value("\"${{ inventory.hardware['big'].cpu + 1 }}\"", inventory=inventory) == 9
    assert value("${{ inventory.queues | default(1) }}", inventory=inventory) == 1
    assert 'did you mean "big"' in said("${{ inventory.hardware.bug.cpu }}", inventory=inventory)
    assert 'did you mean "hardware"' in said("${{ inventory.hardwear | default(1) }}", inventory=inventory)
    assert "no ClusterInventory" in said("${{ inventory.hardware }}")


@pytest.mark.parametrize(
    ("text", "rule", "sentence"),
    [
        ("${{ params.cuont }}", "PROF009", 'there is no param "cuont"; did you mean "count"?'),
        ("${{ params.cuont | default(1) }}", "PROF009", 'did you mean "count"?'),
        ("\"${{ params['cuont'] }}\"", "PROF009", 'did you mean "count"?'),
        ("${{ param.count }}", "PROF009", 'did you mean "params"?'),
        ("${{ secrets.token }}", "PROF009", 'nothing called "secrets"'),
        ("${{ matrix.size }}", "PROF009", "the profile has no matrix"),
        ("${{ environment.name }}", "PROF009", "write ${{ environment }}"),
        ("${{ metadata.lables }}", "PROF009", 'did you mean "labels"?'),
        ("${{ metadata.namespace }}", "PROF009", 'there is no "namespace"'),
        ("${{ params.count.x }}", "PROF009", 'no "x" in a number'),
        ("${{ params.args[7] }}", "PROF009", 'no "7" in a list'),
        ("x${{ params.args }}", "PROF008", "a list cannot stand inside text"),
        ("x${{ params.nothing }}", "PROF008", "null cannot stand inside text"),
        ("${{ params.count", "PROF008", "does not end"),
        ("\"${{ 'a }}\"", "PROF008", "does not end"),
        ("'${{ }}'", "PROF008", "empty"),
        ("${{ params.count params.rate }}", "PROF008", "ends before"),
        ("${{ params.count + }}", "PROF008", "not an expression"),
        ("${{ params.count | bogus }}", "PROF008", 'no filter "bogus"'),
        ("${{ params.count | lowr }}", "PROF008", 'did you mean "lower"?'),
        ("${{ params.count | default(value=1) }}", "PROF008", "plain arguments"),
        ("${{ params.count | round(1, 2, 3) }}", "PROF008", "arguments of a filter"),
        ("${{ params.text + 1 }}", "PROF008", "+ works on two numbers"),
        ("${{ params.flag + 1 }}", "PROF008", "+ works on two numbers"),
        ("${{ params.text < 1 }}", "PROF008", "do not fit"),
        ("${{ 1 / 0 }}", "PROF008", "divides by zero"),
        ("${{ 1 if params.flag }}", "PROF008", "needs an else"),
        ("${{ params.text | int }}", "PROF008", "not a whole number"),
        ("\"${{ 1 ~ 2 }}\"", "PROF008", "side by side"),
        ("${{ params.count is defined }}", "PROF008", "tests with is"),
        ("${{ params[environment] }}", "PROF008", "must be written out"),
        ("${{ [] | max }}", "PROF008", "not empty"),
        ("${{ 1e999 }}", "PROF008", "finite"),
        ("'${{ \"\\ud800\" }}'", "PROF008", "UTF-8"),
    ],
)  # fmt: skip
def test_problems_stand_at_the_scalar(text: str, rule: str, sentence: str) -> None:
    whole = profile(f"workingDir: {text}\n{PARAMS}")
    assert faults(whole) == [(rule, 5)]
    assert sentence in messages(whole)
    assert run(whole).variants == ()


ATTACKS = {
    "attributes of Python objects": "''.__class__.__mro__[1].__subclasses__()",
    "a list without end": "range(999999999)",
    "text without end": "lipsum(n=200000)",
    "repetition": "'a' * 1000000000",
    "a wide format": "'%0999999999d' % 1",
    "padding": "'a'.ljust(999999999)",
    "doubling": "params.big + params.big + params.big",
    "a power": "9 ** 999999999",
    "a filter for formats": "'{0.__class__}' | attr('format')",
    "replacing what is not there": "params.big | replace('', params.big)",
    "replacing everything": "params.big | replace('a', params.big)",
    "joining": "[params.big, params.big] | join(params.big)",
    "nesting": "(" * 450 + "1" + ")" * 450,
    "signs": "-" * 900 + "1",
    "digits": "9" * 990,
    "products": " * ".join(["9999999999999999999"] * 15),
    "a loop": "{% for x in range(9) %}",
    "a big result": "[params.big, params.big]",
    "a long expression": "1 + " * 400 + "1",
    "names of the engine": "self.__init__",
    "a map": "{'a': 1}",
    "a slice": "params.big[0:9]",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_attacks_are_problems_at_once(attack: str) -> None:
    from time import process_time

    big = "a" * 60_000
    quoted = attack.replace("\\", "\\\\").replace('"', '\\"')
    text = profile(f'params: {{big: {{default: {big}}}}}\nworkingDir: "${{{{ {quoted} }}}}"')
    run(profile("workingDir: ${{ 1 + 1 }}"))
    start = process_time()
    result = run(text)
    assert process_time() - start < 0.25
    assert {(problem.rule, line(problem)) for problem in result.diagnostics} <= {
        ("PROF008", 6),
        ("PROF017", 6),
        ("PROF009", 6),
    }
    assert len(result.diagnostics) == 1


def test_results_are_bounded_in_all() -> None:
    text = profile(
        f"params: {{big: {{default: {'a' * 60_000}}}}}\n"
        f"run: [{', '.join(['${{ params.big }}'] * 300)}]".replace("${{ params.big }}", "'${{ params.big }}'")
    )
    assert "characters" in messages(text)


@pytest.mark.long
def test_the_number_of_compiled_expressions_is_bounded() -> None:
    rows = ", ".join(f"'${{{{ {i} + params.k }}}}'" for i in range(2_001))
    from podplan.profile import sandbox

    before = sandbox.compile_expression.cache_info().misses
    text = profile(f"params: {{k: {{default: 1}}}}\nrun: [{rows}]")
    assert {rule for rule, _ in faults(text)} == {"PROF017"}
    assert sandbox.compile_expression.cache_info().misses - before <= 2_001


def test_a_hundred_wrong_names_are_compared_with_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2,000 took nine seconds beside many params, and so did one that is wrong in 2,000 places."""

    def counted(step: str, known: Collection[str]) -> str:
        compared.append(step)
        return suggest_or_list(step, known)

    compared: list[str] = []
    monkeypatch.setattr(expressions, "suggest_or_list", counted)
    rows = ", ".join(f"'${{{{ params.k{number} }}}}'" for number in (*range(150), *range(150)))
    matrix = "matrix: {axes: {a: [1, 2, 3]}}"
    found = messages(profile(f"params: {{a: {{}}, kk: {{default: 1}}}}\n{matrix}\nrun: [{rows}]"))
    assert compared == [f"k{number}" for number in range(100)]
    said = set(found.splitlines())
    assert '${{ params.k99 }}: there is no param "k99"; there is a, kk' in said
    assert '${{ params.k100 }}: there is no param "k100"' in said
    assert len(said) == 150


def test_many_openings_take_linear_time() -> None:
    with pytest.raises(ProfileExpressionError):
        split_text("${{ '" * 200_000)
    with pytest.raises(ProfileExpressionError):
        split_text("${{" * 300_000)
    assert split_text("$${{" * 100_000) == ["${{" * 100_000]


@pytest.mark.parametrize(
    ("text", "line_number"),
    [
        (profile("job: ${{ params.x }}"), 5),
        (profile("env:\n  ${{ params.x }}: a"), 6),
        (
            profile(
                "image: a",
                "apiVersion: podplan/v1\nkind: JobProfile\nmetadata:\n  name: a-${{ params.x }}\nspec:\n",
            ),
            4,
        ),
        (profile("matrix:\n  axes: {a: ['${{ params.x }}']}"), 6),
    ],
)
def test_where_no_expression_may_stand(text: str, line_number: int) -> None:
    assert faults(text) == [("PROF010", line_number)]


def test_pieces() -> None:
    assert split_text("a ${{ b }} c") == ["a ", ("b",), " c"]
    assert split_text("${{b}}${{ c }}") == [("b",), ("c",)]
    assert split_text("$${{ b }}") == ["${{ b }}"]
    assert split_text("plain") == ["plain"]


def test_a_value_is_traced_to_the_scalar_first_and_then_to_what_it_read() -> None:
    text = profile(
        "params:\n  a: {default: 1}\n  b: {default: 2}\nworkingDir: ${{ params.a }}/${{ params.b + 1 }}"
    )
    document = one(text)
    assert came_from(document, ("spec", "workingDir")) == "profile.yaml:8"
    places = document.origins[("spec", "workingDir")].sources
    assert [place.path[2:3] for place in places] == [(), ("a",), ("b",)]


def test_paths_need_no_template_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "podplan.profile.sandbox", None)
    assert value("x-${{ params.count }}") == "x-3"
