"""What is installed and shipped: the lock, the bill of materials, and an audit that has to take place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.github_action import ROOT
from tests.test_pre_commit import SHIPPED
from tools.audit import HAS_VULNERABILITIES, NO_VULNERABILITIES, NOT_AUDITED, build_verdict, parse_pins

LOCK = (ROOT / "deploy" / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINNED = parse_pins(LOCK)
WANTED = [
    *PROJECT["project"]["dependencies"],
    *PROJECT["project"]["optional-dependencies"]["cel"],
    *PROJECT["build-system"]["requires"],
    *PROJECT["dependency-groups"]["lock"],
]


@pytest.mark.parametrize("wanted", WANTED)
def test_the_lock_has_all_that_the_project_wants(wanted: str) -> None:
    requirement = Requirement(wanted)
    version = PINNED[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version), f"make lock: {wanted} is locked at {version}"


def test_each_package_of_the_lock_has_hashes_and_no_place_it_comes_from() -> None:
    entries = re.split(r"^(?=[a-z])", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) == len(PINNED) > 10
    for entry in entries:
        assert re.search(r"^\s+--hash=sha256:[0-9a-f]{64}", entry, re.MULTILINE), entry
    assert "://" not in LOCK
    assert "/" not in LOCK.replace("sha256:", "")
    assert "--index" not in LOCK
    assert "# " + "   make lock" in LOCK


def test_the_lock_is_for_every_platform() -> None:
    """More wheels than one machine could take, and nothing that a marker leaves out but the extra."""
    marked = [line.split("==")[0] for line in LOCK.splitlines() if "==" in line and " ; " in line]
    assert marked == ["cel-expr-python"]
    binary = LOCK.split("\npyyaml==")[1].split("# via")[0]
    assert binary.count("--hash") > 20


@pytest.mark.long
def test_the_bill_of_materials_has_what_is_locked(tmp_path: Path) -> None:
    recipe = (ROOT / "Makefile").read_text().split("\nsbom:")[1].split("\n\n")[0].split("-p build\n")[1]
    written = tmp_path / "podplan.cdx.json"
    command = recipe.replace("$(BIN)/python", sys.executable).replace("\\\n", " ")
    command = command.replace("build/podplan.cdx.json", str(written))
    subprocess.run(command.split(), cwd=ROOT, check=True)
    bill = json.loads(written.read_text())
    assert not {"serialNumber", "timestamp"} & {*bill, *bill["metadata"]}  # so that it is the same each time
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "podplan"
    assert {one["name"]: one["version"] for one in bill["components"]} == PINNED
    for one in bill["components"]:
        assert one["purl"] == f"pkg:pypi/{one['name']}@{one['version']}"
        assert one["externalReferences"][0]["hashes"]


def answer(*looked_up: dict[str, Any]) -> str:
    return json.dumps({"dependencies": looked_up, "fixes": []})


GOOD: dict[str, Any] = {"name": "click", "version": "8.1.0", "vulns": []}
BAD: dict[str, Any] = {
    "name": "jinja2",
    "version": "3.1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1.6"]}],
}
SKIPPED: dict[str, Any] = {
    "name": "jinja2",
    "skip_reason": "Dependency not found on PyPI and could not be audited",
}
BOTH = {"click": "8.1.0", "jinja2": "3.1.0"}


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    [
        ([answer(GOOD, {**BAD, "vulns": []})], NO_VULNERABILITIES, "no known vulnerability in 2"),
        (
            [answer(GOOD, BAD)],
            HAS_VULNERABILITIES,
            "jinja2 3.1.0: PYSEC-1; fixed in 3.1.6; make lock takes it",
        ),
        ([answer(GOOD, SKIPPED), ""], NOT_AUDITED, "NOT AUDITED: 1 of 2 locked packages"),
        (["", ""], NOT_AUDITED, "click 8.1.0, jinja2 3.1.0"),
        ([answer(GOOD, SKIPPED), answer({**BAD, "vulns": []})], NO_VULNERABILITIES, "no known"),
        ([answer(SKIPPED), answer(BAD)], HAS_VULNERABILITIES, "NOT AUDITED: 1 of 2"),
    ],
)
def test_an_audit_passes_only_if_it_took_place(answers: list[str], code: int, said: str) -> None:
    found, lines = build_verdict(BOTH, answers)
    assert found == code
    assert said in "\n".join(lines)


def test_whatever_builds_the_wheel_has_the_files_that_its_metadata_names() -> None:
    """The image and the hooks copy a list of files; without one that pyproject.toml names, it fails."""
    named = {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    ignored = (ROOT / "deploy" / "argocd" / "Dockerfile.dockerignore").read_text().splitlines()
    assert named <= {line[1:] for line in ignored if line.startswith("!")}
    assert named <= set(SHIPPED)
