"""Repositories with Applications of Argo CD, passed to podplan by tests/plugin_server.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import plugin_server as server
from tests.plugin_server import Copy, PluginError

BASE = """\
apiVersion: podplan/v1
kind: JobProfileBase
metadata: {name: torch}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/vision/train:1e31234
  run: [train.py, --epochs, "${{ params.epochs }}"]
  params: {epochs: {type: integer, default: 90, minimum: 1}}
"""
PROFILE = """\
# +argocd:skip-file-rendering
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: resnet}
spec:
  extends: [../../bases/torch.yaml]
  replicas: 2
  environments:
    dev: {replicas: 1}
    prod: {replicas: 4, namespace: ml}
"""
ALONE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: alone}
spec: {job: GenericJob, image: "registry.example.com/a:1", run: {exec: ["y", "1e3", "0o17"]}, replicas: 1}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {resume: 'yes'}\n"
PROD = [{"name": "environment", "string": "prod"}]


def with_base(top: Path) -> Path:
    """Return a repository with an Application in apps/train and a base next to it."""
    for name, text in {
        ".git/HEAD": "ref: refs/heads/main\n",
        "bases/torch.yaml": BASE,
        "apps/train/resnet.yaml": PROFILE,
    }.items():
        write(top / name, text)
    return top


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def handed(repository: Path, tmp_path: Path, **how: Any) -> Copy:
    return server.copy(repository, tmp_path / "tmp", **{"path": "apps/train", **how})


def only(tmp_path: Path, files: dict[str, str]) -> Copy:
    """Return a repository that is one Application."""
    for name, text in files.items():
        write(tmp_path / "repository" / name, text)
    return server.copy(tmp_path / "repository", tmp_path / "tmp")


def refusal(where: Copy, parameters: Any = None, **how: Any) -> str:
    """Return what the UI shows for a rejected Application, without the command."""
    with pytest.raises(PluginError) as error:
        server.generate(where, parameters, **how)
    told = str(error.value)
    prefix = "`podplan cmp generate` failed exit status "
    assert told.startswith(prefix)
    assert len(told.splitlines()) <= 15
    return told.removeprefix(prefix)


def jobs(where: Copy, parameters: Any = None, **how: Any) -> list[Any]:
    return server.objects(server.generate(where, parameters, **how).out)


def refusal_with(where: Copy, parameters: Any, flags: list[str]) -> str:
    """Return what the UI shows for a command with more flags."""
    with pytest.raises(PluginError) as error:
        server.generate(where, parameters, flags)
    return str(error.value)
