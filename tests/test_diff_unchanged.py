"""Jobs that a change does not touch are made once, and count in the sums as if they were made twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from podplan import pipeline
from podplan.tools.diff.unchanged_files import UnchangedFiles
from tests.command import INVENTORY
from tests.golden_cases import podplan

BASE = """\
apiVersion: podplan/v1
kind: JobProfileBase
metadata: {name: common}
spec: {image: "registry.example.com/train:1.4", launcher: torchrun}
"""
BETWEEN = """\
apiVersion: podplan/v1
kind: JobProfileBase
metadata: {name: between}
spec: {extends: [common.yaml], replicas: 2}
"""
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: NAME, namespace: ai}
spec:
  extends: [../bases/between.yaml]
  job: PyTorchTrainingJob
  run: [train.py]
  resources: {limits: {nvidia.com/gpu: 8}}
"""
CR = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: hand-written, namespace: ai}
spec:
  replicaSpecs:
    - type: worker
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: "registry.example.com/train:1.4"}]}}
"""
FILES = {
    "bases/common.yaml": BASE,
    "bases/between.yaml": BETWEEN,
    "jobs/first.yaml": PROFILE.replace("NAME", "first"),
    "jobs/second.yaml": PROFILE.replace("NAME", "second"),
    "jobs/cr.yaml": CR,
    "inventory.yaml": INVENTORY,
}
ALL = ("first", "hand-written", "second")
OTHER = INVENTORY + "# another text\n"


def lay_out(folder: Path, files: dict[str, str | None]) -> None:
    (folder / ".git").mkdir(parents=True)
    for name, text in files.items():
        if text is not None:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("change", "twice"),
    [
        ({}, ()),
        ({"jobs/first.yaml": FILES["jobs/first.yaml"].replace("train.py", "other.py")}, ("first",)),
        ({"bases/common.yaml": BASE.replace("1.4", "1.5")}, ("first", "second")),
        ({"bases/between.yaml": BETWEEN.replace("replicas: 2", "replicas: 3")}, ("first", "second")),
        ({"inventory.yaml": OTHER}, ALL),
        ({"inventory.yaml": None}, ALL),
        ({"podplan.toml": 'k8s-version = "1.33"\n'}, ALL),
        ({"jobs/cr.yaml": CR.replace("replicas: 1", "replicas: 4")}, ("hand-written",)),
    ],
    ids=["nothing", "profile", "base-of-a-base", "base", "inventory", "no-inventory", "settings", "cr"],
)
@pytest.mark.parametrize("is_mirrored", [False, True], ids=["forth", "back"])
def test_only_jobs_that_depend_on_the_change_are_made_twice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, str | None],
    twice: tuple[str, ...],
    is_mirrored: bool,
) -> None:
    lay_out(tmp_path / "one", {**FILES})
    lay_out(tmp_path / "other", {**FILES, **change})
    sides = ("one", "other") if is_mirrored else ("other", "one")
    command = ("diff", str(tmp_path / sides[0]), "--base-tree", str(tmp_path / sides[1]))
    made: Counter[str] = Counter()
    lower = pipeline.lower_plan

    def counting(plan: Any, *others: Any) -> Any:
        made[plan.cr.data["metadata"]["name"]] += 1
        return lower(plan, *others)

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "lower_plan", counting)
        short = podplan(*command, "--format", "json")
    assert made == {name: 2 if name in twice else 1 for name in ALL}
    monkeypatch.setattr(UnchangedFiles, "has_same_jobs", lambda *_: False)
    assert podplan(*command, "--format", "json") == short
