"""What users type first: a misspelt command, help, -V, a revision for a path; and exit code 3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import podplan
from tests.git import commit, git_in

BASE = """\
apiVersion: podplan/v1
kind: JobProfileBase
metadata: {name: sft}
spec:
  image: registry.example.com/sft:1.0
  run: [train.py]
  processes: 8
"""
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: NAME}
spec:
  extends: [../bases/sft.yaml]
  job: PyTorchTrainingJob
"""
ENVIRONMENTS = "  environments: {dev: {replicas: 1}, prod: {launcher: torchrun}}\n"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    for folder in ("bases", "jobs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bases" / "sft.yaml").write_text(BASE)
    for name in ("a", "b", "c"):
        (tmp_path / "jobs" / f"{name}.yaml").write_text(PROFILE.replace("NAME", f"job-{name}"))
    with (tmp_path / "jobs" / "c.yaml").open("a") as stream:
        stream.write(ENVIRONMENTS)
    return tmp_path


def test_a_finding_in_a_base_names_the_profiles_once(shared: Path) -> None:
    said = podplan("check", "--select", "PROF021", ".", cwd=shared)
    assert said.code == 1
    assert said.out.count("error[PROF021") == 1
    assert said.out.count("this profile extends it") == 3
    assert "  = used by 3 files: jobs/a.yaml, jobs/b.yaml, jobs/c.yaml\n" in said.out
    assert "\n3 errors in 4 files" in said.out


def test_a_finding_in_a_base_shows_the_line_of_the_profile_that_makes_it_so(shared: Path) -> None:
    profile = shared / "jobs/a.yaml"
    profile.write_text(profile.read_text() + "  launcher: python\n")
    said = podplan("check", "--select", "PROF021", "jobs/a.yaml", cwd=shared)
    assert "launcher: python\n  |             ------ the launcher of this profile\n" in said.out


def test_lines_of_findings_in_a_base_name_profile_and_variants(shared: Path) -> None:
    lines = podplan("check", "--select", "PROF021", "--format", "concise", ".", cwd=shared).out.splitlines()
    assert [line.partition("one process ")[2] for line in lines[:-1]] == [
        "(in jobs/a.yaml)",
        "(in jobs/b.yaml)",
        "(in jobs/c.yaml, 2 of 3 instances: as written, dev)",
    ]
    annotations = podplan("check", "--select", "PROF021", "--format", "github", ".", cwd=shared).out
    assert "%0Ain jobs/c.yaml, 2 of 3 instances: as written, dev" in annotations


@pytest.mark.parametrize("arguments", [("chek",), ("chek", "jobs"), ("chek", "--preview", "jobs")])
def test_a_misspelt_command(shared: Path, arguments: tuple[str, ...]) -> None:
    said = podplan(*arguments, cwd=shared)
    assert (said.code, said.out) == (3, "")
    assert said.err == "podplan: chek: no such file or folder; did you mean podplan check?\n"


def test_a_path_that_is_like_no_command(shared: Path) -> None:
    assert podplan("jbos", cwd=shared).err == "podplan: jbos: no such file or folder\n"


def test_help_as_a_command(shared: Path) -> None:
    assert podplan("help", cwd=shared) == podplan("--help", cwd=shared)
    assert podplan("help", "why", cwd=shared) == podplan("why", "--help", cwd=shared)
    assert podplan("help", "cmp", "generate", cwd=shared) == podplan("cmp", "generate", "--help", cwd=shared)
    (shared / "help").mkdir()
    assert podplan("help", cwd=shared) == podplan("check", "help", cwd=shared)


def test_the_short_flag_of_the_version() -> None:
    assert podplan("-V") == podplan("version")


def test_a_revision_in_place_of_a_path(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 1\n")
    git = git_in(tmp_path)
    git("init", "-q")
    commit(git, "one")
    said = podplan("diff", "HEAD", cwd=tmp_path)
    assert said.code == 3
    assert said.err.endswith("before or after; to compare with HEAD, write --base HEAD\n")
    assert "--base" not in podplan("diff", "nowhere", cwd=tmp_path).err


@pytest.mark.parametrize(
    "arguments",
    [
        ("render", "."),
        ("lower", "."),
        ("lower", ".", "--compare", "x.yaml"),
        ("lower", "--from", "x.yaml"),
        ("graph", "."),
        ("why", "x.yaml", "spec"),
        ("status", "x.yaml"),
        ("status", "--from", "x.yaml"),
        ("fmt", "."),
        ("migrate", "."),
        ("import", "x.yaml"),
        ("test", "."),
    ],
    ids=" ".join,
)
def test_nothing_to_work_on_is_exit_3(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "x.yaml").write_text("a: 1\n")
    said = podplan(*arguments, cwd=tmp_path)
    assert (said.code, said.out) == (3, ""), said.err
    missing = [argument.replace("x.yaml", "missing.yaml") for argument in arguments]
    if missing != list(arguments) and "--compare" not in arguments and "--from" not in arguments:
        assert podplan(*missing, cwd=tmp_path).code == 3


def test_rules_that_need_an_inventory_are_listed_with_what_to_do() -> None:
    listed = podplan("rules", "--needs", "inventory")
    assert listed.code == 0
    assert "write one in the repository (podplan explain ClusterInventory" in listed.err
    rules = json.loads(podplan("rules", "--needs", "inventory", "--format", "json").out)["rules"]
    assert [line.split()[0] for line in listed.out.splitlines()] == [rule["code"] for rule in rules]
    assert rules
    assert all("inventory" in rule["needs"] for rule in rules)
    assert podplan("rules", "--needs", "base", "--kind", "GenericJob").code == 2
    assert podplan("explain", "ClusterInventory").code == 0
