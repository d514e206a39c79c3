"""action.yml from end to end, in a runner of our own: what it shows, and what strangers cannot make it do."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.command import BAD_JOB, ENVIRONMENTS, INVENTORY, JOB
from tests.github_action import ROOT, machine, plant, run
from tests.github_runner import (
    evaluated,
    run_action,
    run_steps,
)
from tests.test_github_workflows import EXAMPLES, Github, steps_of

EVIL = "::error file=/etc/passwd::pwned ##[set-output name=findings]0 ::stop-commands::x"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / "job.yaml").write_text(JOB)
    return folder


PYTHON = """\
#!/bin/sh
[ "$1" = -I ] || echo "$@" >> {log}
case "$*" in *"-m venv"*) for temp; do :; done; mkdir -p "$temp/bin" && cp "$0" "$temp/bin/python";; esac
"""


def test_every_python_of_the_action_is_isolated_from_the_checkout(workspace: Path, tmp_path: Path) -> None:
    """With a stand-in for python; `make integration` installs the action for real in such a checkout."""
    job = machine(workspace, tmp_path / "temp")
    python = Path(job.environ["PATH"].split(":")[0]) / "python3"
    python.unlink()
    python.write_text(PYTHON.format(log=tmp_path / "not-isolated"))
    python.chmod(0o755)
    ran = run_action(ROOT, {}, job)
    assert ran.success, ran.log
    assert (tmp_path / "temp" / "podplan" / "bin" / "python").exists()
    assert not (tmp_path / "not-isolated").exists(), (tmp_path / "not-isolated").read_text()
    run_steps([{"run": "python3 -m pip --version"}], job)
    assert (tmp_path / "not-isolated").read_text() == "-m pip --version\n"


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


def test_findings_are_shown_at_their_lines_and_told_in_outputs(workspace: Path) -> None:
    (workspace / "bad, worse.yaml").write_text(BAD_JOB)
    ran = run(workspace, {"paths": "bad, worse.yaml", "sarif-file": "out/podplan.sarif"})
    assert not ran.success
    assert ran.steps[-1].code == 1
    [error, *_] = ran.of("error")
    assert error.properties["file"] == "bad, worse.yaml"
    assert error.properties["line"] == "8"
    assert 'unknown field "replica"; did you mean "replicas"?' in error.data
    counts = {name: int(ran.outputs[name]) for name in ("findings", "errors", "warnings", "infos")}
    assert counts["errors"] == len(ran.of("error"))
    assert counts["findings"] == sum(counts.values()) - counts["findings"]
    assert ran.outputs["sarif-file"] == "out/podplan.sarif"
    report = json.loads((workspace / "out/podplan.sarif").read_text())
    assert len(report["runs"][0]["results"]) == counts["findings"]
    assert "did you mean" in ran.summary


def test_fail_on_decides_and_nothing_else(workspace: Path) -> None:
    (workspace / "job.yaml").write_text(BAD_JOB)
    assert run(workspace, {"fail-on": "never"}).success
    assert not run(workspace, {"fail-on": "error", "summary": "false"}).success


def test_a_file_that_is_broken_is_a_finding(workspace: Path) -> None:
    (workspace / "job.yaml").write_text(JOB.replace("  successRules:", "  successRules: [\n  - :"))
    ran = run(workspace, {})
    assert ran.steps[-1].code == 1
    assert ran.of("error")[0].properties["title"].startswith("YAML")


def test_only_the_most_important_have_room_and_the_rest_is_counted(workspace: Path) -> None:
    """Fifteen errors and twelve infos where GitHub shows ten of each, one of them the count of the rest."""
    for number in range(15):
        job = JOB.replace("name: count", f"name: c{number}").replace("replicas: 3", "replicas: many")
        (workspace / f"job-{number:02}.yaml").write_text(job)
    for number in range(3):
        careless, _, _ = JOB.replace("name: count", f"name: i{number}").partition("          securityContext")
        (workspace / f"a-{number}.yaml").write_text(f"{careless}  successRules:\n  - worker: [0, 1, 2]\n")
    ran = run(workspace, {"fail-on": "never"})
    assert ran.outputs["errors"] == "15"
    assert int(ran.outputs["infos"]) >= 10
    assert len(ran.of("error")) == len(ran.of("notice")) == 10
    sent = [one for step in ran.steps for one in step.commands if one.name in ("error", "warning", "notice")]
    assert tuple(sent) == ran.annotations  # GitHub drops none of them
    left_out = int(ran.outputs["findings"]) - len(ran.annotations) + 1
    assert ran.annotations[-1].data.startswith(f"{left_out} more findings have no room here")
    assert ran.log.count("job-14.yaml:8:15: error") == 1  # the log has them all


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


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        ("$(touch OWNED)\n`touch OWNED`\n; touch OWNED #\n'\n$(touch OWNED)\n'", 3),
        ("--output=json=OWNED\n--exit-zero", 3),
        ("-", 2),
        ("job.yaml\n--fix", 3),
        ("/dev/fd/0", 2),
        ("nothing/here", 3),
        ("\n\n  job.yaml \r\n", 0),
    ],
)
def test_paths_are_paths_and_nothing_else(workspace: Path, paths: str, code: int) -> None:
    ran = run(workspace, {"paths": paths})
    assert ran.steps[-1].code == code, ran.log
    assert sorted(path.name for path in workspace.iterdir()) == [".git", "job.yaml"]
    assert [one.properties for one in ran.of("error")] == ([{"title": "podplan"}] if code else [])


def test_a_file_that_is_named_like_an_option_is_checked(workspace: Path) -> None:
    (workspace / "--exit-zero").mkdir()
    (workspace / "--exit-zero" / "-e.yaml").write_text(BAD_JOB)
    ran = run(workspace, {"paths": "--exit-zero"})
    assert ran.steps[-1].code == 1
    assert ran.of("error")[0].properties["file"] == "--exit-zero/-e.yaml"


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


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"command": "chek"}, 'command: there is no "chek"; did you mean "check"?'),
        ({"command": "render"}, "command render wants output-dir"),
        ({"environment": "nowhere", "paths": "many.yaml"}, "nowhere"),
    ],
)
def test_a_wrong_input_is_one_sentence(workspace: Path, inputs: dict[str, str], said: str) -> None:
    (workspace / "many.yaml").write_text(ENVIRONMENTS)
    ran = run(workspace, inputs)
    assert ran.steps[-1].code == 2, ran.log
    [error] = ran.of("error")
    assert said in error.data
    assert ran.outputs["findings"] == ""


def test_an_input_that_is_not_there_is_warned_of(workspace: Path) -> None:
    assert run(workspace, {"path": "job.yaml"}).warnings == ("unexpected input path",)


@pytest.fixture
def pull_request(workspace: Path) -> Path:
    """A checkout of a pull request as GitHub makes it: the merge of a change that doubles a job into main."""
    (workspace / ".git").rmdir()
    (workspace / "many.yaml").write_text(ENVIRONMENTS)
    git(workspace, "init", "--quiet", "--initial-branch=main")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message=before")
    git(workspace, "checkout", "--quiet", "-b", "change")
    (workspace / "many.yaml").write_text(ENVIRONMENTS.replace("prod: {replicas: 4}", "prod: {replicas: 8}"))
    git(workspace, "commit", "--quiet", "--all", "--message=change")
    git(workspace, "checkout", "--quiet", "main")
    (workspace / "other.txt").write_text("main goes on\n")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message=other")
    git(workspace, "merge", "--quiet", "--no-ff", "--message=merge", "change")
    return workspace


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def event(folder: Path) -> dict[str, str]:
    return {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": git(folder, "rev-parse", "HEAD")}


def test_a_pull_request_shows_what_it_would_change(pull_request: Path) -> None:
    wanted = {"comment-file": "comment.txt", "fail-on": "never"}
    ran = run(pull_request, wanted, event(pull_request))
    assert ran.success, ran.log
    assert ran.outputs["impact"] == "GPUs unchanged (0), +4 Pods (8 → 12); 1 to re-run"
    for text in (ran.summary, ran.log, (pull_request / "comment.txt").read_text()):
        assert ran.outputs["impact"] in text
        assert "many.yaml" in text
    assert ran.summary.index("### ⚠️ podplan") < ran.summary.index("### podplan diff")
    only = run(pull_request, {"command": "diff", "base": "HEAD^1.."})
    assert only.outputs["impact"] == ran.outputs["impact"]
    assert only.outputs["findings"] == ""
    assert not only.annotations


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


def test_a_change_that_breaks_a_job_fails_the_step(pull_request: Path) -> None:
    (pull_request / "many.yaml").write_text(ENVIRONMENTS.replace("replicas: 4", "replicas: many"))
    ran = run(pull_request, {"command": "diff", "base": "main"})
    assert ran.steps[-1].code == 1
    assert "1 broken" in ran.outputs["impact"]
    (pull_request / "podplan.toml").write_text('fail-on = "never"\n')
    assert run(pull_request, {"command": "diff", "base": "main"}).success


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
    assert "1 to re-run" in ran.outputs["impact"]


def test_without_history_a_notice_says_what_to_do(pull_request: Path) -> None:
    shallow = pull_request.parent / "shallow"
    git(pull_request, "clone", "--quiet", "--depth=1", pull_request.as_uri(), str(shallow))
    for command in ("check", "diff"):
        ran = run(shallow, {"command": command, "fail-on": "never"}, event(shallow))
        assert ran.success, ran.log
        assert "fetch-depth: 2" in ran.of("notice")[0].data
        assert ran.outputs["impact"] == ""
        assert "fetch-depth: 2" in ran.summary
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


def test_settings_that_a_change_mends_are_told_of_without_markup(pull_request: Path) -> None:
    merged_after(pull_request, {"podplan.toml": f"'{EVIL} <b>' = 1\n"})
    ran = run(pull_request, {"fail-on": "never"}, event(pull_request))
    assert ran.success, ran.log
    assert "no difference to show" not in ran.summary
    assert "<b>" not in ran.summary
    assert "##[" not in ran.log


def test_another_checkout_than_the_merge_is_not_taken_for_it(pull_request: Path) -> None:
    at = event(pull_request)
    git(pull_request, "checkout", "--quiet", "change")
    ran = run(pull_request, {"fail-on": "never"}, at)
    assert ran.success
    assert "is not the merge of the pull request" in ran.of("notice")[0].data
    pushed = run(pull_request, {"fail-on": "never"}, {"GITHUB_EVENT_NAME": "push"})
    assert "no difference" not in pushed.log
    assert run(pull_request, {"command": "diff"}, {"GITHUB_EVENT_NAME": "push"}).steps[-1].code == 2


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


def test_a_run_that_takes_too_long_leaves_nothing_half_done(workspace: Path) -> None:
    matrix = f"  matrix: {{axes: {{seed: {list(range(300))}}}, maxInstances: 1000}}\n"
    for number in range(20):
        profile = ENVIRONMENTS.replace("name: resnet", f"name: r{number}")
        (workspace / f"{number}.yaml").write_text(profile + matrix)
    wanted = {"sarif-file": "podplan.sarif"}
    cancelled = run(workspace, wanted, timeout=2)
    assert cancelled.steps[-1].code in (130, -signal.SIGINT)
    given_up = run(workspace, wanted, {"PODPLAN_LIMITS": "seconds=1"})
    assert given_up.steps[-1].code == 4
    assert "PODPLAN_LIMITS=seconds=N" in given_up.of("error")[0].data
    for ran in (cancelled, given_up):
        assert not list(workspace.glob("*.sarif*"))
        assert not list(workspace.glob(".podplan-*"))
        assert "Traceback" not in ran.log
        assert ran.steps[-1].outputs == {}


def test_a_python_that_is_too_old_or_missing_is_told_in_a_sentence(workspace: Path, tmp_path: Path) -> None:
    old = tmp_path / "temp" / "bin" / "python3"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    ran = run_action(ROOT, {}, machine(workspace, tmp_path / "temp"))
    assert [step.outcome for step in ran.steps] == ["failure", "skipped"]
    assert ran.steps[0].code == 2
    assert "python3 of at least 3.11" in ran.of("error")[0].data


def test_a_machine_without_python_is_told_the_same(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bash").symlink_to("/bin/bash")
    bare = machine(workspace, tmp_path / "temp", {"PATH": str(tmp_path / "bin")})
    ran = run_action(ROOT, {}, bare)
    assert ran.steps[0].code == 2
    assert "python3 of at least 3.11" in ran.of("error")[0].data
