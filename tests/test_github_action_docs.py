"""docs/github-action.md: GitHub takes its workflows, its command prints what it shows, its tables hold."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent, indent

import pytest
import yaml

from tests.command import JOB, podplan
from tests.github_action import ROOT
from tests.test_github_workflows import EXAMPLES, schema, zizmor

PAGE = (ROOT / "docs" / "github-action.md").read_text()
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
BLOCKS = [
    (language, dedent(text))
    for _, language, text in re.findall(r"^( *)```(\w+)\n(.*?)^\1```$", PAGE, re.MULTILINE | re.DOTALL)
]
WORKFLOW, *STEPS = [text for language, text in BLOCKS if language == "yaml"]


def rows(title: str) -> list[list[str]]:
    """The rows of the table in a section."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    cells = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in cells[2:]]


def test_the_inputs_are_those_of_the_action() -> None:
    told = {row[0].strip("`"): row[1].strip("`") for row in rows("Inputs")}
    assert told == {name: about["default"] for name, about in ACTION["inputs"].items()}


def test_the_outputs_are_those_of_the_action() -> None:
    told = re.findall(r"`([a-z-]+)`", " ".join(row[0] for row in rows("Outputs")))
    assert sorted(told) == sorted(ACTION["outputs"])


def test_what_is_to_be_copied_is_what_github_takes(tmp_path: Path) -> None:
    head = WORKFLOW.partition("    steps:\n")[0]
    texts = [WORKFLOW, *(f"{head}    steps:\n{indent(text, '      ')}" for text in STEPS)]
    files = [tmp_path / f"{number}.yml" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
        for step in yaml.safe_load(text)["jobs"]["check"]["steps"]:
            if step["uses"].startswith("example/podplan@"):
                assert set(step["with"]) <= set(ACTION["inputs"])
    taken = schema("vendor.github-workflows", *files)
    assert taken.exit_code == 0, taken.output
    done = zizmor(*files)
    assert done.returncode == 0, done.stdout


def test_the_page_pins_what_the_examples_pin() -> None:
    pins = set(re.findall(r"uses: (\S+)", "".join(path.read_text() for path in EXAMPLES)))
    assert set(re.findall(r"uses: (\S+)", PAGE)) <= pins


def test_its_commands_print_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "count.yaml").write_text(JOB.replace("1Gi", "1G1"))
    [console] = [text for language, text in BLOCKS if language == "console"]
    command, _, printed = console.partition("\n")
    assert command == "$ PODPLAN_ACTION_PATHS=jobs podplan action"
    [script] = [text for language, text in BLOCKS if language == "sh"]
    assert script == command.removeprefix("$ ") + "\n"
    done = podplan("action", cwd=tmp_path, env={"PODPLAN_ACTION_PATHS": "jobs"})
    assert (done.code, done.err) == (1, "")
    # How many rules there are that need an inventory is none of its business.
    assert re.sub(r"\d+ × rules", "N × rules", done.out) == re.sub(r"\d+ × rules", "N × rules", printed)


@pytest.mark.parametrize("page", ["docs/github-action.md", "SECURITY.md"])
def test_its_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", (ROOT / page).read_text()):
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]
