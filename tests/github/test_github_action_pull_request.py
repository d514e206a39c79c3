"""The action on a pull request: what it would change, and what is said where that cannot be told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.command import ENVIRONMENTS, INVENTORY
from tests.github.checkout import EVIL, event, git
from tests.github_action import machine, run
from tests.github_runner import evaluated, run_steps
from tests.test_github_workflows import EXAMPLES, Github, steps_of

KUEUE = Path(__file__).parents[2] / "fixtures" / "kueue" / "rules"


def test_a_pull_request_shows_what_it_would_change(pull_request: Path) -> None:
    wanted = {"comment-file": "comment.txt", "fail-on": "never"}
    ran = run(pull_request, wanted, event(pull_request))
    assert ran.success, ran.log
    assert ran.outputs["impact"] == "GPUs unchanged (0), +4 Pods (8 → 12); 1 needs re-creation"
    for text in (ran.summary, ran.log, (pull_request / "comment.txt").read_text()):
        assert ran.outputs["impact"] in text
        assert "many.yaml" in text
    assert ran.summary.index("### ⚠️ podplan") < ran.summary.index("### podplan diff")
    drawing = ran.summary.partition("```mermaid\n")[2].partition("```")[0]
    assert drawing.startswith("flowchart LR\n")
    assert drawing.count("  subgraph j0[") == 1
    only = run(pull_request, {"command": "diff", "base": "HEAD^1.."})
    assert only.outputs["impact"] == ran.outputs["impact"]
    assert only.outputs["findings"] == ""
    assert not only.annotations


@pytest.mark.long
def test_the_example_workflows_make_a_comment_of_it(pull_request: Path, tmp_path: Path) -> None:
    """From the inputs in podplan.yml to the comment of podplan-comment.yml, but for GitHub's own actions."""
    temp = pull_request.parent / "work-temp"
    contexts = {"runner.temp": str(temp), "github.event.pull_request.number": "7"}
    steps = {step.get("name"): step for step in steps_of(EXAMPLES[1], "check")}
    wanted = {name: evaluated(str(value), contexts) for name, value in steps["podplan"]["with"].items()}
    ran = run(pull_request, {**wanted, "paths": "many.yaml"}, event(pull_request))
    assert ran.outputs["comment-file"] == wanted["comment-file"]
    leave = {**steps["Leave the number of the pull request"], "if": "always()"}
    [left], _ = run_steps([leave], machine(pull_request, temp)._replace(contexts=contexts))
    assert left.outcome == "success", left.log
    (tmp_path / "github").mkdir()
    github = Github(tmp_path / "github")
    shutil.copytree(
        evaluated(steps["Leave the report"]["with"]["path"], contexts), github.report, dirs_exist_ok=True
    )
    done, asked = github.comment()
    assert done.outcome == "success", done.log
    assert ran.outputs["impact"] in asked[-1][2]


@pytest.mark.long
def test_a_change_that_breaks_a_job_fails_the_step(pull_request: Path) -> None:
    (pull_request / "many.yaml").write_text(ENVIRONMENTS.replace("replicas: 4", "replicas: many"))
    ran = run(pull_request, {"command": "diff", "base": "main"})
    assert ran.steps[-1].code == 1
    assert "1 broken" in ran.outputs["impact"]
    (pull_request / "podplan.toml").write_text('fail-on = "never"\n')
    assert run(pull_request, {"command": "diff", "base": "main"}).success


@pytest.mark.long
def test_without_history_a_notice_says_what_to_do(pull_request: Path) -> None:
    shallow = pull_request.parent / "shallow"
    git(pull_request, "clone", "--quiet", "--depth=1", pull_request.as_uri(), str(shallow))
    for command in ("check", "diff"):
        ran = run(shallow, {"command": command, "fail-on": "never"}, event(shallow))
        assert ran.success, ran.log
        assert "fetch-depth: 2" in ran.of("notice")[0].data
        assert ran.outputs["impact"] == ""
        assert "fetch-depth: 2" in ran.summary
    (shallow / "podplan.toml").write_text('preset = "strict"\n')  # this finds infos in the profiles
    asked = run(shallow, {"base": "origin/elsewhere"}, event(shallow))
    assert asked.steps[-1].code == 2
    assert "origin/elsewhere" in asked.of("error")[0].data
    assert int(asked.outputs["findings"]) > 0  # what could be found is told all the same


def merged_after(pull_request: Path, files: dict[str, str]) -> None:
    """A base with files that are wrong, and a change that removes them."""
    for name, text in files.items():
        (pull_request / name).write_text(text)
    git(pull_request, "add", ".")
    git(pull_request, "commit", "--quiet", "--message=broken")
    git(pull_request, "checkout", "--quiet", "-b", "mended")
    git(pull_request, "rm", "--quiet", *files)
    git(pull_request, "commit", "--quiet", "--message=mended")
    git(pull_request, "checkout", "--quiet", "main")
    git(pull_request, "merge", "--quiet", "--no-ff", "--message=merge", "mended")


def test_a_base_that_is_wrong_itself_is_a_notice_and_no_markup(pull_request: Path) -> None:
    inventories = {f"a {name} <b>.yaml": INVENTORY for name in ("one", EVIL.replace("/", ""))}
    merged_after(pull_request, {**inventories, "asks.yaml": ENVIRONMENTS + "  hardware: h100\n"})
    ran = run(pull_request, {"fail-on": "never"}, event(pull_request))
    assert ran.success, ran.log
    assert "there is no difference to show: " in ran.of("notice")[0].data
    assert "ClusterInventory" in ran.of("notice")[0].data
    assert "there is no difference to show: " in ran.summary
    assert "<b>" not in ran.summary
    assert "##[" not in ran.log


@pytest.mark.long
def test_settings_that_a_change_mends_are_told_of_without_markup(pull_request: Path) -> None:
    merged_after(pull_request, {"podplan.toml": f"'{EVIL} <b>' = 1\n"})
    ran = run(pull_request, {"fail-on": "never"}, event(pull_request))
    assert ran.success, ran.log
    assert "no difference to show" not in ran.summary
    assert "<b>" not in ran.summary
    assert "##[" not in ran.log


@pytest.mark.long
def test_another_checkout_than_the_merge_is_not_taken_for_it(pull_request: Path) -> None:
    at = event(pull_request)
    git(pull_request, "checkout", "--quiet", "change")
    ran = run(pull_request, {"fail-on": "never"}, at)
    assert ran.success
    assert "is not the merge of the pull request" in ran.of("notice")[0].data
    pushed = run(pull_request, {"fail-on": "never"}, {"GITHUB_EVENT_NAME": "push"})
    assert "no difference" not in pushed.log
    assert run(pull_request, {"command": "diff"}, {"GITHUB_EVENT_NAME": "push"}).steps[-1].code == 2


@pytest.mark.long
def test_render_writes_and_render_check_compares(pull_request: Path) -> None:
    wanted = {"paths": "many.yaml", "environment": "prod", "output-dir": "rendered"}
    check = {**wanted, "command": "render-check"}
    missing = run(pull_request, check)
    assert missing.steps[-1].code == 1
    assert not (pull_request / "rendered").exists()
    assert run(pull_request, {**wanted, "command": "render"}).success
    [file] = (pull_request / "rendered").glob("*.yaml")
    assert "replicas: 8" in file.read_text()
    git(pull_request, "add", ".")
    assert run(pull_request, check).success
    file.write_text(file.read_text() + f"# {EVIL}\n")
    stale = run(pull_request, check)
    assert stale.steps[-1].code == 1
    assert not [one for one in stale.annotations if one.data.startswith("pwned")]
    assert "##[" not in stale.log


@pytest.mark.long
def test_render_check_compares_the_folders_of_the_configuration(pull_request: Path) -> None:
    (pull_request / "podplan.toml").write_text(
        '[[render]]\npaths = ["many.yaml"]\nenv = ["prod"]\noutput = "rendered"\n'
    )
    check = {"command": "render-check"}
    assert run(pull_request, check).steps[-1].code == 1
    wanted = {"paths": "many.yaml", "environment": "prod", "output-dir": "rendered"}
    run(pull_request, {**wanted, "command": "render"})
    stale = run(pull_request, check)
    assert stale.steps[-1].code in (0, 1), stale.log
    assert "paths want -o DIR" not in stale.log


def test_annotations_are_for_new_findings(pull_request: Path) -> None:
    """Findings that the base has too are counted, take no annotation, and decide about the exit code."""
    (pull_request / "old.yaml").write_text(ENVIRONMENTS.replace("replicas: 4", "replicas: many"))
    git(pull_request, "add", "-A")
    git(pull_request, "commit", "-q", "-m", "an old mistake")
    (pull_request / "new.yaml").write_text(
        ENVIRONMENTS.replace("replicas: 4", "replicas: some").replace("name: ", "name: new-")
    )
    selected = {
        only: run(pull_request, {"base": "HEAD..", "only": only, "fail-on": "error"})
        for only in ("", "new", "changed", "all")
    }
    assert selected[""].annotations == selected["new"].annotations
    for only, ran in selected.items():
        assert not ran.success
        files = {one.properties.get("file") for one in ran.annotations if one.name == "error"}
        assert files == ({"new.yaml", "old.yaml"} if only == "all" else {"new.yaml"})
        assert ("not of this change" in ran.summary) is (only != "all")
        assert "old.yaml" in ran.summary
        assert ran.outputs["errors"] == selected["all"].outputs["errors"]
    assert run(pull_request, {"only": "old"}).steps[-1].code == 2


def test_the_summary_begins_with_the_plan_of_a_repository_with_queues(pull_request: Path) -> None:
    queues, job = KUEUE / "quota-by-borrowing.yaml", "queued.yaml"
    shutil.copy(queues, pull_request / job)
    git(pull_request, "add", job)
    git(pull_request, "commit", "--quiet", "--amend", "--no-edit")
    ran = run(pull_request, {"fail-on": "never"}, event(pull_request))
    assert ran.success, ran.log
    assert ran.summary.startswith("### podplan plan: ")
    assert "1 added" in ran.summary
    assert "JobSet vision/convert" in ran.summary
    assert ran.summary.index("### podplan plan") < ran.summary.index("### podplan diff")
