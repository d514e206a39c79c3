"""Kinds are named in their own packages only; everything else asks for traits and for answers of the spec."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import podplan
from podplan.core.package_data import read_bundled_file
from podplan.kinds.registry import COMPILED_KINDS, FAMILIES, PACKAGES, GroupVersionKind, load_spec
from podplan.kinds.traits import TRAITS
from podplan.lint.policy_scope import parse_scope
from podplan.lint.registry import load_policy_documents

PACKAGE = Path(podplan.__path__[0])
# A name of a common family, such as Job, is also a word.
NAMES = sorted({kind for family in FAMILIES if not family.is_common for kind in family.job_kinds})
KIND_NAME = re.compile(rf"\b({'|'.join(NAMES)})\b")
KIND_CONDITION = r"kindHas\('([A-Za-z-]+)'\)"
# Where kinds are named: their families, the table of them, and those that the controller of AppWrapper
# knows.
OWN_MODULES = (
    "kinds/t9k/",
    "kinds/kubeflow/",
    "kinds/mpi_operator/",
    "kinds/jobset/",
    "kinds/trainer/",
    "kinds/registry.py",
    "cluster/app_wrappers.py",
)
# Fields of policies that describe what controllers do, and those that still name kinds for other reasons.
DESCRIBING_FIELDS = {"examples", "links", "proof", "why"}
FIELDS_TO_DO = {"admission", "help", "placeholders", "summary"}


def iter_texts(node: ast.AST) -> Iterator[str]:
    """The texts in a module, without docstrings."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        yield from iter_texts(child)


def names_kind(module: str) -> bool:
    """Whether a module names a kind; parsed only if the name is anywhere in its text."""
    found = KIND_NAME.search(module)
    return found is not None and any(map(KIND_NAME.search, iter_texts(ast.parse(module))))


def modules_naming_kinds() -> set[str]:
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if names_kind(path.read_text(encoding="utf-8"))
    }


def test_no_module_names_a_kind_of_another_package() -> None:
    naming = modules_naming_kinds()
    assert sorted(name for name in naming if not name.startswith(OWN_MODULES)) == []


def test_no_policy_names_a_kind() -> None:
    naming = {
        (data["id"], field)
        for data in load_policy_documents()
        for field, value in data.items()
        if field not in DESCRIBING_FIELDS and KIND_NAME.search(json.dumps(value))
    }
    assert sorted(one for one in naming if one[1] not in FIELDS_TO_DO) == []
    assert FIELDS_TO_DO - {field for _, field in naming} == set()


def asked_traits() -> set[str]:
    """The traits that checks and expressions ask for."""
    documents = load_policy_documents()
    asked = set(re.findall(KIND_CONDITION, json.dumps([data.get("admission") for data in documents])))
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        asked |= set(re.findall(KIND_CONDITION, text)) - {"TRAIT"}
        for node in ast.walk(ast.parse(text)) if "has_trait" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "has_trait":
                asked |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return asked


def test_every_trait_is_asked_for_and_known() -> None:
    scopes = [parse_scope(data["scope"]) for data in load_policy_documents()]
    selected = {trait for scope in scopes for trait in scope.needs | scope.without}
    asked = asked_traits()
    assert asked - TRAITS.keys() == set()
    assert TRAITS.keys() - selected - asked == {"scaling-weights"}  # it is in a table of CR014


@pytest.mark.parametrize("kind", PACKAGES, ids=lambda kind: kind.kind)
def test_the_traits_of_a_kind_are_known(kind: GroupVersionKind) -> None:
    traits = load_spec(kind).traits
    assert traits or kind not in COMPILED_KINDS.values()
    assert traits - TRAITS.keys() == set()


def test_the_schema_of_policies_lists_the_traits() -> None:
    schema = json.loads(read_bundled_file("schemas", "Policy.json"))
    assert schema["$defs"]["traits"]["items"]["enum"] == list(TRAITS)
