"""Memory does not grow with instances and profiles: one job is looked at at a time."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from podplan.checker.check import check_files
from podplan.cli import cmp
from podplan.core.limits import MAX_RESOLVED_NODES
from podplan.lint.registry import load_builtin_policies
from podplan.pipeline import PipelineSettings, iter_job_plans
from podplan.profile import expressions
from podplan.rendering import spool
from podplan.tools.diff import repository_state
from podplan.workspace.documents import classify_documents
from podplan.workspace.file_loader import load_file
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile
from tests.golden_cases import podplan
from tests.live_documents import most_alive
from tests.profile_texts import run
from tests.thoroughness import mark_others

SWEEP = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {{name: sweep-{number}, namespace: ai}}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/train:1.4
  run: [train.py, --seed, "${{{{ matrix.seed }}}}"]
  launcher: torchrun
  replicas: 4
  resources: {{limits: {{cpu: 8, memory: 64Gi, nvidia.com/gpu: 8}}}}
  matrix:
    maxInstances: {instances}
    axes: {{seed: [{seeds}]}}
"""
FEW, MANY = 8, 40


def sweep(number: int, instances: int) -> str:
    seeds = ", ".join(map(str, range(instances)))
    return SWEEP.format(number=number, instances=instances, seeds=seeds)


def sweeps(folder: Path, files: int, instances: int) -> Path:
    """So many profiles of so many instances."""
    folder.mkdir()
    for number in range(files):
        (folder / f"sweep-{number}.yaml").write_text(sweep(number, instances))
    return folder


@pytest.fixture(autouse=True)
def nothing_resolved_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "MAX_RESOLVED_NODES", 0)


def test_instances_that_are_not_kept_are_resolved_again_to_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    again = run(sweep(0, 8))
    monkeypatch.setattr(expressions, "MAX_RESOLVED_NODES", MAX_RESOLVED_NODES)
    kept = run(sweep(0, 8))
    assert again.diagnostics == kept.diagnostics == ()
    assert [(one.id, one.doc.data) for one in again.variants] == [
        (one.id, one.doc.data) for one in kept.variants
    ]
    assert kept.variants[0].doc is kept.variants[0].doc
    assert again.variants[0].doc is not again.variants[0].doc


def test_one_instance_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone_through(folder: Path) -> None:
        source = load_file(str(folder / "sweep-0.yaml"))
        assert isinstance(source, SourceFile)
        (item,) = classify_documents(source)
        for plan in iter_job_plans(item, PipelineSettings(environments="all"), Loader()):
            assert plan.is_lowered

    few, many = (sweeps(tmp_path / str(number), 1, number) for number in (FEW, MANY))
    assert most_alive(monkeypatch, partial(gone_through, many)) <= 5 + most_alive(
        monkeypatch, partial(gone_through, few)
    )


@pytest.mark.long
def test_a_check_keeps_no_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(folder: Path) -> None:
        settings = PipelineSettings(environments="all", policies=tuple(load_builtin_policies()))
        assert check_files([str(folder)], settings, Loader()).summary.objects

    few, many = (sweeps(tmp_path / str(number), 3, number) for number in (FEW, MANY))
    most_alive(monkeypatch, partial(checked, few))  # with what is made once
    assert (
        most_alive(monkeypatch, partial(checked, many)) <= most_alive(monkeypatch, partial(checked, few)) + 40
    )


COMMANDS = [
    ("render",),
    ("render", "-o", "out"),
    ("lower",),
    ("lower", "--fold"),
]


@pytest.mark.parametrize("command", mark_others(COMMANDS, every=2), ids=" ".join)
def test_a_command_keeps_no_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    def run(folder: Path) -> None:
        monkeypatch.chdir(folder.parent)
        assert podplan(*command, folder.name).code == 0

    few, many = (sweeps(tmp_path / str(number), 3, number) for number in (FEW, MANY))
    most_alive(monkeypatch, partial(run, few))
    assert most_alive(monkeypatch, partial(run, many)) <= most_alive(monkeypatch, partial(run, few)) + 40


@pytest.mark.parametrize("path", ["metadata.name", "Pod/sweep-0-seed-39-worker-1:spec.restartPolicy"])
def test_a_question_about_one_job_keeps_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def run(folder: Path) -> None:
        monkeypatch.chdir(folder)
        asked = path.replace("39", str(int(folder.name) - 1))
        assert podplan("why", "sweep-0.yaml", asked).code == 0

    few, many = (sweeps(tmp_path / str(number), 1, number) for number in (FEW, MANY))
    most_alive(monkeypatch, partial(run, few))
    assert most_alive(monkeypatch, partial(run, many)) <= most_alive(monkeypatch, partial(run, few)) + 40


@pytest.mark.long
def test_argo_cd_gets_jobs_of_which_none_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(folder: Path) -> None:
        monkeypatch.chdir(folder)
        assert podplan("cmp", "generate").code == 0

    for name in ("_limit_memory", "_install_deadline"):  # they are for the process
        monkeypatch.setattr(cmp, name, lambda _: None)

    few, many = (sweeps(tmp_path / str(number), 3, number) for number in (FEW, MANY))
    most_alive(monkeypatch, partial(run, few))
    assert most_alive(monkeypatch, partial(run, many)) <= most_alive(monkeypatch, partial(run, few)) + 40


def test_text_is_given_back_as_it_was_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_PIECE", 10)
    texts = ["a: 1\n", "b: ü\U0001f600\n" * 3, "", "c: \udcff\n"]
    found, by_name = spool.Spool(), spool.Texts()
    for number, text in enumerate(texts):
        found.add(text)
        by_name.add(str(number), text)
    assert b"".join(found) == b"".join(found) == "".join(texts).encode("utf-8", "backslashreplace")
    assert list(by_name.values()) == texts


@pytest.mark.long
def test_a_comparison_keeps_no_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(folder: Path) -> None:
        changed = sweeps(folder / "changed", 3, int(folder.name))
        for path in changed.iterdir():
            path.write_text(path.read_text().replace("train:1.4", "train:1.5"))
        result = podplan("diff", str(changed), "--base-tree", str(folder / "same"))
        assert f"{3 * int(folder.name)} need re-creation" in result.out
        shutil.rmtree(changed)

    monkeypatch.setattr(repository_state, "MAX_KEPT_PARTS", 1_000)
    for number in (FEW, MANY):
        (tmp_path / str(number)).mkdir()
        sweeps(tmp_path / str(number) / "same", 3, number)
    few, many = tmp_path / str(FEW), tmp_path / str(MANY)
    most_alive(monkeypatch, partial(run, few))
    assert most_alive(monkeypatch, partial(run, many)) <= most_alive(monkeypatch, partial(run, few)) + 40
