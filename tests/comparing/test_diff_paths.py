"""Which files podplan diff compares, and under which names it tells of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podplan.cli.diff import compare_paths
from podplan.report import diff_json, diff_markdown, diff_text
from podplan.workspace.files import PathNotFound
from tests.comparing.repository import PROFILE, job, names, podplan
from tests.git import Git, commit


def test_paths_are_those_that_people_typed(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs/one.yaml").write_text(job("one", 3))
    (tmp_path / "two.yaml").unlink()
    changed, removed = ("changed", "one"), ("removed", "two")
    assert names() == [(*changed, "jobs/one.yaml"), (*removed, "two.yaml")]
    assert names("jobs") == [(*changed, "jobs/one.yaml")]
    assert names("two.yaml") == [(*removed, "two.yaml")]
    assert names(str(tmp_path / "jobs")) == [(*changed, str(tmp_path / "jobs/one.yaml"))]
    monkeypatch.chdir(tmp_path / "jobs")
    assert names() == [(*changed, "one.yaml")]
    assert names("..") == [(*changed, "../jobs/one.yaml"), (*removed, "../two.yaml")]
    assert Path.cwd() == tmp_path / "jobs"
    commit(git, "second")
    assert names("..", base="HEAD^", head="HEAD") == [
        (*changed, "../jobs/one.yaml"),
        (*removed, "../two.yaml"),
    ]


@pytest.mark.usefixtures("git")
def test_from_outside_of_the_repository(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two.yaml").write_text(job("two", 3))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert names(str(tmp_path)) == [("changed", "two", str(tmp_path / "two.yaml"))]


@pytest.mark.usefixtures("git")
def test_a_folder_that_is_new_and_what_git_ignores(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("out/\n")
    for folder in ("new", "out"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "job.yaml").write_text(job(f"in-{folder}"))
    assert names() == [("created", "in-new", "new/job.yaml")]
    assert names("new") == [("created", "in-new", "new/job.yaml")]
    assert names("out/job.yaml") == [("created", "in-out", "out/job.yaml")]  # somebody asked for it


@pytest.mark.parametrize("name", ["with space.yaml", "line\nend.yaml", "-leading.yaml", "\udcff.yaml"])
def test_names_of_files_of_any_kind(git: Git, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(job("odd"))
    commit(git, "odd")
    (tmp_path / name).write_text(job("odd", 3))
    found = compare_paths(())
    assert [one.file for one in found.jobs] == [name]
    for report in (diff_text, diff_markdown):
        text = report.render(found)
        assert text.encode()
        assert "line\nend" not in text
    assert json.loads(diff_json.render(found))["jobs"][0]["file"] == name


def test_two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for side, replicas in (("old", 2), ("new", 3)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "one.yaml").write_text(job("one", replicas))
    monkeypatch.chdir(tmp_path)
    assert names("new", base_tree="old") == [("changed", "one", "one.yaml")]
    assert names("new/one.yaml", base_tree="old/one.yaml") == [("changed", "one", "one.yaml")]
    found = compare_paths(("new",), base_tree="old")
    assert (found.base, found.head) == ("old", "new")
    with pytest.raises(PathNotFound):
        compare_paths(("new",), base_tree="older")
    assert Path.cwd() == tmp_path


def test_no_link_leads_out_of_a_revision(
    git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.yaml"
    outside.write_text(job("stolen"))
    (tmp_path / "link.yaml").symlink_to(outside)
    (tmp_path / "inside.yaml").symlink_to("two.yaml")
    commit(git, "links")
    (tmp_path / "link.yaml").unlink()
    (tmp_path / "two.yaml").write_text(job("two", 3))
    text = diff_text.render(compare_paths(()))
    assert "stolen" not in text
    assert "two" in text


def test_nothing_tells_of_the_temporary_folder(git: Git, tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text(PROFILE + "  extends: [../../outside.yaml]\n")
    for name in ("a", "b"):
        (tmp_path / f"inventory-{name}.yaml").write_text(
            f"apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {{name: {name}}}\nspec: {{}}\n"
        )
    commit(git, "outside")
    said = podplan("diff", cwd=tmp_path)
    assert said.code == 2
    assert "inventory-a.yaml and inventory-b.yaml" in said.err
    (tmp_path / "inventory-a.yaml").unlink()
    git("rm", "-q", "inventory-a.yaml")
    commit(git, "one inventory")
    (tmp_path / "profile.yaml").write_text(PROFILE)
    told = podplan("diff", cwd=tmp_path)
    assert "mended" in told.out
    for text in (said.err, told.out, told.err):
        assert "podplan-" not in text
        assert "/tree" not in text
