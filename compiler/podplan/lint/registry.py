"""The policies that podplan ships: whole, as their files have them, and in short, as a run needs them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cache

from podplan.core import package_data
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.lint.policy import Policy, parse_policy
from podplan.yaml import parse_yaml

if TYPE_CHECKING:
    from podplan.lint.example_objects import ExampleBases

INDEX_FILE = "index.json"
BASES_FOLDER = "bases"
BUILTIN_FOLDER = "builtin"
EXCLUDED_KEYS = frozenset({"why", "links", "examples", "proof", "placeholders"})


@cache
def load_builtin_policies() -> tuple[Policy, ...]:
    """The policies that podplan ships, in the order of their ids.

    They come from the index, which `make policies` writes from the files: one short file is read faster than
    a hundred.
    """
    return tuple(
        parse_policy(data, f"{data['id']}.yaml")
        for data in json.loads(package_data.read_bundled_file("policies", INDEX_FILE))
    )


@cache
def load_example_bases() -> ExampleBases:
    """The objects that the examples of podplan's policies are patches on: those of policies/bases."""
    from podplan.lint.example_objects import ExampleBases

    folder = os.path.join(package_data.find_bundled_folder("policies"), BASES_FOLDER)
    objects: dict[str, Any] = {}
    for name in sorted(os.listdir(folder)):
        objects |= _parse_policy_file(BASES_FOLDER, name)["bases"]
    return ExampleBases(objects)


@cache
def load_policy_documents() -> list[dict[str, Any]]:
    """The data of every policy file, with reasons and examples, in the order of their ids; cached."""
    folder = package_data.find_bundled_folder("policies")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".yaml"))
    return [load_policy_document(name.removesuffix(".yaml")) for name in names]


def load_policy_document(code: str) -> dict[str, Any]:
    """The data of the file of one policy, with whole objects in its examples. Raises FileNotFoundError."""
    data = _parse_policy_file(f"{code}.yaml")
    bases = load_example_bases()
    return data | {"examples": [bases.resolve_example(example) for example in data["examples"]]}


def load_builtin_page(code: str) -> dict[str, Any]:
    """The reasons, the help and the examples of a built-in rule. Raises FileNotFoundError."""
    return _parse_policy_file(BUILTIN_FOLDER, f"{code}.yaml")


def _parse_policy_file(*names: str) -> dict[str, Any]:
    text = package_data.read_bundled_file("policies", *names)
    data: dict[str, Any] = parse_yaml(text.encode(), "/".join(("policies", *names))).documents[0].data
    return data


def render_index(files: Iterable[Mapping[str, Any]]) -> str:
    """The text of the index: one policy a line, without what only people need."""
    indexed = [{key: data[key] for key in data if key not in EXCLUDED_KEYS} for data in files]
    return "[\n" + ",\n".join(json.dumps(data, ensure_ascii=False) for data in indexed) + "\n]\n"
