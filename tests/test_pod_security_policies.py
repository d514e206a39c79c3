"""The policies of the Pod Security Standards: one for each control, and their examples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from podplan.core.findings import to_json_pointer
from podplan.core.package_data import find_bundled_folder
from podplan.kubernetes import DEFAULT_VERSION
from podplan.lint.pod_security import CONTROLS, find_violations_beyond_baseline
from podplan.lint.registry import load_policy_document
from tests.lowered_objects import Object
from tests.rows import each_row


@cache
def policy(file: Path) -> Object:
    return load_policy_document(file.stem)


POLICIES = [
    file
    for file in sorted(Path(find_bundled_folder("policies")).glob("SEC*.yaml"))
    if policy(file)["check"] == "pod-security"
]


def objects() -> Iterator[Any]:
    for file in POLICIES:
        # A CR has its Pods only once it is lowered: tests/test_policies.py asks about those.
        for example in (one for one in policy(file)["examples"] if one["object"]["kind"] == "Pod"):
            yield pytest.param(policy(file), example, id=f"{file.stem} {example['name']}")


def test_each_control_has_one_policy() -> None:
    assert [policy(file)["params"]["control"] for file in POLICIES] == list(CONTROLS)
    assert [policy(file)["id"] for file in POLICIES] == [file.stem for file in POLICIES]
    assert len({policy(file)["name"] for file in POLICIES}) == len(CONTROLS)


@pytest.mark.parametrize("file", POLICIES, ids=lambda file: file.stem)
def test_a_policy_says_what_its_control_is(file: Path) -> None:
    data = policy(file)
    level = CONTROLS[data["params"]["control"]].level
    assert data["params"] == {"control": data["params"]["control"], "level": level}
    assert data["severity"] == {"baseline": "error", "restricted": "info"}[level]
    assert data["basis"] == "documented"
    assert data["scope"] == {"level": "lowered", "kinds": ["Pod"]}
    assert data["check"] == "pod-security"
    assert level in data["why"]
    assert {example["verdict"] for example in data["examples"]} == {"bad", "good", "near"}


@each_row(("data", "example"), list(objects()))
def test_examples(data: Object, example: Object) -> None:
    at = {}
    for control in CONTROLS:
        if found := find_violations_beyond_baseline(example["object"], control, DEFAULT_VERSION):
            at[control] = [to_json_pointer(path) for path, _ in found]
    if data["params"]["control"] == "privileged":
        at.pop("allowPrivilegeEscalation", None)  # no privileged container may say that it cannot gain any
    assert at == ({data["params"]["control"]: example["at"]} if example["verdict"] == "bad" else {})
