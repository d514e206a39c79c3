"""The policies that hold for a run: ours, and those of the folders that the configuration names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from podplan import bundled
from podplan.lint.policy import Policy, policy

INDEX = "index.json"


@cache
def ours() -> tuple[Policy, ...]:
    """The policies that podplan ships, in the order of their ids.

    They are read from one file that `make policies` writes from the files of the policies, without what only
    people and tests need.
    """
    index = json.loads(Path(bundled.folder("policies"), INDEX).read_text("utf-8"))
    return tuple(policy(data, f"{data['id']}.yaml") for data in index)


def index(files: Iterable[Mapping[str, Any]]) -> str:
    """The text of the index for the data of all policy files."""
    kept = [{key: data[key] for key in data if key not in ("why", "links", "examples")} for data in files]
    lines = (json.dumps(data, ensure_ascii=False) for data in sorted(kept, key=lambda data: str(data["id"])))
    return "[\n" + ",\n".join(lines) + "\n]\n"
