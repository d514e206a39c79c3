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
from tests.thoroughness import mark_others

PACKAGE = Path(podplan.__path__[0])
REPOSITORY = PACKAGE.parents[1]
TOY = Path(__file__).parent / "toy_kind"
FAMILY = 'Family("toys.example.com", "v1", {"ToyJob": "podplan.kinds.toys.toy_job"}),'


IGNORED = shutil.ignore_patterns("*.pyc.*")  # bytecode that another process is writing


def add_kind(root: Path, package: str, line: str) -> Path:
    """Adds the kind to a copy of podplan: its package, its line and its schema."""
    folder = root / "compiler" / "podplan" / "kinds" / package
    shutil.copytree(TOY / "toy_job", folder / "toy_job", ignore=IGNORED)
    (folder / "__init__.py").touch()
    registry = root / "compiler" / "podplan" / "kinds" / "registry.py"
    text = registry.read_text()
    assert text.count("\n    T9K,") == 1
    registry.write_text(text.replace("\n    T9K,", f"\n    {line}\n    T9K,"))
    return folder


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of podplan that has the kind, and nothing else that this one has not."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(PACKAGE, root / "compiler" / "podplan", ignore=IGNORED)
    for name in ("schemas", "policies"):
        shutil.copytree(REPOSITORY / name, root / name)
    add_kind(root, "toys", FAMILY)
    shutil.copy(TOY / "ToyJob.json", root / "schemas")
    return root


@pytest.fixture(scope="module")
def crowded(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a kind of that name in a group that others share, and in another version of the first."""
    root = tmp_path_factory.mktemp("crowded") / "checkout"
    shutil.copytree(checkout, root, ignore=IGNORED)
    for package, group, version, options in (
        ("shared", "shared.example.org", "v1", ", owns_group=False"),
        ("newer", "toys.example.com", "v2", ""),
    ):
        line = f'Family("{group}", "{version}", {{"ToyJob": "podplan.kinds.{package}.toy_job"}}{options}),'
        folder = add_kind(root, package, line) / "toy_job"
        schema = f"ToyJob.{package}"
        spec = folder / "spec.py"
        spec.write_text(
            spec.read_text().replace('plural="toyjobs",', f'plural="toyjobs", schema="{schema}",')
        )
        text = (TOY / "ToyJob.json").read_text().replace("toys.example.com/v1", f"{group}/{version}")
        (root / "schemas" / f"{schema}.json").write_text(text)
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


def commit(folder: Path) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "a")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


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
    mark_others(
        [
            ("replicas: 3", "replica: 3", "SCHEMA001"),
            ("replicas: 3", "replicas: three", "SCHEMA002"),
            ("toys.example.com/v1\n", "toys.example.com/v2\n", "SCHEMA010"),
            ("toys.example.com/v1\n", "toy.example.com/v1\n", "SCHEMA010"),
            ("apiVersion: toys.example.com/v1\n", "", "SCHEMA003"),
            ("kind: ToyJob", "kind: ToyJobb", "SCHEMA010"),
        ],
        every=3,
        columns=3,
    ),
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
    commit(project)
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


# --- several groups and versions have a kind of one name

OLD, NEW, SHARED = "toys.example.com/v1", "toys.example.com/v2", "shared.example.org/v1"


def test_an_ambiguous_kind_is_named_in_full(crowded: Path, project: Path) -> None:
    done = run(crowded, project, "check", "profile.yaml")
    assert done.returncode == 1
    for api_version in (OLD, NEW, SHARED):
        assert f"{api_version}/ToyJob" in done.stdout
    profile = project / "profile.yaml"
    profile.write_text(profile.read_text().replace("job: ToyJob", f"job: {SHARED}/ToyJob"))
    cr = yaml.safe_load(output(crowded, project, "render", "profile.yaml"))
    assert (cr["apiVersion"], cr["kind"]) == (SHARED, "ToyJob")


@pytest.mark.parametrize("api_version", [OLD, NEW, SHARED])
def test_each_has_its_schema_and_pages(crowded: Path, project: Path, api_version: str) -> None:
    schema = json.loads(output(crowded, project, "schema", "show", f"{api_version}/ToyJob"))
    assert schema["properties"]["apiVersion"]["const"] == api_version
    assert output(crowded, project, "schema", "show", f"{api_version}/ToyJobList")
    page = output(crowded, project, "explain", f"{api_version}/ToyJob.spec.toyReplicaSpecs")
    assert page.startswith(f"{api_version}/ToyJob.spec.toyReplicaSpecs")
    assert run(crowded, project, "schema", "show", "ToyJob").returncode == 2


@pytest.mark.parametrize("api_version", [OLD, NEW, SHARED])
def test_each_is_checked_by_its_own_schema(crowded: Path, project: Path, api_version: str) -> None:
    job = project / "job.yaml"
    job.write_text(job.read_text().replace(OLD, api_version))
    assert not [one for one in findings(crowded, project, "job.yaml") if one["rule"].startswith("SCHEMA")]
    profile = yaml.safe_load(output(crowded, project, "import", "job.yaml"))
    assert profile["spec"]["job"] == f"{api_version}/ToyJob"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", f"{SHARED}"),
        ("apiVersion: shared.example.og/v1\n", SHARED),
        ("apiVersion: toys.example.com/v3\n", "toys.example.com"),
        ("apiVersion: shared.example.org/v2\n", SHARED),
    ],
)
def test_a_near_miss_names_the_group_that_was_meant(
    crowded: Path, project: Path, line: str, expected: str
) -> None:
    job = project / "job.yaml"
    job.write_text(job.read_text().replace(f"apiVersion: {OLD}\n", line))
    found = [
        one for one in findings(crowded, project, "job.yaml") if one["rule"] in ("SCHEMA003", "SCHEMA010")
    ]
    assert len(found) == 1
    assert expected in f"{found[0]['message']} {found[0].get('help')}"


def test_other_kinds_of_a_shared_group_are_none_of_ours(crowded: Path, project: Path) -> None:
    other = project / "other.yaml"
    other.write_text(f"apiVersion: {SHARED}\nkind: Notebook\nmetadata: {{name: a}}\n")
    assert findings(crowded, project, "other.yaml") == []
    other.write_text(f"apiVersion: {SHARED}\nkind: ToyJobs\nmetadata: {{name: a}}\nspec: {{}}\n")
    assert [one["rule"] for one in findings(crowded, project, "other.yaml")] == ["SCHEMA010"]


def test_two_groups_may_have_a_job_of_one_name(crowded: Path, project: Path) -> None:
    profile = (project / "profile.yaml").read_text()
    for number, api_version in enumerate((OLD, SHARED)):
        (project / f"profile-{number}.yaml").write_text(
            profile.replace("job: ToyJob", f"job: {api_version}/ToyJob")
        )
    (project / "profile.yaml").unlink()
    (project / "job.yaml").unlink()
    done = run(crowded, project, "render", "-o", "out", "profile-0.yaml", "profile-1.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    names = sorted(path.name for path in (project / "out").glob("*toyjob*"))
    assert names == ["toyjob.shared.example.org-compiled.yaml", "toyjob.toys.example.com-compiled.yaml"]
    names_rules = {one["rule"] for one in findings(crowded, project, "out") if one["rule"].startswith("NAME")}
    assert names_rules == {"NAME003"}  # their Pods have the same names; the jobs are not the same job


def test_diff_pairs_a_job_with_that_of_its_group(crowded: Path, project: Path) -> None:
    (project / "profile.yaml").unlink()
    text = (project / "job.yaml").read_text()
    (project / "job.yaml").write_text(text + "---\n" + text.replace(OLD, SHARED))
    commit(project)
    changed = text.replace(OLD, SHARED).replace("replicas: 3", "replicas: 5")
    (project / "job.yaml").write_text(changed + "---\n" + text)
    jobs = json.loads(run(crowded, project, "diff", "--format", "json", "--fail-on", "never").stdout)["jobs"]
    assert len(jobs) == 1
    assert "replicas" in json.dumps(jobs[0])


def test_settings_are_of_one_kind(crowded: Path, project: Path) -> None:
    config = project / "podplan.toml"
    config.write_text(f'[lowering."{SHARED}/ToyJob"]\n"pod.name" = "{{base}}-{{index}}"\n')
    assert run(crowded, project, "check", "--fail-on", "never", "job.yaml").returncode == 0
    config.write_text('[lowering.ToyJob]\n"pod.name" = "{base}-{index}"\n')
    done = run(crowded, project, "check", "job.yaml")
    assert done.returncode == 2
    assert "ToyJob" in done.stderr
