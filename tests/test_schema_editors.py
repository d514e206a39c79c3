"""The schemas for editors accept what the schemas accept, and nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from podplan import kubernetes
from podplan.schema import catalog
from podplan.schema.editor_schema import to_editor_schema
from podplan.yaml import parse_yaml
from tests.command import podplan

FIXTURES = Path(__file__).parent.parent / "fixtures"
ODD: tuple[Any, ...] = (None, "", "auto", "${{ params.x }}", 0, -1, 1.5, True, [], {}, ["a"], {"a": 1})


def documents(kind: str) -> Iterator[Any]:
    for path in sorted(FIXTURES.rglob("*.yaml")):
        for document in parse_yaml(path.read_bytes(), str(path)).documents:
            if isinstance(document.data, dict) and document.data.get("kind") == kind:
                yield document.data


def mutants(document: Any) -> Iterator[Any]:
    """The document with each of its first fields as something else, one at a time."""
    for section in ("spec", "metadata"):
        fields = document.get(section)
        for field in fields if isinstance(fields, dict) else ():
            for value in ODD:
                changed = copy.deepcopy(document)
                changed[section][field] = value
                yield changed


@pytest.mark.long
@pytest.mark.parametrize("kind", ["JobProfile", "ClusterInventory"])
def test_both_forms_say_the_same(kind: str) -> None:
    plain = catalog.build_schema(kind, kubernetes.DEFAULT_VERSION)
    ours, editors = Draft202012Validator(plain), Draft202012Validator(to_editor_schema(plain))
    verdicts = set()
    for document in list(documents(kind))[:40]:
        for one in (document, *mutants(document)):
            verdict = ours.is_valid(one)
            assert editors.is_valid(one) == verdict, one
            verdicts.add(verdict)
    assert verdicts == {True, False}


def test_choices_take_the_place_of_conditions() -> None:
    plain: dict[str, Any] = {
        "$defs": {"deferred": {"type": "string", "pattern": "^x", "description": "An expression."}},
        "properties": {"a": {"if": {"$ref": "#/$defs/deferred"}, "else": {"enum": ["b"]}}},
    }
    changed = to_editor_schema(plain)
    assert changed["properties"]["a"] == {"anyOf": [{"enum": ["b"]}, {"$ref": "#/$defs/deferred"}]}
    assert "description" not in changed["$defs"]["deferred"]
    assert "description" in plain["$defs"]["deferred"]


def test_init_writes_what_schema_show_prints_for_editors(tmp_path: Path) -> None:
    assert podplan("init", tmp_path).code == 0
    for name, file in (("JobProfile", "jobs/resnet.yaml"), ("ClusterInventory", "clusters/main.yaml")):
        written = (tmp_path / f".podplan/schemas/{name}.json").read_text()
        assert podplan("schema", "show", name, "--editors").out == written
        assert json.loads(written)["title"]
        modeline = (tmp_path / file).read_text().splitlines()[0]
        reference = modeline.removeprefix("# yaml-language-server: $schema=")
        target = (tmp_path / file).parent / reference
        assert target.resolve() == (tmp_path / f".podplan/schemas/{name}.json").resolve()
