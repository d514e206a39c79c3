"""What surrounds the code: licence, metadata, templates, CI, hooks and the pages for contributors."""

from __future__ import annotations

import configparser
import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.github_action import ROOT
from tests.test_github_workflows import WORKFLOWS, schema, zizmor

if not (ROOT / ".github").is_dir():
    pytest.skip("not a checkout", allow_module_level=True)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CI = ROOT / ".github" / "workflows" / "ci.yml"
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"
DEPENDABOT = ROOT / ".github" / "dependabot.yml"
HOOKS = ROOT / ".pre-commit-config.yaml"
PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "CODE_OF_CONDUCT.md",
    ROOT / ".github" / "PULL_REQUEST_TEMPLATE.md",
]
# https://www.apache.org/licenses/LICENSE-2.0.txt
APACHE_2_0 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
HOME = "https://github.com/example/podplan"


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_licence_is_the_official_text() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2_0
    assert PROJECT["project"]["license"] == "Apache-2.0"


def test_files_of_the_licence_exist_and_notice_names_files_that_exist() -> None:
    for name in PROJECT["project"]["license-files"]:
        assert (ROOT / name).is_file()
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    named = re.findall(r"\b(?:schemas|fixtures)/[\w./-]+\.\w+", notice)
    assert "schemas/kubernetes/definitions.tsv" in named
    assert all((ROOT / name).is_file() for name in named)


def test_the_public_home_is_the_same_everywhere() -> None:
    """The owner replaces one address: that of the documentation, the workflows and the metadata."""
    for url in PROJECT["project"]["urls"].values():
        assert url.removeprefix(HOME)[:1] in ("", "/")
    for path in (ROOT / "docs" / "pre-commit.md", ROOT / "deploy" / "github" / "podplan.yml"):
        assert "example/podplan" in path.read_text(encoding="utf-8")
    [contact] = load(TEMPLATES / "config.yml")["contact_links"]
    assert contact["url"].startswith(f"{HOME}/")


def test_each_python_of_the_metadata_is_tested_in_ci() -> None:
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    jobs = load(CI)["jobs"]
    [setup] = [step for step in jobs["all"]["steps"] if "python-version" in step.get("with", {})]
    tested = {*jobs["python"]["strategy"]["matrix"]["python"], setup["with"]["python-version"]}
    assert tested == set(versions)
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


def test_ci_runs_what_must_pass() -> None:
    runs = [step["run"] for step in load(CI)["jobs"]["all"]["steps"] if "run" in step]
    assert [run.split()[-1] for run in runs] == [".ci/run"]
    assert load(CI)[True] == {"push": {"branches": ["main"]}, "pull_request": None}  # "on" is a boolean


def test_an_action_has_one_version_everywhere() -> None:
    used: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for action, commit in re.findall(r"uses: ([\w/-]+)@(\S+ # \S+)", path.read_text(encoding="utf-8")):
            used.setdefault(action, set()).add(commit)
    assert {action: commits for action, commits in used.items() if len(commits) > 1} == {}
    assert "actions/checkout" in used


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("vendor.dependabot", [DEPENDABOT]),
        ("vendor.github-issue-config", [TEMPLATES / "config.yml"]),
        ("vendor.github-issue-forms", sorted(set(TEMPLATES.glob("*.yml")) - {TEMPLATES / "config.yml"})),
    ],
)
def test_github_accepts_them(name: str, files: list[Path]) -> None:
    assert files
    done = schema(name, *files)
    assert done.exit_code == 0, done.output


def test_zizmor_accepts_the_updates() -> None:
    done = zizmor(DEPENDABOT)
    assert done.returncode == 0, done.stdout


def test_the_schemas_refuse_what_is_wrong(tmp_path: Path) -> None:
    form = tmp_path / "bug.yml"
    form.write_text(
        (TEMPLATES / "bug.yml").read_text(encoding="utf-8").replace("type: textarea", "type: box")
    )
    assert schema("vendor.github-issue-forms", form).exit_code == 1


def test_the_hooks_are_valid_and_call_tools_of_the_development_group() -> None:
    program = Path(sys.executable).parent / "pre-commit"
    done = subprocess.run(
        [str(program), "validate-config", str(HOOKS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    wanted = {
        re.split(r"[<>=]", name)[0] for name in PROJECT["dependency-groups"]["dev"] if isinstance(name, str)
    }
    [local] = load(HOOKS)["repos"]
    for hook in local["hooks"]:
        tool = hook["entry"].split()[0]
        assert tool.startswith(".venv/bin/")
        assert tool.removeprefix(".venv/bin/") in wanted


def test_editors_and_ruff_agree() -> None:
    editor = configparser.ConfigParser()
    editor.read_string("[top]\n" + (ROOT / ".editorconfig").read_text(encoding="utf-8"))
    assert editor["*.py"]["max_line_length"] == str(PROJECT["tool"]["ruff"]["line-length"])
    assert editor["*"]["end_of_line"] == "lf"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_pages_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target.partition("#")[0]).exists(), target


def test_targets_and_paths_that_contributors_are_told_of_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:`|\$ )make ([a-z]+)", text)) <= targets
    later = {"docs/adding-a-kind.md"}
    paths = (
        set(re.findall(r"`((?:compiler|docs|fixtures|policies|schemas|tests)(?:/[\w.-]+)*)`", text)) - later
    )
    assert len(paths) > 5
    assert [
        path for path in paths if not (ROOT / path).exists() and "NAME" not in path and "CODE" not in path
    ] == []
