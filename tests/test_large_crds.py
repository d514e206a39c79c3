"""CustomResourceDefinitions that Argo CD cannot apply on the client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import podplan

LIMIT = 256 * 1024
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: operators}
spec: {syncPolicy: {syncOptions: [ServerSideApply=true]}}
"""


def write_crd(size: int, **metadata: Any) -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs.example.com", **metadata},
        "spec": {"group": ""},
    }
    crd["spec"] = {"group": "x" * (size - len(json.dumps(crd, separators=(",", ":"))))}
    Path("crd.yaml").write_text(json.dumps(crd))


def list_rules(*flags: str) -> list[str]:
    shown = podplan("check", "--no-cache", "--isolated", *flags, "--format", "json", ".")
    return [one["rule"] for one in json.loads(shown.out)["findings"]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def test_the_limit_is_that_of_an_annotation() -> None:
    write_crd(LIMIT)
    assert list_rules("--gitops", "argocd") == []
    write_crd(LIMIT + 1)
    assert list_rules("--gitops", "argocd") == ["GIT072"]


def test_only_a_client_side_apply_writes_the_annotation() -> None:
    write_crd(LIMIT + 1)
    assert list_rules() == list_rules("--gitops", "flux") == []
    write_crd(LIMIT + 200, annotations={"argocd.argoproj.io/sync-options": "ServerSideApply=true"})
    assert list_rules("--gitops", "argocd") == []
    write_crd(LIMIT + 1)
    Path("application.yaml").write_text(APPLICATION)
    assert list_rules("--gitops", "argocd") == []
