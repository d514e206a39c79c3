"""A new kind is one package, one line of the registry and one schema: every command works with it then."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import podplan

PACKAGE = Path(podplan.__path__[0])
REPOSITORY = PACKAGE.parents[1]
TOY = Path(__file__).parent / "toy_kind"
FAMILY = 'Family("toys.example.com", "v1", {"ToyJob": "podplan.kinds.toys.toy_job"}),'


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of podplan that has the kind, and nothing else that this one has not."""
    root = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("__pycache__")
    package = root / "compiler" / "podplan"
    shutil.copytree(PACKAGE, package, ignore=ignored)
    shutil.copytree(TOY / "toy_job", package / "kinds" / "toys" / "toy_job", ignore=ignored)
    (package / "kinds" / "toys" / "__init__.py").touch()
    registry = package / "kinds" / "registry.py"
    text = registry.read_text()
    assert text.count("\n    T9K,") == 1
    registry.write_text(text.replace("\n    T9K,", f"\n    {FAMILY}\n    T9K,"))
    for name in ("schemas", "policies"):
        shutil.copytree(REPOSITORY / name, root / name)
    shutil.copy(TOY / "ToyJob.json", root / "schemas")
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a job of the kind, and a profile of one."""
    for name in ("job.yaml", "profile.yaml"):
        shutil.copy(TOY / name, tmp_path)
    return tmp_path


def run(checkout: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "compiler"), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "podplan", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def output(checkout: Path, folder: Path, *arguments: str) -> str:
    done = run(checkout, folder, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def findings(checkout: Path, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    done = run(checkout, folder, "check", "--format", "json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return found


def test_the_copy_is_the_one_that_runs(checkout: Path, tmp_path: Path) -> None:
    assert "ToyJob" in output(checkout, tmp_path, "schema", "show")


def test_a_profile_compiles_to_the_kind(checkout: Path, project: Path) -> None:
    cr = yaml.safe_load(output(checkout, project, "render", "profile.yaml"))
    assert (cr["apiVersion"], cr["kind"]) == ("toys.example.com/v1", "ToyJob")
    assert cr["spec"]["toyReplicaSpecs"]["worker"]["replicas"] == 2


def test_a_job_is_lowered(checkout: Path, project: Path) -> None:
    pods = list(yaml.safe_load_all(output(checkout, project, "lower", "--fail-on", "never", "job.yaml")))
    assert [pod["metadata"]["name"] for pod in pods] == [
        "train-master-0",
        "train-worker-0",
        "train-worker-1",
        "train-worker-2",
    ]


def test_the_rules_about_pods_apply(checkout: Path, project: Path) -> None:
    found = findings(checkout, project, "job.yaml")
    assert {"RES", "IMG", "SEC"} <= {one["rule"][:3] for one in found}
    assert all(one["file"] == "job.yaml" and one["line"] for one in found)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("replicas: 3", "replica: 3", "SCHEMA001"),
        ("replicas: 3", "replicas: three", "SCHEMA002"),
        ("toys.example.com/v1\n", "toys.example.com/v2\n", "SCHEMA010"),
        ("toys.example.com/v1\n", "toy.example.com/v1\n", "SCHEMA010"),
        ("apiVersion: toys.example.com/v1\n", "", "SCHEMA003"),
        ("kind: ToyJob", "kind: ToyJobb", "SCHEMA010"),
    ],
)
def test_a_broken_job_is_explained(checkout: Path, project: Path, old: str, new: str, rule: str) -> None:
    job = project / "job.yaml"
    job.write_text(job.read_text().replace(old, new))
    assert rule in {one["rule"] for one in findings(checkout, project, "job.yaml")}


def test_the_schema_is_shown_and_explained(checkout: Path, tmp_path: Path) -> None:
    schema = json.loads(output(checkout, tmp_path, "schema", "show", "ToyJob"))
    assert schema["properties"]["kind"]["const"] == "ToyJob"
    list_schema = json.loads(output(checkout, tmp_path, "schema", "show", "ToyJobList"))
    assert "toys.example.com/v1" in json.dumps(list_schema["properties"]["apiVersion"])
    assert "ToyJob" in output(checkout, tmp_path, "schema", "show", "JobProfile")
    page = output(checkout, tmp_path, "explain", "ToyJob.spec.toyReplicaSpecs")
    assert "The replica types by name" in page


def test_a_value_is_traced(checkout: Path, project: Path) -> None:
    page = output(checkout, project, "why", "job.yaml", "Pod/train-worker-1:spec.containers[0].image")
    assert "job.yaml:" in page


def test_a_change_is_compared(checkout: Path, project: Path) -> None:
    job = project / "job.yaml"
    for arguments in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"),
    ):
        subprocess.run(["git", *arguments], cwd=project, check=True)
    job.write_text(job.read_text().replace("spec:\n  toy", "spec:\n  suspend: true\n  toy", 1))
    done = run(checkout, project, "diff", "--format", "json", "--fail-on", "never")
    [change] = json.loads(done.stdout)["jobs"]
    assert change["kind"] == "ToyJob"
    assert "in-place" in json.dumps(change)
    job.write_text(job.read_text().replace("replicas: 3", "replicas: 5"))
    assert "re-run" in run(checkout, project, "diff", "--format", "json", "--fail-on", "never").stdout


def test_a_job_is_imported(checkout: Path, project: Path) -> None:
    profile = yaml.safe_load(output(checkout, project, "import", "job.yaml"))
    assert profile["spec"]["job"] == "ToyJob"
    assert [role["name"] for role in profile["spec"]["roles"]] == ["Master", "Worker"]


@pytest.mark.parametrize("command", [("graph",), ("migrate",)])
def test_other_commands_take_the_kind(checkout: Path, project: Path, command: tuple[str, ...]) -> None:
    assert run(checkout, project, *command, "job.yaml").returncode in (0, 1)


def test_a_command_that_needs_more_says_so(checkout: Path, project: Path) -> None:
    done = run(checkout, project, "status", "job.yaml")
    assert done.returncode == 2
    assert "ToyJob" in done.stderr
