"""What strangers cannot make the action do, nor see in what it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command import BAD_JOB, ENVIRONMENTS, INVENTORY, JOB
from tests.github.checkout import EVIL, event, git
from tests.github_action import plant, run


def test_nothing_that_the_checkout_plants_is_run(workspace: Path) -> None:
    owned = workspace.parent / "owned"
    plant(workspace, owned)
    ran = run(workspace, {"paths": "job.yaml"}, {"PYTHONPATH": f".:{workspace}"})
    assert ran.success, ran.log
    assert not owned.exists(), owned.read_text()
    assert ran.outputs["findings"] == "0"
    assert ran.warnings == ()
    assert "no findings in 1 file" in ran.log
    assert "✅" in ran.summary


def test_no_text_of_a_file_is_a_command_wherever_it_stands(workspace: Path) -> None:
    evil = JOB.replace("replicas: 3", f'replicas: "{EVIL}"').replace("name: count", f'name: "  {EVIL}"')
    (workspace / "evil.yaml").write_text(evil.replace("cleanUpPolicy", f'"{EVIL}"'))
    name = "::warning file=a,line=1::##[error] `x`.yaml".replace("/", "")
    (workspace / name).write_text(evil)
    (workspace / "broken.yaml").write_text(f"apiVersion: batch.tensorstack.dev/v1beta1\nkind: '{EVIL}\n")
    (workspace / "podplan.toml").write_text(f"'\\n{EVIL}' = 1\n".replace("\\n", ""))
    ran = run(workspace, {"comment-file": "comment.txt"})
    assert ran.steps[-1].code == 2  # the configuration is wrong, and says so
    (workspace / "podplan.toml").unlink()
    refused = ran
    for ran in (refused, run(workspace, {"comment-file": "comment.txt"})):
        names = {one.name for step in ran.steps for one in step.commands}
        assert names <= {"error", "warning", "notice", "group", "endgroup"}
        assert not [one for one in ran.annotations if one.properties.get("file") == "/etc/passwd"]
        assert not [one for one in ran.annotations if one.data.startswith("pwned")]
        assert "##[" not in ran.log
    assert ran.steps[-1].code == 1
    assert ran.of("error")
    assert int(ran.outputs["findings"]) > 0


@pytest.mark.long
def test_nothing_is_read_and_nothing_written_through_a_link_out_of_the_tree(workspace: Path) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "secret.yaml").write_text(BAD_JOB.replace("count", "hunter2"))
    (workspace / "link.yaml").symlink_to(outside / "secret.yaml")
    (workspace / "out").symlink_to(outside)
    ran = run(workspace, {})
    assert "hunter2" not in ran.log + ran.summary
    for name, path in (("sarif-file", "out/secret.yaml"), ("comment-file", str(outside / "x"))):
        ran = run(workspace, {name: path})
        assert ran.steps[-1].code == 2
        assert "is not in the workspace" in ran.of("error")[0].data
    for path in ("out", "out/secret.yaml"):
        ran = run(workspace, {"paths": f"job.yaml\n{path}"})
        assert ran.steps[-1].code == 2
        assert ran.of("error")[0].data == f"paths: {path} is not in the workspace"
    (workspace / "a.txt").symlink_to(outside / "secret.yaml")
    temp = workspace.parent / "work-temp" / "podplan-comment" / "comment.txt"
    for path in ("a.txt", str(temp)):
        assert run(workspace, {"comment-file": path}).outputs["comment-file"] == path
    assert temp.read_text() == (workspace / "a.txt").read_text()
    (workspace / "temporary").symlink_to(workspace.parent / "work-temp")
    assert run(workspace, {"sarif-file": "temporary/a.sarif"}).steps[-1].code == 2
    ran = run(workspace, {"command": "render", "output-dir": "out"})
    assert ran.steps[-1].code == 2
    assert "hunter2" in (outside / "secret.yaml").read_text()
    assert len(list(outside.iterdir())) == 1


def test_no_value_leaves_its_fence_in_the_summary(pull_request: Path) -> None:
    hostile = "````\n</details>\n@everyone ![](https://a.b)\n```"
    variable = f"  replicas: 2\n  env: {{A: {json.dumps(hostile)}}}\n"
    (pull_request / "many.yaml").write_text(ENVIRONMENTS.replace("  replicas: 2\n", variable))
    ran = run(pull_request, {"base": "HEAD", "fail-on": "never"})
    inside = re.findall(r"^(`{3,})diff\n(.*?)^\1$", ran.summary, re.MULTILINE | re.DOTALL)
    assert len(inside) == 1
    fence, text = inside[0]
    assert "@everyone" in text
    assert fence not in text
    assert "@everyone" not in ran.summary.replace(text, "")


def test_no_secret_is_shown_anywhere(pull_request: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: hunter2, pin: 7117}\n"
    variable = ENVIRONMENTS.replace("  replicas: 2\n", "  replicas: 2\n  env: {API_TOKEN: hunter2}\n")
    (pull_request / "secret.yaml").write_text(secret)
    (pull_request / "many.yaml").write_text(variable)
    wanted = {"comment-file": "comment.txt", "sarif-file": "a.sarif", "base": "HEAD", "fail-on": "never"}
    ran = run(pull_request, wanted)
    assert ran.success, ran.log
    written = [(pull_request / name).read_text() for name in ("comment.txt", "a.sarif")]
    for text in (ran.log, ran.summary, *ran.outputs.values(), *written):
        assert "hunter2" not in text
        assert "7117" not in text
    assert "API_TOKEN" in ran.summary


@pytest.mark.long
def test_a_pull_request_cannot_change_the_configuration_of_another_checkout(pull_request: Path) -> None:
    """Both checkouts side by side, so that the pull request has no say in what lies in the other's folder."""
    job = pull_request.parent / "job"
    git(pull_request, "clone", "--quiet", pull_request.as_uri(), str(job / "base"))
    (job / "base" / "podplan.toml").write_text('mandatory = ["GEN001"]\ninventory = "inventory.yaml"\n')
    (job / "base" / "inventory.yaml").write_text(INVENTORY)
    (pull_request / "podplan.toml").write_text('ignore = ["ALL"]\nexclude = ["*"]\nfail-on = "never"\n')
    careless = JOB.replace("[0, 1, 2]", "[0, 1, 2, 9] # podplan: ignore[GEN001]")
    (pull_request / "job.yaml").write_text(careless)
    git(pull_request, "add", ".")
    git(pull_request, "commit", "--quiet", "--amend", "--no-edit")
    git(pull_request, "clone", "--quiet", pull_request.as_uri(), str(job / "change"))
    at = {"GITHUB_WORKSPACE": str(job), **event(job / "change")}
    silenced = run(job, {"paths": "change"}, at)
    assert silenced.success, silenced.log
    ran = run(job, {"paths": "change", "config": "base/podplan.toml"}, at)
    assert ran.steps[-1].code == 1, ran.log
    places = {(one.properties["file"], one.properties["title"].split()[0]) for one in ran.of("error")}
    assert ("job.yaml", "GEN001") in places
    assert "rules that need an inventory" not in ran.log
    assert "1 needs re-creation" in ran.outputs["impact"]
