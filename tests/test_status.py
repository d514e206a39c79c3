"""What podplan status prints for the cases below fixtures/status/, and that it agrees with real statuses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.schema import validate_cr
from tests import command
from tests.golden_cases import FIXTURES, copy, podplan

CASES = sorted(folder for folder in (FIXTURES / "status").iterdir() if folder.is_dir())
REPORTED = [folder for folder in CASES if (folder / "reported.yaml").exists()]
GOLDENS = {"status.txt": "text", "status.yaml": "yaml"}
INPUTS = {"cr.yaml", "profile.yaml", "pods.yaml", "arguments", "podplan.toml"}


def input_of(folder: Path) -> str:
    return "profile.yaml" if (folder / "profile.yaml").exists() else "cr.yaml"


def arguments_of(folder: Path) -> list[str]:
    file = folder / "arguments"
    flags = shlex.split(file.read_text()) if file.exists() else []
    return [input_of(folder), *(("--pods", "pods.yaml") if (folder / "pods.yaml").exists() else ()), *flags]


def printed(folder: Path, to: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> str:
    """What podplan status prints in a copy of a case."""
    copy([path for path in folder.iterdir() if path.name in INPUTS], folder, to)
    monkeypatch.chdir(to)
    said = podplan("status", *arguments_of(folder), "--format", form)
    assert said.code == 0, said.err
    return said.out


@pytest.mark.parametrize("golden", GOLDENS)
@pytest.mark.parametrize("folder", CASES, ids=[folder.name for folder in CASES])
def test_golden(
    folder: Path,
    golden: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    text = printed(folder, tmp_path, monkeypatch, GOLDENS[golden])
    file_regression.check(text, fullpath=folder / golden, encoding="utf-8", newline="")


@pytest.mark.parametrize("folder", REPORTED, ids=[folder.name for folder in REPORTED])
def test_the_status_is_what_a_real_controller_reported(folder: Path) -> None:
    real, ours = (yaml.safe_load((folder / file).read_text()) for file in ("reported.yaml", "status.yaml"))
    assert differences(real, ours) == []


def differences(real: Any, ours: Any, path: str = "") -> list[str]:
    """Where ``ours`` lacks something that is ``real``, has it otherwise or in another order."""
    if isinstance(real, dict) and isinstance(ours, dict):
        return [found for key in real for found in differences(real[key], ours.get(key), f"{path}/{key}")]
    if isinstance(real, list) and isinstance(ours, list):
        types = [one.get("type") for one in real]
        ours = [one for one in ours if one.get("type") in types]
        if len(ours) != len(real):
            return [f"{path}: {len(ours)} of {len(real)} entries"]
        pairs = enumerate(zip(real, ours, strict=True))
        return [found for i, (one, other) in pairs for found in differences(one, other, f"{path}/{i}")]
    return [] if real == ours else [f"{path}: {ours!r} instead of {real!r}"]


@pytest.mark.parametrize("folder", CASES, ids=[folder.name for folder in CASES])
def test_json_holds_the_status_and_a_cr_may_have_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = json.loads(printed(folder, tmp_path, monkeypatch, "json"))
    status = yaml.safe_load((folder / "status.yaml").read_text())["status"]
    assert found["format"] == 1
    assert found["status"] == status
    assert {pod["pod"] for pod in found["replicas"]} >= {*found["deleted"], *found["restarted"]}
    if input_of(folder) == "cr.yaml":
        cr = {**next(yaml.safe_load_all((folder / "cr.yaml").read_text())), "status": status}
        assert not [one for one in validate_cr(cr, "1.34").diagnostics if "status" in one.path]


@pytest.mark.parametrize("folder", CASES, ids=[folder.name for folder in CASES])
def test_a_case_holds_nothing_that_nobody_reads_or_writes(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} <= INPUTS | set(GOLDENS) | {"reported.yaml"}
    text = (folder / input_of(folder)).read_text()
    assert text.startswith("# "), "a case begins with a line that says what it is about"


def test_a_process_of_its_own_prints_the_same_bytes(tmp_path: Path) -> None:
    folder = FIXTURES / "status" / "pytorch-all-fall-together"
    copy([path for path in folder.iterdir() if path.name in INPUTS], folder, tmp_path)
    for seed in ("0", "1"):
        env = {"PYTHONHASHSEED": seed, "LC_ALL": "C"}
        run = command.podplan("status", *arguments_of(folder), cwd=tmp_path, env=env)
        assert run.out == (folder / "status.txt").read_text(encoding="utf-8")


PAGE = (FIXTURES.parent / "docs" / "status.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_what_the_page_shows_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job, pods = _blocks("yaml")
    Path("bert.yaml").write_text(job)
    Path("pods.yaml").write_text(pods)
    assert podplan("status", "bert.yaml", "--pods", "pods.yaml").code == 0
    for block in _blocks("console"):
        for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = shown.partition("\n")
            run = line.removeprefix("kubectl get pods -o yaml | ").replace("--pods -", "--pods pods.yaml")
            said = podplan(*shlex.split(run)[1:])
            assert said.code == 0, said.err
            assert output in ("", said.out)
