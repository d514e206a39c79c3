"""How often the schema of a policy is asked about one value is counted, and bounded, before it is asked."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from podplan.core.limits import MAX_SCHEMA_VISITS as BOUND
from podplan.core.typing import Any
from podplan.schema.custom_schemas import UnusableSchema, build_validator
from podplan.schema.visit_limit import count_visits
from tests.command import JOB, Run, podplan
from tests.rows import each_row
from tests.test_limits import by_schema, laid_out

SELF = {"$ref": "#"}


def chain(link: Callable[[dict[str, str]], Any], length: int = 30, last: Any = False) -> dict[str, Any]:
    """d0 leads to d1, that to d2, and so on."""
    links = {f"d{one}": link({"$ref": f"#/$defs/d{one + 1}"}) for one in range(length)}
    return {"$defs": {**links, f"d{length}": last}, "$ref": "#/$defs/d0"}


def count(schema: Any, bound: int = BOUND) -> int:
    build_validator(schema)
    return count_visits(schema, bound)


def checked(schema: Any, folder: Path) -> Run:
    return podplan("check", ".", cwd=laid_out(folder, by_schema(json.dumps(schema))))


@pytest.mark.parametrize(
    "link",
    [
        lambda one: {"anyOf": [one, one]},
        lambda one: {"oneOf": [one, {"not": one}]},
        lambda one: {"allOf": [one], "if": one},
        lambda one: {"then": one, "else": one},
        lambda one: {"dependentSchemas": {"a": one, "b": one}},
        lambda one: {**one, "allOf": [one]},
        lambda one: {"additionalProperties": {"anyOf": [one, one]}},
        lambda one: {"properties": {"a": {"anyOf": [one, one]}}},
        lambda one: {"properties": {"a": one}, "patternProperties": {"a": one}},
        lambda one: {"patternProperties": {"a": one}, "propertyNames": one},
        lambda one: {"anyOf": [{"properties": {"a": one}}, {"additionalProperties": one}]},
        lambda one: {"items": one, "contains": one},
        lambda one: {"prefixItems": [True, one], "contains": one},
        lambda one: {"anyOf": [one], "unevaluatedProperties": False},
        lambda one: {"anyOf": [{"items": one}], "unevaluatedItems": False},
        lambda one: {"contains": one, "unevaluatedItems": False},
    ],
)
def test_what_doubles_at_each_link_of_a_chain_is_too_much(link: Callable[[dict[str, str]], Any]) -> None:
    assert count(chain(link)) == BOUND + 1
    assert count(chain(link, 2)) < 100


@pytest.mark.parametrize(
    "link",
    [
        lambda one: {"anyOf": [one, {"type": "string"}]},
        lambda one: {"properties": {"a": one, "b": one}, "additionalProperties": one},
        lambda one: {"prefixItems": [one, one], "items": one},
        lambda one: {"additionalProperties": one, "items": one},
        lambda one: {"properties": {"a": one}, "unevaluatedProperties": False},
    ],
)
def test_what_asks_one_after_the_other_is_not(link: Callable[[dict[str, str]], Any]) -> None:
    assert count(chain(link)) < 100


def test_the_numbers() -> None:
    assert count(True) == count({}) == count({"type": "object"}) == 1
    assert count({"anyOf": [True, {"not": False}]}) == 4
    assert count({"properties": {"a": {"items": {"enum": [1]}}, "b": True}}) == 3
    assert count(chain(lambda one: {"anyOf": [one, one]}, 2)) == 1 + (1 + 2 * (1 + (1 + 2 * (1 + 1))))
    assert count({"items": SELF}) == 201
    assert count({"anyOf": [True], "unevaluatedProperties": False}) == 1 + 4 + 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"left": SELF, "right": SELF}, "additionalProperties": SELF},
        {"anyOf": [{"type": "string"}, {"items": SELF}, {"additionalProperties": SELF}]},
        {
            "properties": {
                **dict.fromkeys(("not", "items", "contains"), SELF),
                **{name: {"items": SELF} for name in ("anyOf", "allOf", "oneOf")},
                **{name: {"additionalProperties": SELF} for name in ("properties", "$defs")},
                "additionalProperties": {"anyOf": [{"type": "boolean"}, SELF]},
            },
            "unevaluatedProperties": False,
        },
    ],
    ids=["tree", "scalar, list or map", "like JSONSchemaProps"],
)
def test_what_recurs_through_values_may(schema: Any, tmp_path: Path) -> None:
    assert count(schema) < 1_000
    assert checked(schema, tmp_path).code in (0, 1)


@pytest.mark.parametrize(
    "schema",
    [
        SELF,
        {"anyOf": [{"type": "string"}, SELF]},
        {"not": SELF},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
    ],
)
def test_what_comes_back_to_itself_without_a_value_is_too_much(schema: Any) -> None:
    assert count(schema) == BOUND + 1


def test_what_nothing_refers_to_does_not_count() -> None:
    assert count({"$defs": {"a": {"$ref": "#/$defs/a"}}}) == 1


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("a/b~c%", "a~1b~0c%25"),
        ("~1", "~01"),
        ("é", "%C3%A9"),
        ("é", "é"),
        ("a b", "a%20b"),
        ("a/b", "a%2Fb"),
    ],
)
def test_a_reference_is_read_as_the_validator_reads_it(name: str, reference: str) -> None:
    """What it is read as is what counts; one that is read otherwise must be none."""
    schema = {"$defs": {name: {"items": {"items": False}}}, "$ref": f"#/$defs/{reference}"}
    try:
        made = build_validator(schema)
    except UnusableSchema:
        assert reference in ("é", "a%2Fb")
    else:
        assert [list(error.instance_path) for error in made.iter_errors([[1]])] == [[0, 0]]
        assert count_visits(schema, BOUND) == 4


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}}, 'unknown keyword "$anchor"'),
        ({"$ref": "a", "$defs": {"a": {"$id": "a"}}}, 'unknown keyword "$id"'),
        ({"$dynamicRef": "#"}, 'unknown keyword "$dynamicRef"'),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "is not in this schema"),
        (
            {"$ref": "#/const", "const": {"dependencies": {"a": SELF}}},
            '"#/const" does not refer to a schema; define',
        ),
        ({"$ref": "#/enum/0", "enum": [{"$anchor": "a", "$dynamicRef": "#a"}]}, "Anchor 'a' does not exist"),
        ({"$ref": "#/$defs", "$defs": {"not": True}}, "does not refer to a schema"),
        ({"anyOf": [{"$ref": "#/allOf/0/title"}], "allOf": [{"title": "a"}]}, ""),
    ],
)
def test_no_other_reference_is_taken(schema: Any, said: str) -> None:
    """Behind one to a value that is no schema were keywords that nobody had looked at."""
    with pytest.raises(UnusableSchema) as caught:
        build_validator(schema)
    assert said in caught.value.message


def brute(root: Any, schema: Any, depth: int, kind: str) -> int:
    """The visits as they are made, one by one."""
    if not isinstance(schema, dict):
        return 1
    here = [*schema.get("anyOf", ()), *schema.get("allOf", ())]
    here += [schema["not"]] if "not" in schema else []
    here += [root["$defs"][schema["$ref"].removeprefix("#/$defs/")]] if "$ref" in schema else []
    total = 1 + sum(brute(root, one, depth, kind) for one in here)
    if not depth:
        return total

    def inside(one: Any) -> int:
        return max(brute(root, one, depth - 1, inner) for inner in ("object", "array"))

    if kind == "array":
        return total + (inside(schema["items"]) if "items" in schema else 0)
    named = max(map(inside, schema.get("properties", {}).values()), default=0)
    matching = sum(map(inside, schema.get("patternProperties", {}).values()))
    others = inside(schema["additionalProperties"]) if "additionalProperties" in schema else 0
    return total + max(named + matching, others)


def some_schema(chance: random.Random, below: int, later: list[str]) -> Any:
    """A schema whose references lead to definitions that come ``later``: none comes back to itself."""
    if not below or chance.random() < 0.2:
        return {"$ref": f"#/$defs/{chance.choice(later)}"} if later and chance.random() < 0.7 else True

    def one() -> Any:
        return some_schema(chance, below - 1, later)

    keywords: dict[str, Callable[[], Any]] = {
        "anyOf": lambda: [one() for _ in range(chance.randint(1, 3))],
        "allOf": lambda: [one()],
        "not": one,
        "items": one,
        "properties": lambda: {name: one() for name in "abc"[: chance.randint(1, 3)]},
        "patternProperties": lambda: {name: one() for name in "ab"},
        "additionalProperties": one,
    }
    return {name: keywords[name]() for name in chance.sample(sorted(keywords), chance.randint(1, 3))}


@each_row("seed", range(150))
def test_the_count_is_that_of_visits_made_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    names = ["a", "b", "c"]
    later = {name: some_schema(chance, 2, names[at + 1 :]) for at, name in enumerate(names)}
    schema = {"$defs": later, "anyOf": [some_schema(chance, 3, names), {"$ref": "#/$defs/a"}]}
    made = max(brute(schema, schema, 20, kind) for kind in ("object", "array"))
    assert count(schema, 10**9) == made
    assert count(schema, 20) == min(made, 21)


@pytest.mark.parametrize(
    ("parts", "inside", "counted"),
    [
        (1_000, SELF, 151),
        pytest.param(10_000, SELF, BOUND + 1, marks=pytest.mark.long),
        (10_000, {"items": True}, 4),
    ],
    ids=["recurring", "too big", "big"],
)
def test_a_big_schema_is_counted_soon(parts: int, inside: Any, counted: int) -> None:
    """One that recurs has other counts at each of the 100 levels, for all of its parts."""
    properties = {f"a{one}": {"additionalProperties": inside, "items": inside} for one in range(parts)}
    started = time.process_time()
    assert count_visits({"properties": properties}, BOUND) == counted
    assert time.process_time() - started < 10


def test_a_deep_chain_of_references_is_no_recursion_here() -> None:
    assert count_visits(chain(lambda one: {"allOf": [one]}, 5_000), 10**9) == 10_002


def test_a_policy_that_would_never_come_to_an_end_is_refused(tmp_path: Path) -> None:
    run = checked(chain(lambda one: {"anyOf": [one, one]}), tmp_path)
    assert run.code == 4
    assert run.err.startswith(
        "podplan: policies/ORG001.yaml: the schema of a policy would be asked more than 10,000 times about "
        "one value; have fewer of its parts refer to the same one, and none to itself (the limit "
    )


def test_a_check_without_such_a_policy_does_not_load_this(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    command = [sys.executable, "-X", "importtime", "-m", "podplan", "check", "job.yaml"]
    loaded = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stderr
    assert "podplan.schema" in loaded
    assert "podplan.schema.visit_limit" not in loaded
