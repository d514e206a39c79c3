"""docs/fmt.md: its example is formatted as it says, and its commands print what it shows."""

from __future__ import annotations

import re
from pathlib import Path

from tests.command import podplan

PAGE = (Path(__file__).parents[1] / "docs/fmt.md").read_text()
BEFORE, AFTER = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
FORMATTING, MIGRATING = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
PALM = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: ColossalAIJob
metadata: {name: palm}
spec:
  launcher: {image: "registry.example.com/nlp/palm:1"}
  worker: {replicas: 2, procPerNode: 8, command: [train.py],
    template: {spec: {containers: [{name: worker, image: "registry.example.com/nlp/palm:1"}]}}}
"""


def said(block: str, folder: Path) -> str:
    """The block with what its commands print now."""
    lines = []
    for command in re.findall(r"^\$ podplan (.*)$", block, re.MULTILINE):
        run = podplan(*command.split(), cwd=folder)
        lines.append(f"$ podplan {command}\n{run.out}{run.err}")
    return "".join(lines)


def test_formatting(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "resnet.yaml").write_text(BEFORE)
    (tmp_path / "jobs" / "small.yaml").write_text(AFTER.replace("resnet", "small"))
    assert said(FORMATTING, tmp_path) == FORMATTING
    assert (tmp_path / "jobs" / "resnet.yaml").read_text() == AFTER


def test_migrating(tmp_path: Path) -> None:
    (tmp_path / "palm.yaml").write_text(PALM)
    assert said(MIGRATING, tmp_path) == MIGRATING
