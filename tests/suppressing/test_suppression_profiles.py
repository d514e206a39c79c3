"""Comments and annotations in profiles, and in the bases that they derive from."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.checker.check import CheckResult, check_files
from podplan.workspace.loader import Loader
from tests.suppressing.job import WHY, beside, settings_for, silenced, told

BASE = """\
apiVersion: podplan/v1
kind: JobProfileBase
metadata: {name: base}
spec:
  job: GenericJob
  pod:
    spec:
      hostNetwork: true
"""
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: NAME}
spec:
  extends: [base.yaml]
  image: busybox:1.36
  run: {exec: [sleep, "1"]}
  replicas: 2
  environments:
    dev: {replicas: 1}
    prod: {replicas: 4}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two profiles of one base."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "base.yaml").write_text(BASE)
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(PROFILE.replace("NAME", name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*paths: str) -> CheckResult:
    return check_files(paths, settings_for(), Loader())


def test_a_comment_in_a_base_silences_what_derives_from_it(folder: Path) -> None:
    assert [(one.rule, one.location.file) for one in run(".").findings] == [("SEC001", "base.yaml")] * 2
    (folder / "x").mkdir()
    (folder / "base.yaml").write_text(beside(8, f"# podplan: ignore[SEC001] {WHY}", BASE))
    for paths in (
        ["."],
        ["./"],
        [str(folder)],
        ["a.yaml"],
        ["a.yaml", "base.yaml"],
        ["./b.yaml", "x/../base.yaml"],
    ):
        result = run(*paths)
        assert result.findings == []
        assert {Path(one.location.file).name for one in silenced(result)} == {"base.yaml"}


def test_a_comment_in_a_profile_silences_only_what_is_its_own(folder: Path) -> None:
    (folder / "a.yaml").write_text(PROFILE.replace("NAME", "a") + f"# podplan: ignore-file[SEC001] {WHY}\n")
    result = run(".")
    assert [one.location.file for one in result.findings] == ["a.yaml", "base.yaml", "base.yaml"]
    assert result.findings[0].rule == "LINT005", "the value is that of the base"
    (folder / "a.yaml").write_text(
        PROFILE.replace("NAME", "a")
        + f"  pod:  # podplan: ignore[SEC001] {WHY}\n    spec: {{hostNetwork: true}}\n"
    )
    assert [one.location.file for one in silenced(run("."))] == ["a.yaml"]


def test_unused_in_a_base_is_said_only_when_all_is_checked(folder: Path) -> None:
    (folder / "base.yaml").write_text(beside(5, f"# podplan: ignore[SEC001] {WHY}", BASE))
    assert [one.rule for one in run("base.yaml").findings] == []
    assert "LINT005" not in told(run("base.yaml", "a.yaml").findings)
    assert [one.rule for one in run(".").findings if one.location.line == 5] == ["LINT005"]


def test_an_annotation_of_a_profile_is_about_its_job(folder: Path) -> None:
    text = PROFILE.replace("{name: NAME}", "{name: a, annotations: {lint.podplan.dev/ignore: SEC001=so}}")
    (folder / "a.yaml").write_text(text)
    result = run(".")
    assert [(one.rule, one.object and one.object["name"]) for one in result.findings] == [("SEC001", "b")]
    assert [one.object and one.object["name"] for one in silenced(result)] == ["a"]
