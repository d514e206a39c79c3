"""The field tables of the API reference against the schemas: both know the same fields, of the same types."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.schema import validate_against
from podplan.schema.bundling import KUBERNETES_KEYWORD, bundle_schema, load_schema_file
from tests.rows import each_row

FIXTURES = Path(__file__).parent.parent / "fixtures" / "schemas"
TABLES = yaml.load((FIXTURES / "fields.yaml").read_text(), yaml.CSafeLoader)
Where = tuple[str, ...]

WRONG: dict[str, Any] = {
    "string": 5,
    "integer": "many",
    "boolean": "yes",
    "rank": {"not": "a rank"},
    "mapping": "text",
    "list": "text",
}


def tabled(kind: str) -> dict[Where, str]:
    """Every path of a kind with its type, as the tables of the reference have it."""

    def walk(name: str, at: Where) -> Iterator[tuple[Where, str]]:
        if name.endswith("[]"):
            yield at, "list"
            yield from walk(name[:-2], (*at, "*"))
        elif name.startswith("map["):
            yield at, "mapping"
            yield from walk(name[4:-1], (*at, "*"))
        elif name in TABLES["types"]:
            fields = TABLES["types"][name]
            yield from walk(fields, at) if isinstance(fields, str) else below(fields, at)
        else:
            yield at, name

    def below(fields: dict[str, str], at: Where) -> Iterator[tuple[Where, str]]:
        yield at, "mapping"
        for field, name in fields.items():
            yield from walk(name, (*at, field))

    return dict(below(TABLES["kinds"][kind], ()))


def schemed(kind: str) -> dict[Where, str]:
    """Every path of a kind with its type, as its schema has it."""
    schema = bundle_schema(load_schema_file(kind))

    def walk(node: dict[str, Any], at: Where) -> Iterator[tuple[Where, str]]:
        if "$ref" in node:
            node = {**schema["$defs"][node["$ref"].rpartition("/")[2]], **node}
        if KUBERNETES_KEYWORD in node:
            yield at, node[KUBERNETES_KEYWORD].partition("?")[0]
            return
        yield at, named(node)
        for field, below in node.get("properties", {}).items():
            yield from walk(below, (*at, field))
        for keyword in ("items", "additionalProperties"):
            if isinstance(node.get(keyword), dict):
                yield from walk(node[keyword], (*at, "*"))

    return dict(walk(schema, ()))


def named(node: dict[str, Any]) -> str:
    if "enum" in node or "const" in node:
        return "string"
    if node["type"] == ["integer", "string"]:
        return "rank"
    name = str(node["type"])
    return {"object": "mapping", "array": "list"}.get(name, name)


@cache
def full(kind: str) -> Any:
    return yaml.load((FIXTURES / "full" / f"{kind}.yaml").read_text(), yaml.CSafeLoader)


def with_room_for(kind: str, where: Where) -> Any:
    """The CR with every field, but of the three forms of ``run`` only the one at ``where``."""
    data = deepcopy(full(kind))
    if where[:3] == ("spec", "config", "run") and len(where) > 3:
        data["spec"]["config"]["run"] = {where[3]: ["train.py"]}
    return data


def replaced(data: Any, where: Where, value: Any) -> tuple[Any, tuple[str | int, ...]]:
    """A copy of ``data`` with ``value`` at ``where`` ("*" is the first entry), and the path there."""
    data = deepcopy(data)
    node, path = data, []
    for step in where:
        key: Any = (0 if isinstance(node, list) else next(iter(node))) if step == "*" else step
        path.append(key)
        holder, node = node, node[key]
    holder[key] = value
    return data, tuple(path)


CASES = [
    pytest.param(kind, where, name, id=f"{kind}:{'.'.join(where)}")
    for kind in TABLES["kinds"]
    for where, name in tabled(kind).items()
    if where
]


@pytest.mark.parametrize("kind", TABLES["kinds"])
def test_schema_and_reference_have_the_same_fields(kind: str) -> None:
    assert schemed(kind) == tabled(kind)


@pytest.mark.parametrize("kind", TABLES["kinds"])
def test_a_cr_with_every_field_is_accepted(kind: str) -> None:
    assert validate_against(kind, full(kind)) == []


@each_row(("kind", "where", "name"), CASES)
def test_the_right_type_is_there_and_a_wrong_one_is_one_problem(kind: str, where: Where, name: str) -> None:
    wrong = WRONG.get(name, ["not", "a", "mapping"])
    data, path = replaced(with_room_for(kind, where), where, wrong)
    problems = validate_against(kind, data)
    assert [(problem.rule, problem.path) for problem in problems] == [("SCHEMA002", path)]


@pytest.mark.parametrize("kind", TABLES["kinds"])
def test_every_field_has_a_sentence(kind: str) -> None:
    schema = bundle_schema(load_schema_file(kind))

    def silent(node: Any, at: str) -> Iterator[str]:
        if not isinstance(node, dict):
            return
        for field, below in node.get("properties", {}).items():
            said = {**schema["$defs"].get(below.get("$ref", "").rpartition("/")[2], {}), **below}
            if not said.get("description", "").endswith("."):
                yield f"{at}.{field}"
            yield from silent(below, f"{at}.{field}")
        yield from silent(node.get("items"), at)

    missing = list(silent(schema, kind))
    for name, definition in schema["$defs"].items():
        missing += silent(definition, name)
    assert missing == []
