"""The walk over a schema says what the validator says, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from podplan.schema.bundling import bundle_schema, load_schema_file
from podplan.schema.catalog import build_schema, list_schema_names
from podplan.schema.walker import decide_validity

FIXTURES = Path(__file__).parent.parent / "fixtures"
FULL = {path.stem: path for path in sorted((FIXTURES / "schemas" / "full").glob("*.yaml"))}
PROFILES = sorted(FIXTURES.glob("*_job*/*/profile.yaml"))
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    1,
    -1,
    1.0,
    0.5,
    2**60,
    "",
    "1",
    "a b",
    "Ω",
    "x\n",
    "4h",
    [],
    [None],
    {},
    {"x": 1},
    {1: 2},
)


def changed(data: Any) -> Iterator[Any]:
    """``data`` with one value after the other left out or replaced, or with a field more beside it."""
    places = list(_places(data))
    for number, way in enumerate(places):
        for odd in (ODD[number % len(ODD)], ODD[(number * 7 + 3) % len(ODD)]):
            copy = deepcopy(data)
            _holder(copy, way)[way[-1]] = odd
            yield copy
        copy = deepcopy(data)
        del _holder(copy, way)[way[-1]]
        yield copy
        copy = deepcopy(data)
        holder = _holder(copy, way)
        if isinstance(holder, dict):
            holder["surplus"] = 1
            yield copy


def _places(data: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, below in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*way, key)
        if isinstance(below, dict | list):
            yield from _places(below, (*way, key))


def _holder(data: Any, way: tuple[Any, ...]) -> Any:
    for step in way[:-1]:
        data = data[step]
    return data


def agree(schema: dict[str, Any], documents: Iterator[Any]) -> tuple[int, int]:
    """How many documents the walk judged, and how many of them it found valid."""
    validator = jsonschema_rs.Draft202012Validator(schema)
    said = []
    for data in documents:
        walked = decide_validity(schema, data)
        if walked is not None:
            assert walked == validator.is_valid(data), data
            said.append(walked)
    return len(said), sum(said)


@pytest.mark.parametrize("name", FULL)
def test_it_agrees_about_crs(name: str) -> None:
    schema = bundle_schema(load_schema_file(name))
    data = yaml.safe_load(FULL[name].read_text())
    assert decide_validity(schema, data) is True
    judged, valid = agree(schema, changed(data))
    assert judged > 100
    assert 0 < valid < judged


@pytest.mark.long
def test_it_agrees_about_profiles() -> None:
    schema = bundle_schema(load_schema_file("JobProfile"))
    judged = valid = 0
    for path in PROFILES:
        data = yaml.safe_load(path.read_text())
        assert decide_validity(schema, data) is True, path
        counts = agree(schema, changed(data))
        judged, valid = judged + counts[0], valid + counts[1]
    assert judged > 1000
    assert 0 < valid < judged


def test_it_knows_every_keyword_of_our_schemas() -> None:
    """A keyword that it does not know would make every run load the validator."""
    for name in list_schema_names():
        schema = build_schema(name, "1.36")
        assert decide_validity({"$defs": schema.get("$defs", {}), "type": "object"}, {}) is True


@pytest.mark.parametrize("value", [2**60, 1e300, "\ud800", "a" * 10_001, {1: 2}, {"a": {"b": float("nan")}}])
def test_it_leaves_what_engines_differ_in_to_the_validator(value: Any) -> None:
    assert decide_validity({"properties": {"a": {"properties": {"b": {"type": "number"}}}}}, value) is None


def test_it_leaves_what_it_does_not_know_to_the_validator() -> None:
    assert decide_validity({"unevaluatedProperties": False}, {}) is None
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert (
        decide_validity({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, deep) is None
    )


def test_the_end_of_a_pattern_is_the_end_of_the_text() -> None:
    assert decide_validity({"pattern": "^a$"}, "a\n") is False
    assert decide_validity({"pattern": "\\$a"}, "$a") is True


def test_patterns_of_letters_elsewhere_are_for_the_validator() -> None:
    assert decide_validity({"pattern": "^.$"}, "Ω") is None
    assert decide_validity({"minLength": 1}, "Ω") is True


def test_true_is_not_one() -> None:
    assert decide_validity({"const": 1}, True) is False
    assert decide_validity({"enum": [0, "x"]}, False) is False
    assert decide_validity({"minimum": 5}, True) is True
    assert decide_validity({"type": "integer"}, 1.0) is True
    assert decide_validity({"type": "integer"}, True) is False
    assert decide_validity({"enum": [1]}, 1.0) is None
