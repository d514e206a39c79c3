"""podplan diff on the command line: revisions, folders, exit codes, and repositories of every kind."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from podplan.cli.diff import compared
from podplan.reading.files import NoSuchPath
from podplan.report import diff_json, diff_markdown, diff_text
from podplan.requests import RequestError
from tests import command
from tests.golden import Said
from tests.golden import podplan as here
from tests.test_revisions import Git, commit, git_in

CR = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: NAME}
spec:
  replicaSpecs:
  - type: worker
    replicas: 2
    template: {spec: {containers: [{name: main, image: "busybox:1.36", args: [echo, hello]}]}}
"""
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: profile}
spec:
  job: GenericJob
  image: registry.example.com/a:1
  run: [train.py]
  replicas: 2
"""


def job(name: str, replicas: int = 2) -> str:
    return CR.replace("NAME", name).replace("replicas: 2", f"replicas: {replicas}")


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A repository with two jobs, in ``jobs/`` and beside it; one stands at its top."""
    git = git_in(tmp_path)
    git("init", "-q", "-b", "main")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/one.yaml").write_text(job("one"))
    (tmp_path / "two.yaml").write_text(job("two"))
    commit(git, "first")
    monkeypatch.chdir(tmp_path)
    return git


def podplan(*arguments: str, cwd: Path) -> Said:
    """``podplan arguments`` in this process, standing in a folder."""
    with chdir(cwd):
        return here(*arguments)


def names(*paths: str, **flags: object) -> list[tuple[str, str, str]]:
    """What becomes of which job in which file."""
    return [(one.what, one.name, one.file) for one in compared(paths, **flags).jobs]


def test_exit_codes(git: Git, tmp_path: Path) -> None:
    said = podplan("diff", cwd=tmp_path)
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith("→ work tree\n\nno change: both sides make the same objects\n")
    (tmp_path / "two.yaml").write_text(job("two", 3))
    assert podplan("diff", cwd=tmp_path).code == 0
    assert podplan("diff", "--exit-code", cwd=tmp_path).code == 1
    (tmp_path / "two.yaml").write_text(job("two").replace("replicas: 2", "replica: 2"))
    broken = podplan("diff", "--format", "json", cwd=tmp_path)
    assert broken.code == 1
    assert json.loads(broken.out)["jobs"][0]["findings"][0]["file"] == "two.yaml"
    assert podplan("diff", "--fail-on", "never", cwd=tmp_path).code == 0
    commit(git, "broken")
    (tmp_path / "two.yaml").write_text(job("two").replace("replicas: 2", "replica: 2") + "# still\n")
    assert podplan("diff", cwd=tmp_path).code == 0  # what was broken before is not broken by the change


@pytest.mark.usefixtures("git")
def test_a_summary_leaves_changes_out(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(job("two", 3))
    said = podplan("diff", "--summary", "--exit-code", cwd=tmp_path)
    assert said.code == 1
    assert "1 to re-run" in said.out
    assert "two.yaml: 2 → 3 Pods" in said.out
    assert "two-worker-2" not in said.out


def test_nothing_to_compare(git: Git, tmp_path: Path) -> None:
    git("rm", "-q", "-r", "jobs", "two.yaml")
    (tmp_path / "readme.yaml").write_text("a: 1\n")
    commit(git, "empty")
    said = podplan("diff", cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert "no training job on either side" in said.err


def test_what_cannot_be_compared_is_said_in_a_sentence(git: Git, tmp_path: Path) -> None:
    for arguments, sentence in (
        (("--base", "nowhere"), 'there is no revision "nowhere"'),
        (("--base", "--output=x"), "cannot be the name of a revision"),
        (("-",), "files and folders of one repository"),
        (("--base-tree", "jobs", "--base", "main"), "without --base"),
        (("-e", "prod"), 'no profile has the environment "prod", before or after; no profile has any'),
    ):
        said = podplan("diff", *arguments, cwd=tmp_path)
        assert (said.code, said.out) == (2, "")
        assert sentence in said.err
    said = podplan("diff", "nowhere.yaml", cwd=tmp_path)
    assert said.code == 3
    assert "nowhere.yaml: no such file or folder, before or after" in said.err
    assert git("status", "--porcelain") == ""


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
    found = compared(())
    assert [one.file for one in found.jobs] == [name]
    for report in (diff_text, diff_markdown):
        text = report.render(found)
        assert text.encode()
        assert "line\nend" not in text
    assert json.loads(diff_json.render(found))["jobs"][0]["file"] == name


def test_each_side_has_its_own_configuration_and_inventory(git: Git, tmp_path: Path) -> None:
    (tmp_path / "podplan.toml").write_text('exclude = ["jobs/*"]\n')
    assert names() == [("removed", "one", "jobs/one.yaml")]
    assert names(isolated=True) == []
    (tmp_path / "podplan.toml").write_text("exclude = 3\n")
    commit(git, "broken configuration")
    (tmp_path / "podplan.toml").write_text("# mended\nexclude = 3\n")
    with pytest.raises(RequestError, match=r"^at HEAD: podplan\.toml:1: "):
        compared(())


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
    text = diff_text.render(compared(()))
    assert "stolen" not in text
    assert "two" in text


def test_the_base_is_where_the_branch_left(git: Git, tmp_path: Path) -> None:
    git("checkout", "-q", "-b", "topic")
    (tmp_path / "two.yaml").write_text(job("two", 3))
    commit(git, "topic")
    git("checkout", "-q", "main")
    (tmp_path / "three.yaml").write_text(job("three"))
    commit(git, "main goes on")
    git("checkout", "-q", "topic")
    assert names(base="main") == [("changed", "two", "two.yaml")]
    assert names(base="main..") == [("changed", "two", "two.yaml"), ("removed", "three", "three.yaml")]
    assert compared((), base="main..").base.startswith("main (")


def test_shallow_clones(git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (tmp_path / "two.yaml").write_text(job("two", 3))
    commit(git, "second")
    folders = {depth: tmp_path_factory.mktemp("clones") / str(depth) for depth in (1, 2)}
    for depth, folder in folders.items():
        git("clone", "-q", f"--depth={depth}", f"file://{tmp_path}", str(folder))
    assert names(str(folders[2]), base="HEAD^1") == [("changed", "two", str(folders[2] / "two.yaml"))]
    said = podplan("diff", "--base", "HEAD^1", cwd=folders[1])
    assert said.code == 2
    assert "fetch-depth: 2" in said.err


def test_repositories_without_a_past(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(job("one"))
    said = podplan("diff", cwd=tmp_path)
    assert said.code == 2
    assert "is not a git repository; run this in a clone, or compare two folders" in said.err
    git_in(tmp_path)("init", "-q")
    said = podplan("diff", cwd=tmp_path)
    assert said.code == 2
    assert "no commits yet" in said.err


def test_worktrees_and_sparse_checkouts(git: Git, tmp_path_factory: pytest.TempPathFactory) -> None:
    linked = tmp_path_factory.mktemp("trees") / "linked"
    git("worktree", "add", "-q", str(linked), "-b", "other")
    (linked / "two.yaml").write_text(job("two", 3))
    expected = [("changed", "two", str(linked / "two.yaml"))]
    assert names(str(linked), base="main") == expected
    git_in(linked)("sparse-checkout", "set", "--no-cone", "/two.yaml")
    assert not (linked / "jobs").exists()
    assert names(str(linked), base="main") == expected  # what is not checked out is not removed


def test_two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for side, replicas in (("old", 2), ("new", 3)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "one.yaml").write_text(job("one", replicas))
    monkeypatch.chdir(tmp_path)
    assert names("new", base_tree="old") == [("changed", "one", "one.yaml")]
    assert names("new/one.yaml", base_tree="old/one.yaml") == [("changed", "one", "one.yaml")]
    found = compared(("new",), base_tree="old")
    assert (found.base, found.head) == ("old", "new")
    with pytest.raises(NoSuchPath):
        compared(("new",), base_tree="older")
    assert Path.cwd() == tmp_path


def test_environments_are_asked_for_on_both_sides(git: Git, tmp_path: Path) -> None:
    under = "  environments:\n    dev: {replicas: 1}\n    prod: {replicas: 4, namespace: prod}\n"
    (tmp_path / "profile.yaml").write_text(PROFILE + under)
    commit(git, "environments")
    (tmp_path / "profile.yaml").write_text(
        PROFILE
        + under.replace("replicas: 1", "replicas: 3").replace("replicas: 4", "replicas: 5")
        + "    new: {}\n"
    )
    every = compared(("profile.yaml",))
    assert sorted((one.what, one.environment) for one in every.jobs) == [
        ("changed", "dev"),
        ("changed", "prod"),
        ("created", "new"),
    ]
    assert [one.environment for one in compared(("profile.yaml",), environments=("dev",)).jobs] == ["dev"]
    assert [one.environment for one in compared(("profile.yaml",), environments=("new",)).jobs] == ["new"]
    with pytest.raises(RequestError, match="there are dev, new, prod"):
        compared(("profile.yaml",), environments=("stage",))


@pytest.mark.usefixtures("git")
def test_what_is_rendered_from_a_profile_is_no_second_job(tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text(PROFILE)
    said = podplan("render", "profile.yaml", "-o", "rendered", cwd=tmp_path)
    assert said.code == 0
    assert names() == [("created", "profile", "profile.yaml")]


def test_ten_thousand_replicas_are_one_line(git: Git, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(job("two", 10_000))
    commit(git, "many")
    (tmp_path / "two.yaml").write_text(job("two", 10_000).replace("1.36", "1.37"))
    change = compared(()).changes[0]
    assert (change.part, change.before, change.after, change.objects) == (
        "spec.containers[main].image",
        "busybox:1.36",
        "busybox:1.37",
        10_000,
    )


@pytest.mark.usefixtures("git")
def test_more_objects_than_the_limit(tmp_path: Path) -> None:
    said = command.podplan("diff", cwd=tmp_path, env={"PODPLAN_LIMITS": "objects=1"})
    assert (said.code, said.out) == (4, "")
    assert "PODPLAN_LIMITS=objects=N" in said.err


@pytest.mark.usefixtures("git")
def test_jobs_of_many_files_are_told_together(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"job-{number:02}.yaml").write_text(job(f"job-{number:02}"))
    found = diff_text.render(compared(()))
    assert (
        "+ created  30 GenericJobs job-00, job-01, job-02 and 27 more\n"
        "           job-00.yaml, job-01.yaml, job-02.yaml and 27 more: 60 Pods\n"
    ) in found


def hostile(tmp_path: Path, write: Callable[[str], str]) -> str:
    """The Markdown of a change that brings text from a stranger."""
    (tmp_path / "two.yaml").write_text(job("two").replace("hello", write("hello")))
    return diff_markdown.render(compared(()))


@pytest.mark.usefixtures("git")
@pytest.mark.parametrize(
    "text",
    [
        "````\\n# a heading",
        "</details><img src=x>",
        "@everybody",
        "::error file=x::y",
        "\\e[31mred",
        "| a | b |",
    ],
)
def test_no_text_of_files_is_markup(tmp_path: Path, text: str) -> None:
    found = hostile(tmp_path, lambda _: f'"{text}"')
    fence = re.search(r"^(`{3,})diff$", found, re.MULTILINE)
    assert fence is not None
    body = found.partition(f"{fence[1]}diff\n")[2].partition(f"\n{fence[1]}\n")[0]
    assert fence[1] not in body
    outside = found.replace(body, "")
    for markup in ("# a heading", "<img", "@everybody", "::error"):
        assert markup not in outside
    assert not any(line.startswith("::") for line in found.splitlines())
    assert "\x1b" not in found


def test_no_text_of_files_is_a_command_of_a_workflow(git: Git, tmp_path: Path) -> None:
    script = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n"
    script += "    ::error::y\n    ##[group]\n    two\n"
    (tmp_path / "map.yaml").write_text(script)
    commit(git, "script")
    (tmp_path / "map.yaml").write_text(script.replace("two", "three"))
    (tmp_path / "::error file=x::y.yaml").write_text(job("three"))
    found = diff_text.render(compared(()))
    assert "| ## [group]" in found
    assert not [line for line in found.splitlines() if line.lstrip().startswith("::")]


@pytest.mark.usefixtures("git")
def test_names_of_files_and_jobs_are_no_markup_either(tmp_path: Path) -> None:
    (tmp_path / "@all <b> `x` [y](z) | w.yaml").write_text(job("three"))
    found = diff_markdown.render(compared(()))
    row = next(line for line in found.splitlines() if "three" in line)
    assert row.count(" | ") == 4
    assert not {"@all", "<b>", "`x`", "[y]"} & set(re.findall(r"@all|<b>|`x`|\[y\]", row))


def test_a_comment_has_room_for_it(git: Git, tmp_path: Path) -> None:
    words = [f"word-{number}-{'x' * 60}" for number in range(400)]
    env = ", ".join(f"{{name: V{number}, value: {word}}}" for number, word in enumerate(words))
    for number in range(60):
        (tmp_path / f"job-{number}.yaml").write_text(job(f"job-{number}"))
    (tmp_path / "two.yaml").write_text(job("two").replace("args: [echo, hello]", f"env: [{env}]"))
    commit(git, "long")
    (tmp_path / "two.yaml").write_text(
        (tmp_path / "two.yaml").read_text().replace("word-", "another-").replace("1.36", "1.37")
    )
    for number in range(60):
        text = job(f"job-{number}").replace("replicas: 2", f"wrong{number}: 2")
        (tmp_path / f"job-{number}.yaml").write_text(text)
    found = compared(())
    text = diff_markdown.render(found)
    assert len(text) <= diff_markdown.MAX_CHARACTERS
    assert "more changes have no room here" in text
    assert "more have no room here" in text
    assert text.endswith("</details>\n\n> 60 broken or mended jobs are in none of the sums\n")
    small = diff_markdown.render(found, room=5_000)
    assert len(small) <= 5_000


def test_the_place_where_one_stands_is_the_same_after_an_error(git: Git, tmp_path: Path) -> None:
    (tmp_path / "podplan.toml").write_text("exclude = 3\n")
    commit(git, "broken configuration")
    before = os.getcwd()
    with pytest.raises(RequestError):
        compared(())
    assert os.getcwd() == before


def test_the_fault_of_a_base_that_names_the_kind_breaks_the_jobs_on_it(git: Git, tmp_path: Path) -> None:
    base = PROFILE.replace("JobProfile", "JobProfileBase").replace("metadata: {name: profile}\n", "")
    (tmp_path / "base.yaml").write_text(base)
    profile = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: profile}\n"
    (tmp_path / "profile.yaml").write_text(profile + "spec: {extends: [base.yaml]}\n")
    commit(git, "a profile on a base")
    (tmp_path / "base.yaml").write_text(base + "  deadlin: 24h\n")
    (broken,) = compared(()).jobs
    assert (broken.what, broken.kind, broken.name) == ("broken", "GenericJob", "profile")


def test_short_values_of_secret_variables_are_hidden_where_they_are(git: Git, tmp_path: Path) -> None:
    env = 'env: [{name: DB_PASSWORD, value: "1"}, {name: LEVEL, value: abc}], args:'
    (tmp_path / "two.yaml").write_text(job("two").replace("args:", env))
    (tmp_path / "profile.yaml").write_text(PROFILE + '  env: {DB_PASSWORD: "1", LEVEL: abc}\n')
    commit(git, "a variable")
    for name in ("two.yaml", "profile.yaml"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text.replace('"1"', "xyz").replace("abc", "xyzz"))
    for level in ("source", "cr", "lowered"):
        shown = diff_text.render(compared((), level=level))
        assert "xyzz" in shown
        assert not re.search(r"\bxyz\b", shown)
    (tmp_path / "two.yaml").write_text(job("two").replace("args:", env.replace('"1"', "xyz")))
    commit(git, "another")
    (tmp_path / "two.yaml").write_text(job("two"))
    assert not re.search(r"\bxyz\b", diff_text.render(compared(())))


def test_a_job_of_an_environment_is_told_with_it(git: Git, tmp_path: Path) -> None:
    environments = "  environments:\n    dev: {namespace: dev}\n    prod: {namespace: prod}\n    test: {}\n"
    (tmp_path / "profile.yaml").write_text(PROFILE + environments)
    commit(git, "environments")
    moved = environments.replace("namespace: dev", "namespace: new").replace("prod}", "prod, replicas: 3}")
    (tmp_path / "profile.yaml").write_text(PROFILE + moved.replace("test: {}", "test: {replicas: 4}"))
    shown = diff_text.render(compared(()))
    assert "dev/profile → new/profile" in shown
    assert "GenericJobs prod/profile and profile (test)" in shown


def test_a_kind_that_is_misspelt_removes_no_job(git: Git, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(job("two").replace("GenericJob", "genericjob"))
    assert names() == [("broken", "two", "two.yaml")]
    assert compared(()).impact.pods == (2, 2)
    commit(git, "misspelt")
    (tmp_path / "two.yaml").write_text(job("two"))
    assert names() == [("mended", "two", "two.yaml")]


def test_an_inventory_that_is_still_broken_is_no_job(git: Git, tmp_path: Path) -> None:
    inventory = "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: main}\nspec: {nodes: []}\n"
    (tmp_path / "inventory.yaml").write_text(inventory)
    commit(git, "a broken inventory")
    (tmp_path / "two.yaml").write_text(job("two", 3))
    assert compared(()).notes == ()


def test_a_quota_that_changes_is_told_though_no_job_does(git: Git, tmp_path: Path) -> None:
    inventory = "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: main}\nspec:\n"
    inventory += "  queues: {a: {quota: {nvidia.com/gpu: 64}}}\n"
    (tmp_path / "inventory.yaml").write_text(inventory)
    gpus = "schedule: {queue: a}\n  resources: {limits: {nvidia.com/gpu: 8}}\n  replicas: 2"
    (tmp_path / "profile.yaml").write_text(PROFILE.replace("replicas: 2", gpus))
    commit(git, "a queue")
    (tmp_path / "inventory.yaml").write_text(inventory.replace("64", "8"))
    found = compared(())
    assert (found.jobs, found.is_empty) == ((), False)
    assert "the quota goes from 64 to 8, so not all\n        run at once)" in diff_text.render(found)
    (queue,) = diff_json.impact(found)["queues"]
    assert (queue["before"], queue["after"], queue["quota"], queue["quotaBefore"]) == (16, 16, 8, 64)


def test_a_job_that_is_written_again_is_paired_by_its_file_and_said_to_be(git: Git, tmp_path: Path) -> None:
    (tmp_path / "again.yaml").write_text(job("two").replace("1.36", "1.37"))
    assert names() == [("created", "two", "again.yaml")]
    (note,) = compared(()).notes
    assert note.startswith("GenericJob two is written 2 times (again.yaml, two.yaml): it counts each time")
    commit(git, "twice")
    assert compared(()).notes == ()
    (tmp_path / "two.yaml").unlink()
    (note,) = compared(()).notes
    assert note.startswith("GenericJob two was written 2 times (again.yaml, two.yaml)")
