"""The policies that podplan ships: whole, as their files have them, and in short, as a run needs them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cache

from podplan.core import bundled
from podplan.core.typing import Any
from podplan.lint.policy import Policy, policy
from podplan.yaml import read

INDEX = "index.json"
NOT_IN_INDEX = frozenset({"why", "links", "examples", "proof", "placeholders"})


@cache
def ours() -> tuple[Policy, ...]:
    """The policies that podplan ships, in the order of their ids.

    They come from the index, which `make policies` writes from the files: one short file is read faster than
    a hundred.
    """
    return tuple(policy(data, f"{data['id']}.yaml") for data in json.loads(bundled.read("policies", INDEX)))


def whole() -> list[dict[str, Any]]:
    """The data of every policy file, with reasons and examples, in the order of their ids."""
    folder = bundled.folder("policies")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".yaml"))
    return [one(name.removesuffix(".yaml")) for name in names]


def one(code: str) -> dict[str, Any]:
    """The data of the file of one policy. Raises FileNotFoundError."""
    source = read(bundled.read("policies", f"{code}.yaml").encode(), f"policies/{code}.yaml")
    data: dict[str, Any] = source.documents[0].data
    return data


def index(files: Iterable[Mapping[str, Any]]) -> str:
    """The text of the index: one policy a line, without what only people need."""
    kept = [{key: data[key] for key in data if key not in NOT_IN_INDEX} for data in files]
    return "[\n" + ",\n".join(json.dumps(data, ensure_ascii=False) for data in kept) + "\n]\n"
