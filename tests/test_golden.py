"""What podplan prints for the cases below fixtures/, byte for byte; ``make goldens`` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests import command
from tests.git import commit, git_in
from tests.golden_cases import KINDS, REPORTS, Case, cases, copy, finding_cases, mistake_cases, podplan
from tests.rows import each_row
from tests.thoroughness import mark_long

# What a person may put into a case beside bases/; anything else is left over from a golden that nobody makes.
INPUTS = {"profile.yaml", "cr.yaml", "inventory.yaml", "podplan.toml", "arguments", "why", "runtimes"}

# The goldens of the kinds are about compiling and lowering: a new policy is not to make them anew.
WITHOUT_POLICIES = ("--select", "YAML,SCHEMA,PROF0,CR9")

ALL = list(cases())
FINDINGS = finding_cases()
MISTAKES = mistake_cases()
POLICIES = Path(__file__).parents[1] / "policies"


def _check(regression: FileRegressionFixture, text: str, golden: Path) -> None:
    regression.check(text, fullpath=golden, encoding="utf-8", newline="")


@pytest.mark.parametrize(
    ("case", "golden"),
    [(case, golden) for case in ALL for golden in case.goldens],
    ids=[f"{case.id}-{golden}" for case in ALL for golden in case.goldens],
)
def test_golden(
    case: Case,
    golden: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    copy(case.inputs, case.folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    _check(file_regression, _made(case, golden), case.folder / golden)


def _made(case: Case, golden: str) -> str:
    if golden == "findings.txt":
        return _findings("--format", "full", *WITHOUT_POLICIES, *case.arguments)
    if golden == "why.txt":
        paths = (case.folder / "why").read_text().splitlines()
        return "\n".join(f"$ podplan why {case.input} '{path}'\n{_why(case, path)}" for path in paths)
    command = {
        "cr.yaml": ("render", *case.arguments_of_render),
        "lowered.yaml": ("lower", *case.arguments),
        "folded.yaml": ("lower", "--fold", *case.arguments),
    }[golden]
    said = podplan(*command, case.input)
    assert said.code == 0, said.err
    return said.out


def _findings(*arguments: str) -> str:
    said = podplan("check", *arguments, ".")
    assert said.code in (0, 1), said.err
    return said.out


def _why(case: Case, path: str) -> str:
    said = podplan("why", *case.arguments, case.input, path)
    assert said.code == 0, said.err
    return said.out


@pytest.mark.parametrize(
    "kind",
    mark_long(
        sorted({c.folder.parent.name for c in ALL if c.input == "profile.yaml"}),
        short=("colossalai_job_launcher", "pytorch_training_job", "train_job", "tf_job"),
    ),
)
def test_a_process_of_its_own_prints_the_same_bytes_elsewhere(kind: str, tmp_path: Path) -> None:
    case = next(case for case in ALL if case.folder.parent.name == kind and case.input == "profile.yaml")
    folder = tmp_path / "elsewhere" / "with a space"
    copy(case.inputs, case.folder, folder)
    for seed in ("0", "1"):
        run = command.podplan(
            "lower", *case.arguments, case.input, cwd=folder, env={"PYTHONHASHSEED": seed, "LC_ALL": "C"}
        )
        assert run.out == (case.folder / "lowered.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("folder", FINDINGS, ids=[folder.name for folder in FINDINGS])
def test_findings(
    folder: Path,
    report: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in REPORTS.values()]
    copy(files, folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    _check(file_regression, _findings("--format", report, *WITHOUT_POLICIES), folder / REPORTS[report])


@pytest.mark.parametrize("folder", MISTAKES, ids=[folder.name for folder in MISTAKES])
def test_mistakes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "findings.txt"]
    before = [path for path in files if path.is_relative_to(folder / "before")]
    if before:  # what was committed; the others are in the work tree
        git = git_in(tmp_path)
        git("init", "-q", "-b", "main")
        copy(before, folder / "before", tmp_path)
        commit(git, "before")
    copy([path for path in files if path not in before], folder, tmp_path)
    (tmp_path / ".git").mkdir(exist_ok=True)  # jobs/ extend ../bases/, which only a repository allows
    monkeypatch.chdir(tmp_path)
    compared = ("--base", "HEAD") if before else ()
    _check(file_regression, _findings("--fail-on", "info", *compared), folder / "findings.txt")


@each_row("folder", MISTAKES, ids=[folder.name for folder in MISTAKES])
def test_a_mistake_is_told_in_the_first_line_and_found(folder: Path) -> None:
    jobs = [path for path in folder.rglob("*.yaml") if path.parent.name not in ("bases", "clusters")]
    assert jobs
    assert all(path.read_text(encoding="utf-8").startswith("# ") for path in jobs)
    assert " --> " in (said := (folder / "findings.txt").read_text(encoding="utf-8")) or "info[" in said


def test_mistakes_of_all_groups_of_policies_are_found() -> None:
    found = {
        rule for folder in MISTAKES for rule in _rules((folder / "findings.txt").read_text(encoding="utf-8"))
    }
    groups = {path.stem.rstrip("0123456789") for path in POLICIES.glob("*[0-9].yaml")}
    assert {rule.rstrip("0123456789") for rule in found} >= groups
    assert len(MISTAKES) >= 60


def _rules(report: str) -> list[str]:
    return re.findall(r"^(?:error|warning|info)\[([A-Z]+[0-9]+) ", report, re.MULTILINE)


@each_row("case", ALL, ids=[case.id for case in ALL])
def test_a_case_holds_nothing_that_nobody_reads_or_writes(case: Case) -> None:
    names = {path.relative_to(case.folder).parts[0] for path in case.inputs}
    assert names <= INPUTS | {"bases"}
    text = (case.folder / case.input).read_text()
    assert text.startswith("# "), "a case begins with a line that says what it is about"


def test_every_kind_has_cases() -> None:
    assert {case.folder.parent.name for case in ALL} == set(KINDS)
