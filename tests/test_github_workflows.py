"""The action and the workflows that we ship: well-formed, pinned, free of injections; the comment is safe."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import check_jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from tests.github_action import ROOT, environ
from tests.github_runner import Machine, Step, run_steps

EXAMPLES = sorted((ROOT / "deploy" / "github").glob("*.yml"))
FOR_FLUX = ROOT / "deploy" / "flux" / "podplan-flux.yml"  # what it does is tried in test_flux
WORKFLOWS = [*EXAMPLES, FOR_FLUX, *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
COMMIT = "c" * 40
# Stands for gh: answers as the API does, and keeps what it was asked.
GH = """\
#!{python} -I
import json, pathlib, sys
arguments = sys.argv[1:]
answers = json.loads(pathlib.Path({answers!r}).read_text())
path = next(one for one in arguments if one.startswith("repos/"))
body = [pathlib.Path(one.removeprefix("body=@")).read_text() for one in arguments if one.startswith("body=@")]
method = arguments[arguments.index("--method") + 1] if "--method" in arguments else "GET"
with open({asked!r}, "a") as stream:
    stream.write(json.dumps([method, path, *body]) + "\\n")
print(answers.get(path, ""))
"""


def schema(name: str, *files: Path) -> Result:
    """What check-jsonschema says, in this process: to start it takes a hundred times as long as to check."""
    return CliRunner().invoke(check_jsonschema.main, ["--builtin-schema", name, *map(str, files)])


def zizmor(*files: Path) -> subprocess.CompletedProcess[str]:
    beside = str(Path(sys.executable).parent / "zizmor")
    command = [beside, "--offline", "--no-progress", "--persona", "pedantic", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_there_are_workflows_to_look_at() -> None:
    names = ["podplan-comment.yml", "podplan.yml", FOR_FLUX.name, "ci.yml", "release.yml"]
    assert [path.name for path in WORKFLOWS] == names


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("vendor.github-actions", [ROOT / "action.yml"]),
        ("vendor.github-workflows", WORKFLOWS),
        ("custom.github-workflows-require-timeout", WORKFLOWS),
    ],
)
def test_they_are_what_github_takes(name: str, files: list[Path]) -> None:
    done = schema(name, *files)
    assert done.exit_code == 0, done.output


def test_zizmor_has_nothing_against_them() -> None:
    done = zizmor(ROOT / "action.yml", *WORKFLOWS)
    assert done.returncode == 0, done.stdout
    assert len(re.findall("completed ", done.stderr)) == len(WORKFLOWS) + 1


def test_the_tools_do_look(tmp_path: Path) -> None:
    """What we must never write is found, so that the tests above can fail."""
    action = tmp_path / "action.yml"
    text = (ROOT / "action.yml").read_text()
    action.write_text(text.replace("podplan action\n", "podplan action ${{ inputs.paths }}\n"))
    assert "template-injection" in zizmor(action).stdout
    action.write_text(text.replace("using: composite", "uses: composite"))
    assert schema("vendor.github-actions", action).exit_code == 1
    workflow = tmp_path / "podplan.yml"
    workflow.write_text(
        re.sub("actions/checkout@[0-9a-f]{40}", "actions/checkout@v5", EXAMPLES[1].read_text())
    )
    assert "unpinned-uses" in zizmor(workflow).stdout


def test_the_example_uses_inputs_and_outputs_that_are_there() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    text = EXAMPLES[1].read_text()
    [step] = [one for one in steps_of(EXAMPLES[1], "check") if one.get("id") == "podplan"]
    assert set(step["with"]) <= set(action["inputs"])
    outputs = set(re.findall(r"steps\.podplan\.outputs\.([\w-]+)", text))
    assert outputs
    assert outputs <= set(action["outputs"])


def test_the_action_hands_on_every_input_and_sets_every_output() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    [run] = [step for step in action["runs"]["steps"] if step.get("id") == "run"]
    expected = {
        f"PODPLAN_ACTION_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}"
        for name in action["inputs"]
    }
    assert run["env"] == expected
    for name, about in action["outputs"].items():
        assert about["value"] == f"${{{{ steps.run.outputs.{name} }}}}"


def steps_of(workflow: Path, job: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = yaml.safe_load(workflow.read_text())["jobs"][job]["steps"]
    return steps


class Github:
    """A pull request at the other end of ``gh``, and an artifact that says it is about it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = folder / "report"
        self.report.mkdir()
        self.answers = {
            "repos/o/r/pulls/7": COMMIT,
            "repos/o/r/issues/7/comments": "",
        }
        self.fetched = "success"
        self.leave("7\n", "no findings\n")

    def leave(self, number: str, comment: str | bytes) -> None:
        (self.report / "number.txt").write_text(number)
        (self.report / "comment.txt").write_bytes(comment if isinstance(comment, bytes) else comment.encode())

    def comment(self) -> tuple[Step, list[list[str]]]:
        """What becomes of the step that comments, and what it asked of the API."""
        answers, asked = self.folder / "answers", self.folder / "asked"
        answers.write_text(json.dumps(self.answers))
        asked.write_text("")
        clean = environ(self.folder)
        gh = self.folder / "bin" / "gh"
        gh.write_text(GH.format(python=sys.executable, answers=str(answers), asked=str(asked)))
        gh.chmod(0o755)
        contexts = {
            "github.token": "t0ken",
            "github.repository": "o/r",
            "github.event.workflow_run.head_sha": COMMIT,
            "github.event.workflow_run.html_url": "https://github.com/o/r/actions/runs/1",
            "runner.temp": str(self.folder),
            "steps.fetch.outcome": self.fetched,
        }
        step = steps_of(EXAMPLES[0], "comment")[-1]
        [done], _ = run_steps([step], Machine(self.folder, self.folder, clean, contexts))
        return done, [json.loads(line) for line in asked.read_text().splitlines()]


@pytest.fixture
def github(tmp_path: Path) -> Github:
    return Github(tmp_path)


def test_a_comment_is_written_once_and_then_kept_up_to_date(github: Github) -> None:
    done, asked = github.comment()
    assert done.outcome == "success", done.log
    method, path, body = asked[-1]
    assert (method, path) == ("POST", "repos/o/r/issues/7/comments")
    assert body.startswith("<!-- podplan -->\n[podplan](https://github.com/o/r/actions/runs/1)")
    assert body.endswith("\n```text\nno findings\n\n```\n")
    github.answers["repos/o/r/issues/7/comments"] = "41\n42"
    done, asked = github.comment()
    assert asked[-1][:2] == ["PATCH", "repos/o/r/issues/comments/42"]


def test_nothing_in_a_report_leaves_the_fence(github: Github) -> None:
    github.leave("7", "x\n```\n@everyone ![](https://a.b/c) <b>\n````\n~~~\n\x1b[2J\x00 \u4f60\n")
    done, asked = github.comment()
    assert done.outcome == "success", done.log
    body = asked[-1][2]
    assert body.count("```") == 2
    assert body.index("```text") < body.index("@everyone") < body.rindex("```")
    assert "\x1b" not in body
    assert "\x00" not in body
    assert "\u4f60" in body


@pytest.mark.parametrize("text", ["\u4f60" * 50_000, "\x00a`" * 50_000, b"\xff\xc3" * 50_000])
def test_a_comment_is_never_too_long(github: Github, text: str | bytes) -> None:
    github.leave("7", text)
    done, asked = github.comment()
    assert done.outcome == "success", done.log
    assert len(asked[-1][2]) <= 65_000


@pytest.mark.parametrize(
    "number", ["", "0", "7; touch OWNED", "$(touch OWNED)", "../../repos/x", "7\n8", "-1", "9" * 30]
)
def test_a_number_that_is_none_is_refused(github: Github, number: str) -> None:
    github.leave(number, "x")
    done, asked = github.comment()
    assert done.outcome == "failure"
    assert asked == []
    assert [one.name for one in done.commands] == ["error"]


def test_a_number_of_another_pull_request_is_not_believed(github: Github) -> None:
    github.answers["repos/o/r/pulls/7"] = "d" * 40
    done, asked = github.comment()
    assert done.outcome == "success"
    assert [one[0] for one in asked] == ["GET"]
    assert [one.name for one in done.commands] == ["notice"]


def test_where_the_check_left_no_report_there_is_nothing_to_do(github: Github) -> None:
    github.fetched = "failure"
    assert steps_of(EXAMPLES[0], "comment")[0]["continue-on-error"] is True
    done, asked = github.comment()
    assert done.outcome == "skipped"
    assert asked == []


def test_an_artifact_without_its_files_or_with_links_is_refused(github: Github) -> None:
    (github.report / "comment.txt").unlink()
    assert github.comment()[0].outcome == "failure"
    (github.report / "comment.txt").symlink_to("/etc/hostname")
    done, asked = github.comment()
    assert done.outcome == "failure"
    assert asked == []
