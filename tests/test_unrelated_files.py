"""Files in a folder that a command has nothing to do with: broken ones, and jobs of one name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import JOB, PROFILE, podplan

UNRELATED = {
    "a key twice": "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n"
    "  annotations: {group: batch.tensorstack.dev/v1}\n  name: a\n  name: b\n",
    "no YAML": "# compare podplan/v1 and batch.tensorstack.dev/v1beta1\na: [\n",
    "another document": "apiVersion: apps/v1\nkind: Deployment\ndata: {a: b}\n---\na: [\n# podplan/v1\n",
}


@pytest.mark.parametrize("text", UNRELATED.values(), ids=UNRELATED)
@pytest.mark.parametrize("command", [("render",), ("lower",), ("fmt", "--check"), ("migrate", "--check")])
def test_a_broken_file_that_holds_no_profile_keeps_nothing_back(
    folder: Path, command: tuple[str, ...], text: str
) -> None:
    (folder / "profile.yaml").write_text(PROFILE)
    (folder / "unrelated.yaml").write_text(text)
    assert podplan("fmt", "profile.yaml", cwd=folder).code == 0
    run = podplan(*command, ".", cwd=folder)
    assert run.code == 0, run.out + run.err
    assert "unrelated" not in run.err


@pytest.mark.parametrize("command", [("render",), ("lower",), ("fmt", "--check"), ("migrate", "--check")])
@pytest.mark.parametrize(
    "text",
    [
        PROFILE.replace("resnet", "other") + "  replicas: 3\n",
        PROFILE.replace("resnet", "other") + "  env: {A: [}\n",
        f"a: 1\n---\n{PROFILE.replace('resnet', 'other')}  env: {{A: [}}\n",
    ],
)
def test_a_broken_file_that_may_hold_a_profile_is_reported(
    folder: Path, command: tuple[str, ...], text: str
) -> None:
    (folder / "profile.yaml").write_text(PROFILE)
    (folder / "other.yaml").write_text(text)
    run = podplan(*command, ".", cwd=folder)
    assert run.code == 1
    assert "other.yaml:" in run.err


def test_a_broken_job_is_reported_where_jobs_are_lowered_and_not_where_profiles_are_rendered(
    folder: Path,
) -> None:
    (folder / "profile.yaml").write_text(PROFILE)
    (folder / "job.yaml").write_text(JOB + "  cleanUpPolicy: None\n")
    assert podplan("render", ".", cwd=folder).code == 0
    run = podplan("lower", ".", cwd=folder)
    assert (run.code, "YAML002" in run.err) == (1, True)


def test_jobs_of_one_name_are_lowered_beside_each_other(folder: Path) -> None:
    """Variants for several clusters lie in folders side by side."""
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "job.yaml").write_text(JOB)
    run = podplan("lower", "a", "b", cwd=folder)
    assert (run.code, run.out.count("name: count-worker-0\n")) == (0, 2)


@pytest.mark.parametrize("text", UNRELATED.values(), ids=UNRELATED)
def test_a_broken_file_without_jobs_breaks_no_job(tmp_path: Path, text: str) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "profile.yaml").write_text(PROFILE)
    (tmp_path / "new" / "unrelated.yaml").write_text(text)
    run = podplan("diff", "new", "--base-tree", "old", cwd=tmp_path)
    assert run.code == 0
    assert "unrelated" not in run.out
