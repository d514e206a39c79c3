"""podplan check --affected-by: what is reported when files change, and that all of the tree is looked at."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from podplan.checker.affected_findings import find_affected_files
from podplan.cli import change_filter
from tests.changing_repository import BASE, JOB, edit, lines, put, report, repository
from tests.command import PROFILE
from tests.git import git_in
from tests.golden_cases import FIXTURES, podplan
from tests.test_organisation import OWN

EVERYTHING = ["jobs/own.yaml IMG002", "jobs/text.yaml IMG002", "jobs/vision.yaml IMG002"]


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_the_flag_all_is_reported() -> None:
    assert lines() == EVERYTHING


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        (["jobs/text.yaml"], ["jobs/text.yaml IMG002"]),
        (["bases/vision.yaml"], ["jobs/vision.yaml IMG002"]),
        (["bases/all.yaml"], ["jobs/text.yaml IMG002", "jobs/vision.yaml IMG002"]),
        (["bases/vision.yaml", "jobs/own.yaml"], ["jobs/own.yaml IMG002", "jobs/vision.yaml IMG002"]),
    ],
)
def test_a_base_affects_what_extends_it(changed: list[str], reported: list[str]) -> None:
    said = report("--affected-by", *changed)
    assert [f"{one['file']} {one['rule']}" for one in said["findings"]] == reported
    assert said["summary"]["files"] == 5
    unaffected = said["summary"]["notChecked"]["policies for files that the change does not affect"]
    assert unaffected == len(EVERYTHING) - len(reported)


def test_names_come_last_as_pre_commit_gives_them() -> None:
    assert lines("--affected-by", "--fail-on", "warning", "--", "jobs/text.yaml") == ["jobs/text.yaml IMG002"]


def test_from_another_folder_the_whole_repository_is_looked_at(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(there / "bases")
    assert lines("--affected-by", "vision.yaml") == ["../jobs/vision.yaml IMG002"]


def test_a_path_with_a_null_character_affects_nothing(there: Path) -> None:
    (there / "jobs/null.yaml").write_text(PROFILE.replace("spec:", 'spec:\n  extends: ["a\\0b"]'))
    assert lines("--affected-by", "bases/vision.yaml") == ["jobs/vision.yaml IMG002"]
    assert lines("--affected-by", "jobs/null.yaml") == ["jobs/null.yaml PROF002"]


def test_a_base_that_is_gone_affects_what_extended_it(there: Path) -> None:
    (there / "bases/vision.yaml").unlink()
    assert lines("--affected-by", "bases/vision.yaml") == ["jobs/vision.yaml PROF002"]
    (there / "bases/all.yaml").unlink()
    assert "jobs/text.yaml PROF002" in lines("--affected-by", "bases/all.yaml")


def test_a_fault_in_a_base_is_of_the_profile_that_comes_upon_it(there: Path) -> None:
    edit(there, "bases/all.yaml", "train:1.4", "train:latest")
    edit(there, "jobs/text.yaml", "  image: registry.example.com/train:latest\n", "")
    assert lines("--affected-by", "jobs/text.yaml") == ["bases/all.yaml IMG002"]
    assert lines("--affected-by", "jobs/own.yaml") == ["jobs/own.yaml IMG002"]


@pytest.mark.parametrize("name", ["podplan.toml", "shared.toml", "clusters/a.yaml", "rules/own.yaml"])
def test_what_governs_all_affects_all(there: Path, name: str) -> None:
    put(there, "podplan.toml", 'extend = "shared.toml"\npolicies = ["rules"]\n')
    put(there, "shared.toml", 'k8s-version = "1.33"\n')
    put(there, "rules/own.yaml", OWN)
    put(
        there,
        "clusters/a.yaml",
        "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: a}\nspec: {}\n",
    )
    assert lines("--affected-by", "jobs/own.yaml") == ["jobs/own.yaml IMG002"]
    assert lines("--affected-by", name) == EVERYTHING


def test_what_is_gone_and_named_by_nothing_may_have_been_the_inventory() -> None:
    assert lines("--affected-by", "clusters/gone.yaml") == EVERYTHING


def test_a_file_that_nothing_depends_on_affects_nothing(there: Path) -> None:
    put(there, "deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n")
    assert lines("--affected-by", "deployment.yaml") == []


def test_a_duplicate_is_found_from_either_side(there: Path) -> None:
    put(there, "jobs/copy.yaml", JOB.format(name="text", base="../bases/all.yaml"))
    for changed in ("jobs/copy.yaml", "jobs/text.yaml"):
        assert "jobs/text.yaml NAME002" in lines("--affected-by", changed)
    assert lines("--affected-by", "jobs/own.yaml") == ["jobs/own.yaml IMG002"]


def test_a_quota_is_summed_over_the_tree_and_told_of_any_of_its_jobs(there: Path) -> None:
    """The finding lies at the largest job and names five; the change may be in an eighth."""
    put(
        there,
        "clusters/a.yaml",
        "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: a}\n"
        "spec: {queues: {night: {quota: {nvidia.com/gpu: 8}}}}\n",
    )
    gpus = "  schedule: {{queue: night}}\n  resources: {{limits: {{nvidia.com/gpu: {number}}}}}\n"
    for number in range(1, 9):
        job = JOB.format(name=f"q{number}", base="../bases/all.yaml") + gpus.format(number=number)
        put(there, f"jobs/q{number}.yaml", job)
    assert "jobs/q8.yaml SCHED007" in lines("--affected-by", "jobs/q1.yaml")
    assert "jobs/q8.yaml SCHED007" not in lines("--affected-by", "jobs/own.yaml")


def test_a_rendered_file_depends_on_its_source_and_on_the_base_of_that(there: Path) -> None:
    put(there, "rendered/text.yaml", podplan("render", "jobs/text.yaml").out)
    edit(there, "bases/all.yaml", "deadline: 24h", "deadline: 12h")
    assert "rendered/text.yaml GIT001" in lines("--affected-by", "bases/all.yaml")
    assert "rendered/text.yaml GIT001" not in lines("--affected-by", "bases/vision.yaml")


def test_ignored_findings_stay_used(there: Path) -> None:
    """A comment that silences something elsewhere is not called useless because that is left out."""
    edit(there, "jobs/own.yaml", "train:latest", "train:latest # podplan: ignore[IMG002] -- known")
    said = podplan("check", "--format", "concise", "--affected-by", "jobs/own.yaml")
    assert "1 suppressed" in said.out
    said = podplan("check", "--format", "concise", "--affected-by", "jobs/text.yaml")
    assert "LINT005" not in said.out
    assert "suppressed" not in said.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--affected-by"], "wants the files that changed"),
        (["--affected-by", "--changed-since", "HEAD", "a.yaml"], "both say what changed"),
        (["--affected-by", "--fix", "jobs/own.yaml"], "not chosen by a change"),
        (["--affected-by", "-"], "standard input"),
        (["--new-since", "a", "--base", "b"], "b and a are two revisions"),
    ],
)
def test_requests_that_mean_nothing(arguments: list[str], said: str) -> None:
    ended = podplan("check", *arguments)
    assert ended.code == 2
    assert said in ended.err


def test_circles_end() -> None:
    named = {"/b": {"/a", "/c"}, "/c": {"/b"}, "/d": {"/e"}}
    assert find_affected_files({"/a"}, named) == {"/a", "/b", "/c"}


def test_the_exit_code_goes_by_what_is_reported(there: Path) -> None:
    put(there, "jobs/broken.yaml", BASE.replace("JobProfileBase", "JobProfile") + "  replica: 3\n")
    assert podplan("check", "--affected-by", "jobs/broken.yaml").code == 1
    assert podplan("check", "--affected-by", "jobs/own.yaml").code == 0
    assert podplan("check", "--affected-by", "--fail-on", "warning", "jobs/own.yaml").code == 1


@pytest.fixture
def gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of the gallery, in a repository, and two jobs in one file, the second one with a base."""
    folder = tmp_path / "gallery"
    shutil.copytree(FIXTURES / "gallery", folder)
    put(folder, "two.yaml", TWO_JOBS)
    put(folder, "all.yaml", BASE)
    git_in(folder)("init", "-q", "-b", "main")
    monkeypatch.chdir(folder)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.yaml"))


TWO_JOBS = "\n---\n".join(
    [
        JOB.format(name="first", base="").replace("extends: []", "job: PyTorchTrainingJob"),
        JOB.format(name="second", base="all.yaml"),
    ]
)


@pytest.mark.long
def test_what_is_not_evaluated_would_not_be_reported(
    gallery: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The findings are those of a run that evaluates all policies, whichever file changes."""
    asked = ("check", "--format", "json", "--affected-by")
    evaluated_less = 0
    for file in gallery:
        quick = json.loads(podplan(*asked, file).out)
        with monkeypatch.context() as patched:
            patched.setattr(change_filter, "_has_only_jobs", lambda _: False)
            complete = json.loads(podplan(*asked, file).out)
        assert quick["findings"] == complete["findings"], file
        evaluated_less += quick["summary"]["notChecked"] != complete["summary"]["notChecked"]
    assert evaluated_less > len(gallery) / 2
