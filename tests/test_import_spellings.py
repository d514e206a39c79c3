"""CRs with old spellings, which the profile has right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from podplan.core import package_data
from podplan.core.findings import to_json_pointer
from podplan.core.structural_diff import is_same_data
from podplan.schema import validate_cr
from podplan.tools.importer import drop_unknown_fields, import_cr
from tests.imported_profiles import FIXTURES, compiled, cr_of

OLD = json.loads(package_data.read_bundled_file("schemas", "old-spellings.json"))
OLD_CASES = yaml.safe_load((FIXTURES / "old-spellings.yaml").read_text())
RIGHT = "; the profile has it right"


@pytest.mark.parametrize("case", OLD_CASES, ids=lambda case: case["said"][0])
def test_old_spellings_are_right_in_the_profile(case: Any) -> None:
    cr = cr_of(case["kind"], case["spec"])
    text, problems = import_cr(cr)
    told = [f"{to_json_pointer(p.path)} {p.message}" for p in problems]
    assert told == [f"{line}{RIGHT}" for line in case["said"]]
    assert {p.rule for p in problems} == {"PROF026"}
    rendered = compiled(text)
    assert rendered["spec"] == case["now"]
    assert validate_cr(rendered, "1.34").diagnostics == []


def test_every_old_spelling_has_a_case() -> None:
    said = [line.split()[0] for case in OLD_CASES for line in case["said"]]
    now = [line for case in OLD_CASES for line in pointers(case["now"], "/spec")]
    for entries, places in ((OLD["fields"], said), (OLD["words"], now)):
        for entry in entries:
            steps = entry["path"].replace("*", "[a-z0-9]+").replace("replicaSpecs", "replica(Specs|sSpec)")
            place = re.compile("/" + steps.replace(".", "/"))
            assert entry["path"].startswith("status.") or any(map(place.fullmatch, places)), entry["path"]


def pointers(data: Any, place: str) -> Iterator[str]:
    yield place
    for step, below in data.items() if isinstance(data, dict) else ():
        yield from pointers(below, f"{place}/{step}")
    for step, below in enumerate(data) if isinstance(data, list) else ():
        yield from pointers(below, f"{place}/{step}")


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("DeepSpeedJob", {"config": {"slotPerWorker": 1, "slotsPerWorker": 2}}),
        ("DeepSpeedJob", {"config": {"run": {"python": "a.py 'b"}}}),
        ("DeepSpeedJob", {"config": 7, "worker": {"slotsPerWorker": 2}}),
        ("GenericJob", {"runPolicy": {"cleanUpPolicy": "All", "backoffLimit": 1}}),
        ("GenericJob", {"cleanUpPolicy": "somehow"}),
        ("PyTorchTrainingJob", {"elastic": {"minReplicas": 1}, "torchrunConfig": {"minNodes": 2}}),
    ],
)
def test_what_cannot_be_repaired_is_as_the_api_server_stores_it(kind: str, spec: Any) -> None:
    cr = cr_of(kind, spec)
    kept, unknown = drop_unknown_fields(cr)
    text, problems = import_cr(cr)
    assert len(problems) == len(unknown)
    assert is_same_data(compiled(text), kept)
