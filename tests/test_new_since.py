"""podplan check --new-since: what a change brings, and not what it moves."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import pytest

from podplan.lint.stable_identity import remove_numbers
from tests.changing_repository import JOB, edit, lines, put, report, repository
from tests.git import Git, commit
from tests.golden_cases import podplan


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    git = repository(tmp_path)
    monkeypatch.chdir(tmp_path)
    return git


@pytest.mark.usefixtures("git")
def test_what_was_there_is_left_out_and_counted() -> None:
    said = report("--new-since", "HEAD")
    assert said["findings"] == []
    assert said["summary"]["leftOut"] == 3
    assert said["summary"]["warnings"] == 0


def test_lines_files_and_neighbours_may_move(git: Git, tmp_path: Path) -> None:
    edit(tmp_path, "jobs/text.yaml", "apiVersion", "# A comment.\n\napiVersion")
    git("mv", "jobs/vision.yaml", "jobs/sight.yaml")
    (tmp_path / "jobs/all.yaml").write_text(
        (tmp_path / "jobs/own.yaml").read_text() + "---\n" + JOB.format(name="z", base="../bases/all.yaml")
    )
    (tmp_path / "jobs/own.yaml").unlink()
    assert lines("--new-since", "HEAD") == ["jobs/all.yaml IMG002"], "that of the new job, and no other"


def test_one_more_of_a_kind_is_new(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "jobs/new.yaml", JOB.format(name="new", base="../bases/all.yaml"))
    commit(git, "second")
    assert lines("--new-since", "HEAD~1") == ["jobs/new.yaml IMG002"]
    assert lines("--new-since", "HEAD") == []


@pytest.mark.usefixtures("git")
def test_another_value_is_new(tmp_path: Path) -> None:
    edit(tmp_path, "jobs/own.yaml", "train:latest", "other:latest")
    assert [line for line in lines("--new-since", "HEAD") if "IMG" in line] == ["jobs/own.yaml IMG002"]


GPUS = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: gpus}}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers: [{{name: pytorch, image: "a:1", resources: {{limits: {{nvidia.com/gpu: {}}}}}}}]
"""


def test_other_numbers_about_one_mapping_are_not_new(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "jobs/gpus.yaml", GPUS.format(8))
    commit(git, "gpus")
    put(tmp_path, "jobs/gpus.yaml", GPUS.format(6))
    assert "has 6 GPUs" in podplan("check", "jobs/gpus.yaml").out
    assert "RES001" not in podplan("check", "--new-since", "HEAD").out
    put(tmp_path, "jobs/gpus.yaml", GPUS.format(6).replace("Master", "Worker"))
    assert "RES001" in podplan("check", "--new-since", "HEAD").out, "another map"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('"train-2" has 8 GPUs, of 64Mi each', '"train-2" has  GPUs, of  each'),
        ("PyTorchJob/job-2 runs on a100-80gb for 3.5 hours", "PyTorchJob/job-2 runs on a100-80gb for  hours"),
        ("a.yaml:12 (32 × 8)", "a.yaml:12 ( × )"),
    ],
)
def test_numbers_of_messages(message: str, expected: str) -> None:
    assert remove_numbers(message) == expected


@pytest.mark.usefixtures("git")
def test_what_a_base_brings_to_other_files_is_new_there(tmp_path: Path) -> None:
    edit(tmp_path, "bases/all.yaml", "train:1.4", "base:latest")
    edit(tmp_path, "jobs/text.yaml", "  image: registry.example.com/train:latest\n", "")
    assert [line for line in lines("--new-since", "HEAD") if "IMG" in line] == ["bases/all.yaml IMG002"]
    (tmp_path / "bases/vision.yaml").unlink()
    assert "jobs/vision.yaml PROF002" in lines("--new-since", "HEAD")


def test_a_rule_that_the_change_turns_on_finds_new_things(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "podplan.toml", 'ignore = ["IMG002"]\n')
    commit(git, "quiet")
    put(tmp_path, "podplan.toml", "")
    found = podplan("check", "--new-since", "HEAD", "--format", "concise").out
    assert found.count("IMG002") == 3
    assert "SEC0" not in found


def test_what_a_comment_no_longer_silences_is_new(git: Git, tmp_path: Path) -> None:
    edit(tmp_path, "jobs/own.yaml", "train:latest", "train:latest # podplan: ignore[IMG002] -- known")
    commit(git, "silenced")
    assert lines("--new-since", "HEAD") == []
    edit(tmp_path, "jobs/own.yaml", " # podplan: ignore[IMG002] -- known", "")
    assert lines("--new-since", "HEAD") == ["jobs/own.yaml IMG002"]


def test_a_file_that_was_broken_is_an_old_fault_under_a_new_name_too(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "jobs/bad.yaml", "apiVersion: podplan/v1\nkind: JobProfile\n\tspec: {}\n")
    commit(git, "broken")
    assert podplan("check", "--new-since", "HEAD").code == 0
    git("mv", "jobs/bad.yaml", "jobs/worse.yaml")
    assert podplan("check", "--new-since", "HEAD").code == 0
    put(tmp_path, "jobs/again.yaml", "apiVersion: podplan/v1\nkind: JobProfile\n\tspec: {}\n")
    said = podplan("check", "--new-since", "HEAD", "--format", "concise")
    assert said.code == 1
    assert "jobs/again.yaml" in said.out
    assert "jobs/worse.yaml" not in said.out


def test_the_baseline_still_counts(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "jobs/new.yaml", JOB.format(name="new", base="../bases/all.yaml"))
    assert podplan("baseline", "create").code == 0
    said = report("--new-since", "HEAD", "--baseline", "podplan-baseline.json")
    assert [one["suppressed"] for one in said["findings"]] == [True] * len(said["findings"])
    del git


def test_new_findings_of_files_that_changed(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "jobs/new.yaml", JOB.format(name="new", base="../bases/all.yaml"))
    put(tmp_path, "jobs/more.yaml", JOB.format(name="more", base="../bases/all.yaml"))
    assert lines("--new-since", "HEAD", "--affected-by", "jobs/more.yaml") == ["jobs/more.yaml IMG002"]
    assert lines("--new-since", "HEAD", "--changed-since", "HEAD") == [
        "jobs/more.yaml IMG002",
        "jobs/new.yaml IMG002",
    ]
    del git


BROKEN = 'ignore = ["NO_SUCH_RULE"]\n'


def with_broken_settings(git: Git, folder: Path) -> None:
    put(folder, "podplan.toml", BROKEN)
    commit(git, "settings")
    put(folder, "podplan.toml", 'ignore = ["IMG002"]\n')


@pytest.mark.parametrize(
    "flags", [("check", "--new-since"), ("check", "--changed-since"), ("diff", "--base")]
)
def test_what_mends_the_configuration_is_checked(git: Git, tmp_path: Path, flags: tuple[str, str]) -> None:
    with_broken_settings(git, tmp_path)
    edit(tmp_path, "jobs/own.yaml", "replicas: 2", "replicas: 3")
    run = podplan(flags[0], ".", flags[1], "HEAD")
    assert run.code == 0, run.err
    assert 'at HEAD: podplan.toml:1: ignore: no rule has the code, prefix or name "NO_SUCH_RULE"' in run.err
    assert "so HEAD is read with the settings of the work tree\n" in run.err
    commit(git, "mended")
    if flags[0] == "diff":
        run = podplan("diff", "--base", "HEAD~1", "--head", "HEAD")
        assert run.code == 0, run.err
        assert "so HEAD~1 is read with the settings of HEAD\n" in run.err
    put(tmp_path, "podplan.toml", BROKEN)
    assert podplan(flags[0], ".", flags[1], "HEAD~1..").code == 2


def test_configuration_that_is_gone_is_mended_too(git: Git, tmp_path: Path) -> None:
    with_broken_settings(git, tmp_path)
    (tmp_path / "podplan.toml").unlink()
    assert lines("--new-since", "HEAD") == []


def test_mending_writes_through_no_link_of_the_revision(git: Git, tmp_path: Path) -> None:
    """Where the revision has a link there is a folder now, and the link leads out of the repository."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "podplan.toml").write_text("")
    (tmp_path / "conf").symlink_to(outside)
    with_broken_settings(git, tmp_path)
    (tmp_path / "conf").unlink()
    put(tmp_path, "conf/podplan.toml", "preview = true\n")
    assert podplan("check", ".", "--new-since", "HEAD").code == 0
    assert (outside / "podplan.toml").read_text() == ""


def test_mending_leaves_the_folders_of_the_revision(git: Git, tmp_path: Path) -> None:
    """What is a file now was a folder, and what is a folder now was a file."""
    put(tmp_path, "was-folder.toml/jobs.toml", "")
    put(tmp_path, "was-folder.toml/other.txt", "")
    put(tmp_path, "was-file.toml", "")
    with_broken_settings(git, tmp_path)
    rmtree(tmp_path / "was-folder.toml")
    (tmp_path / "was-file.toml").unlink()
    put(tmp_path, "was-folder.toml", "")
    put(tmp_path, "was-file.toml/jobs.toml", "")
    run = podplan("check", ".", "--new-since", "HEAD")
    assert run.code == 0, run.err
