"""The walk over a schema says what the validator says, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from podplan.schema.bundling import file, self_contained
from podplan.schema.catalog import names, show
from podplan.schema.walker import verdict

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
        walked = verdict(schema, data)
        if walked is not None:
            assert walked == validator.is_valid(data), data
            said.append(walked)
    return len(said), sum(said)


@pytest.mark.parametrize("name", FULL)
def test_it_agrees_about_crs(name: str) -> None:
    schema = self_contained(file(name))
    data = yaml.safe_load(FULL[name].read_text())
    assert verdict(schema, data) is True
    judged, valid = agree(schema, changed(data))
    assert judged > 100
    assert 0 < valid < judged


def test_it_agrees_about_profiles() -> None:
    schema = self_contained(file("JobProfile"))
    judged = valid = 0
    for path in PROFILES:
        data = yaml.safe_load(path.read_text())
        assert verdict(schema, data) is True, path
        counts = agree(schema, changed(data))
        judged, valid = judged + counts[0], valid + counts[1]
    assert judged > 1000
    assert 0 < valid < judged


def test_it_knows_every_keyword_of_our_schemas() -> None:
    """A keyword that it does not know would make every run load the validator."""
    for name in names():
        schema = show(name, "1.36")
        assert verdict({"$defs": schema.get("$defs", {}), "type": "object"}, {}) is True


@pytest.mark.parametrize("value", [2**60, 1e300, "\ud800", "a" * 10_001, {1: 2}, {"a": {"b": float("nan")}}])
def test_it_leaves_what_engines_differ_in_to_the_validator(value: Any) -> None:
    assert verdict({"properties": {"a": {"properties": {"b": {"type": "number"}}}}}, value) is None


def test_it_leaves_what_it_does_not_know_to_the_validator() -> None:
    assert verdict({"unevaluatedProperties": False}, {}) is None
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert verdict({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, deep) is None


def test_the_end_of_a_pattern_is_the_end_of_the_text() -> None:
    assert verdict({"pattern": "^a$"}, "a\n") is False
    assert verdict({"pattern": "\\$a"}, "$a") is True


def test_patterns_of_letters_elsewhere_are_for_the_validator() -> None:
    assert verdict({"pattern": "^.$"}, "Ω") is None
    assert verdict({"minLength": 1}, "Ω") is True


def test_true_is_not_one() -> None:
    assert verdict({"const": 1}, True) is False
    assert verdict({"enum": [0, "x"]}, False) is False
    assert verdict({"minimum": 5}, True) is True
    assert verdict({"type": "integer"}, 1.0) is True
    assert verdict({"type": "integer"}, True) is False
    assert verdict({"enum": [1]}, 1.0) is None
