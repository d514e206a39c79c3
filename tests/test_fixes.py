"""Fixes: what ``--fix`` makes of the files in fixtures/fixes, and what holds for every fix."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from difflib import ndiff
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.lint.registry import load_policy_documents
from tests.command import JOB
from tests.golden_cases import FIXTURES, mistake_cases, podplan
from tests.thoroughness import mark_long, mark_others

CASES = sorted((FIXTURES / "fixes").glob("*.yaml"))
MISTAKES = mistake_cases()
FIXED = {data["id"] for data in load_policy_documents() if "fix" in data}


@pytest.mark.parametrize("case", CASES, ids=[case.stem for case in CASES])
def test_golden(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    shutil.copy(case, tmp_path / "job.yaml")
    monkeypatch.chdir(tmp_path)
    said = podplan("check", "--diff", "--unsafe-fixes", "job.yaml")
    golden = case.with_suffix(".diff")
    file_regression.check(said.out + said.err, fullpath=golden, encoding="utf-8", newline="")
    assert said.code == (1 if said.out else 0)


@pytest.mark.parametrize("case", mark_others(CASES, every=3), ids=[case.stem for case in CASES])
def test_only_the_lines_of_the_fixes_change(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(case, tmp_path / "job.yaml")
    monkeypatch.chdir(tmp_path)
    shown = podplan("check", "--diff", "--unsafe-fixes", "job.yaml").out
    before = Path("job.yaml").read_bytes().decode().splitlines(keepends=True)
    podplan("check", "--fix-only", "--unsafe-fixes", "job.yaml")
    after = Path("job.yaml").read_bytes().decode().splitlines(keepends=True)
    told = Counter(line.rstrip("\r\n") for line in shown.splitlines()[2:] if line[:1] in "+-")
    really = Counter(line[0] + line[2:].rstrip("\r\n") for line in ndiff(before, after) if line[:1] in "+-")
    assert told == really
    assert {line.endswith("\r\n") for line in after} == {line.endswith("\r\n") for line in before}


@pytest.mark.parametrize(
    "folder", mark_long(MISTAKES, short=MISTAKES[::4]), ids=[folder.name for folder in MISTAKES]
)
def test_what_is_fixed_is_gone_and_stays_gone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path / "repository")
    monkeypatch.chdir(tmp_path / "repository")
    Path(".git").mkdir()
    fixed = podplan("check", "--fix-only", "--unsafe-fixes", ".")
    assert fixed.code == 0
    again = podplan("check", "--diff", "--unsafe-fixes", ".")
    assert again.out == ""
    assert "would fix" not in again.err


@pytest.mark.long
def test_every_policy_with_a_fix_is_fixed_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    left = set(FIXED)
    for folder in (FIXTURES / "fixes", *MISTAKES):
        if left:
            shutil.copytree(folder, folder.name)
            Path(folder.name, ".git").mkdir()
            said = podplan("check", "--preview", "--format", "json", folder.name)
            left -= {found["rule"] for found in json.loads(said.out)["findings"] if found["fix"]}
    assert left == set()


def test_a_file_that_changes_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(CASES[0], tmp_path / "job.yaml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("podplan.cli.output._read_current_content", lambda _: "something else")
    before = Path("job.yaml").read_bytes()
    said = podplan("check", "--fix", "job.yaml")
    assert said.code == 2
    assert "has changed" in said.err
    assert Path("job.yaml").read_bytes() == before


@pytest.mark.parametrize("named", [["link.yaml"], ["job.yaml", "link.yaml"], ["link.yaml", "job.yaml"]])
def test_a_link_stays_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: list[str]) -> None:
    shutil.copy(CASES[0], tmp_path / "job.yaml")
    monkeypatch.chdir(tmp_path)
    Path("link.yaml").symlink_to("job.yaml")
    before = Path("job.yaml").read_bytes()
    assert podplan("check", "--fix-only", *named).code == 0
    assert Path("link.yaml").is_symlink()
    assert Path("job.yaml").read_bytes() != before


@pytest.mark.parametrize("case", ["request_of_memory_above_the_limit", "request_of_gpus_below_the_limit"])
def test_a_request_and_its_limit_may_both_be_wrong(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(FIXTURES / "fixes" / f"{case}.yaml", tmp_path / "job.yaml")
    monkeypatch.chdir(tmp_path)
    before = Path("job.yaml").read_bytes()
    podplan("check", "--fix-only", "job.yaml")
    assert Path("job.yaml").read_bytes() == before
    podplan("check", "--fix-only", "--unsafe-fixes", "job.yaml")
    assert Path("job.yaml").read_bytes() != before


def test_standard_input_is_not_repaired() -> None:
    said = podplan("check", "--fix", "-")
    assert said.code == 2
    assert "standard input cannot be repaired" in said.err


def test_what_profiles_share_is_not_safe_to_change_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path("base.yaml").write_text(
        "apiVersion: podplan/v1\nkind: JobProfileBase\nmetadata: {name: base}\n"
        'spec:\n  image: r.example.com/a:1\n  run: [a.py]\n  env: {LOCAL_RANK: "0"}\n'
    )
    Path("a.yaml").write_text(
        "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: a}\n"
        "spec: {extends: [base.yaml], job: PyTorchTrainingJob, launcher: torchrun, replicas: 2}\n"
    )
    assert podplan("check", "--diff", "--select", "CR009", "a.yaml").out == ""
    assert "-  env:" in podplan("check", "--diff", "--unsafe-fixes", "--select", "CR009", "a.yaml").out


def test_a_key_is_not_renamed_to_one_that_takes_another_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new name stands at another path, and an error there is one that the fix brings."""
    monkeypatch.chdir(tmp_path)
    text = JOB.replace("      spec:\n", "      spec:\n        dnsPolic: [{name: a}]\n")
    Path("job.yaml").write_text(text)
    said = podplan("check", "--fix", "--unsafe-fixes", "job.yaml")
    assert 'did you mean "dnsPolicy"?' in said.out
    assert "it would bring SCHEMA002" in said.err
    assert Path("job.yaml").read_text() == text


CONTROLLER_RUNS = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: a}
spec:
  torchrunConfig: {enabled: true, procPerNode: "1"}
  replicaSpecs:
  - type: worker
    replicas: 2
    template:
      spec:
        containers:
        - name: pytorch
          image: r.example.com/a:1.0
          command: [python, train.py, --lr, "1"]
"""


def test_a_line_with_two_edits_is_shown_as_it_will_be(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(CONTROLLER_RUNS)
    lines = podplan("check", str(file)).out.splitlines()
    preview = [line for line in lines if line.startswith(("14 - ", "14 + "))]
    assert preview == [
        '14 -           command: [python, train.py, --lr, "1"]',
        '14 +           args: [train.py, --lr, "1"]',
    ]


def test_fixes_that_are_made_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(CONTROLLER_RUNS.replace('"1"}', "1}"))
    run = podplan("check", "--fix", str(file))
    assert run.err.splitlines()[:3] == [
        "fixed 2 findings in 1 file",
        f"{file}:5 SCHEMA002 add quotes",
        f"{file}:14 CR004 move its words to args",
    ]
    assert podplan("check", "--fix", str(file)).err.startswith("nothing to fix\n")


def test_many_fixes_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    job = CONTROLLER_RUNS.replace('"1"}', "1}").partition("          command")[0]
    file.write_text("---\n".join(job.replace("name: a", f"name: a{number}") for number in range(60)))
    lines = podplan("check", "--fix", "--fix-only", str(file)).err.splitlines()
    assert lines[0] == "fixed 60 findings in 1 file"
    assert (len(lines[1:]), lines[-1]) == (51, "… and 10 more")
