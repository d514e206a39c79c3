"""Checks about GitOps tools: what their annotations mean, which tool it is, and what the fixes write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podplan.lint.analysis.gitops import (
    find_hook_phases,
    parse_delete_policies,
    parse_integer,
    parse_sync_options,
    parse_sync_wave,
)
from podplan.yaml import parse_yaml
from tests.changing_repository import put
from tests.command import JOB
from tests.golden_cases import podplan

ARGOCD, FLUX = "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/"


def with_annotations(**annotations: Any) -> dict[str, Any]:
    return {
        "metadata": {"annotations": {ARGOCD + key.replace("_", "-"): annotations[key] for key in annotations}}
    }


def job(annotations: dict[str, str], text: str = JOB) -> str:
    """JOB with annotations."""
    lines = "".join(f"    {key}: {json.dumps(value)}\n" for key, value in annotations.items())
    return text.replace("  name: count\n", f"  name: count\n  annotations:\n{lines}")


def rules(*arguments: str) -> list[str]:
    """The GIT rules that are broken here."""
    said = podplan("check", "--select", "GIT", "--format", "json", *arguments)
    assert said.code in (0, 1), said.err
    return [found["rule"] for found in json.loads(said.out)["findings"]]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("05", 5),
        *[(odd, None) for odd in ("", "-", "1.5", "1e3", " 5", "5 ", "0x5", "٥", "1_0", "--5", "9" * 19)],
    ],
)
def test_whole_numbers_as_go_reads_them(written: str, number: int | None) -> None:
    assert parse_integer(written) == number
    assert parse_sync_wave(with_annotations(sync_wave=written)) == (number or 0)


@pytest.mark.parametrize("odd", [None, [], {}, 5, {"metadata": None}, {"metadata": {"annotations": [1]}}])
def test_what_is_no_annotation_says_nothing(odd: Any) -> None:
    assert (find_hook_phases(odd), parse_sync_options(odd), parse_sync_wave(odd)) == ([], {}, 0)
    assert parse_sync_wave(with_annotations(sync_wave=5)) == 0


def test_lists_in_annotations() -> None:
    data = with_annotations(hook="Sync, PostSync,,Skip", sync_options=" Prune=false ,Force = true,Validate")
    assert find_hook_phases(data) == ["Sync", "PostSync"]
    assert parse_sync_options(data) == {"Prune": "false", "Force": "true", "Validate": ""}
    assert parse_delete_policies(data) == ["BeforeHookCreation"]
    assert parse_delete_policies(with_annotations(hook_delete_policy="HookFailed")) == ["HookFailed"]


@pytest.mark.parametrize(
    ("annotations", "found"),
    [
        ({ARGOCD + "hook": "Sync", ARGOCD + "hook-delete-policy": "HookFailed"}, []),
        ({ARGOCD + "hook": "Skip"}, []),
        ({ARGOCD + "hook": "PostDelete"}, []),
        ({ARGOCD + "hook": "PreSync,PostSync"}, ["GIT005"]),
        ({ARGOCD + "sync-options": "Replace=true"}, ["GIT006"]),
        ({FLUX + "force": "Enabled"}, ["GIT006"]),
        ({FLUX + "force": "true"}, []),  # which Flux does not read
        ({ARGOCD + "sync-wave": "soon"}, ["GIT007"]),
    ],
)
def test_annotations_show_the_tool(
    annotations: dict[str, str], found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "job.yaml", job(annotations))
    monkeypatch.chdir(tmp_path)
    assert rules() == found


@pytest.mark.parametrize(
    ("tool", "before", "after"),
    [
        ("argocd", {}, {ARGOCD + "sync-options": "Prune=confirm"}),
        (
            "argocd",
            {ARGOCD + "sync-options": "Prune=true, ServerSideApply=true"},
            {ARGOCD + "sync-options": "ServerSideApply=true,Prune=confirm"},
        ),
        ("flux", {"team": "a"}, {"team": "a", FLUX + "prune": "disabled"}),
    ],
)
def test_the_fix_protects_a_job(
    tool: str, before: dict[str, str], after: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "job.yaml", job(before) if before else JOB)
    monkeypatch.chdir(tmp_path)
    assert rules("--gitops", tool) == ["GIT009"]
    podplan("check", "--select", "GIT", "--gitops", tool, "--fix", "job.yaml")
    assert rules("--gitops", tool) == []
    data = parse_yaml((tmp_path / "job.yaml").read_bytes(), "job.yaml").documents[0].data
    assert data["metadata"]["annotations"] == after


def test_substitution_is_turned_off_only_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = JOB.replace("[echo, $(rank)]", '["echo", "${TOKEN:-hunter2}"]')
    put(tmp_path, "job.yaml", job({FLUX + "prune": "disabled"}, text))
    monkeypatch.chdir(tmp_path)
    said = podplan("check", "--select", "GIT", "--format", "concise").out
    assert '"${TOKEN…}"' in said
    assert "hunter2" not in said
    podplan("check", "--select", "GIT", "--fix", "job.yaml")
    assert rules() == ["GIT010"]
    podplan("check", "--select", "GIT", "--fix", "--unsafe-fixes", "job.yaml")
    assert rules() == []


@pytest.mark.parametrize("tool", ["argocd", "flux"])
def test_profiles_are_rendered_with_what_the_rules_ask_for(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(
        tmp_path,
        "job.yaml",
        "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: a}\n"
        'spec: {job: PyTorchTrainingJob, image: "train:1", run: [train.py, "${USER}"], replicas: 1}\n',
    )
    put(tmp_path, "podplan.toml", f'[gitops]\ntool = "{tool}"\n')
    monkeypatch.chdir(tmp_path)
    assert rules() == []


def test_a_namespace_in_a_later_wave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(
        tmp_path,
        "all.yaml",
        JOB.replace("name: count", "name: count\n  namespace: ml")
        + "---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Namespace\n  metadata:\n"
        f'    name: ml\n    annotations: {{{ARGOCD}sync-wave: "1"}}\n',
    )
    monkeypatch.chdir(tmp_path)
    assert rules() == ["GIT008"]
    (tmp_path / "all.yaml").write_text((tmp_path / "all.yaml").read_text().replace('"1"', '"0"'))
    assert rules() == []
