"""docs/flux.md and deploy/flux: their commands and manifests tried, as far as that goes without a cluster."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import ENVIRONMENTS, podplan
from tests.plugin_server import decoded_by_kubectl

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy" / "flux"
WORKFLOW = DEPLOY / "podplan-flux.yml"
PAGE = (ROOT / "docs" / "flux.md").read_text()
[TOML] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CONSOLES = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
BY_GIT, BY_ARTIFACT = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
KUBECTL = shutil.which("kubectl")
# .ci/run installs kubectl and demands it: there, a missing one is a failure and not some tests less.
ASKED = KUBECTL or os.environ.get("PODPLAN_REQUIRE_KUBECTL")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
# Stands for programs that want a cluster or a registry: keeps what it was called with and what it was given.
DOUBLE = """\
#!{python} -I
import json, os, sys
given = "" if sys.stdin.isatty() or os.path.basename(sys.argv[0]) != "docker" else sys.stdin.read()
with open({calls!r}, "a") as stream:
    stream.write(json.dumps([os.path.basename(sys.argv[0]), sys.argv[1:], given]) + "\\n")
"""
NS = "pytorchtrainingjob"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository as the page has it, with a remote."""
    top = tmp_path / "training"
    (top / "jobs").mkdir(parents=True)
    for name in ("resnet", "bert"):
        (top / "jobs" / f"{name}.yaml").write_text(ENVIRONMENTS.replace("resnet", name))
    (top / "podplan.toml").write_text(TOML)
    git(top, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    git(top, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(top, "config", "push.autoSetupRemote", "true")
    return top


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", folder, *arguments], check=True, capture_output=True, text=True, env=environment(folder)
    )
    return done.stdout.strip()


def environment(tools: Path) -> dict[str, str]:
    """The environment of a shell in which the podplan under test and the doubles come first."""
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
    names |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in names.items()}
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **names, "PATH": path}


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with podplan, and nothing that reaches a cluster or a registry."""
    found = tmp_path / "tools"
    found.mkdir()
    write(found / "podplan", f'#!/bin/sh\nexec "{sys.executable}" -m podplan "$@"\n')
    for name in ("flux", "docker"):
        double(found, name)
    return found


def double(tools: Path, name: str) -> None:
    write(tools / name, DOUBLE.format(python=sys.executable, calls=str(tools / "calls")))


def write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def calls(tools: Path) -> list[tuple[str, list[str], str]]:
    return [tuple(json.loads(line)) for line in (tools / "calls").read_text().splitlines()]


def shell(script: str, folder: Path, tools: Path, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=environment(tools) | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def flags(arguments: list[str]) -> dict[str, str]:
    return dict(argument[2:].split("=", 1) for argument in arguments if argument.startswith("--"))


def test_the_page_goes_as_it_is_told(folder: Path, tools: Path) -> None:
    for block in CONSOLES:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            if command.startswith("kubectl ") and not ASKED:
                continue
            done = shell(command, folder, tools)
            if printed:
                assert done.stdout + done.stderr == printed


def test_what_is_in_the_repository_is_pushed_and_applied(folder: Path, tools: Path) -> None:
    double(tools, "kubectl")
    shell("podplan render --update; git add --all", folder, tools)
    shell(BY_GIT, folder, tools)
    pushed = git(folder.parent / "remote.git", "ls-tree", "-r", "--name-only", "main").splitlines()
    assert f"rendered/prod/{NS}-resnet.yaml" in pushed
    assert [(name, arguments[0]) for name, arguments, _ in calls(tools)] == [
        ("kubectl", "apply"),
        ("flux", "get"),
    ]


def test_what_is_rendered_is_pushed_as_an_artifact(folder: Path, tools: Path) -> None:
    shell("git add --all; git commit --quiet --message=all", folder, tools)
    shell(BY_ARTIFACT, folder, tools, ARTIFACT="registry.example.com/training")
    head = git(folder, "rev-parse", "HEAD")
    push, tag = (arguments for _, arguments, _ in calls(tools))
    assert push[:3] == ["push", "artifact", f"oci://registry.example.com/training:{head[:12]}"]
    assert flags(push) == {
        "path": "build/manifests",
        "source": str(folder.parent / "remote.git"),
        "revision": f"main@sha1:{head}",
    }
    assert tag == ["tag", "artifact", push[2], "--tag=prod"]
    assert (folder / "build" / "manifests" / "kustomization.yaml").is_file()


def test_every_command_of_the_page_is_tried() -> None:
    blocks = re.findall(r"^```(\w+)\n", PAGE, re.MULTILINE)
    assert len(CONSOLES) + 3 == len(blocks), "and those in sh want a remote, a registry or a cluster"
    for command in (BY_GIT + BY_ARTIFACT).splitlines():
        assert shlex.split(command)[0] in ("git", "kubectl", "flux", "podplan")


def test_the_page_says_plainly_that_there_is_no_hook() -> None:
    assert "\n\n**Flux has no plugin hook.** " in PAGE


if ASKED:

    def test_kustomize_builds_what_was_rendered(folder: Path) -> None:
        assert podplan("render", "--update", cwd=folder).code == 0
        rendered = folder / "rendered" / "prod"
        (rendered / "stray.yaml").write_text("kind: JobProfile\n")
        done = subprocess.run(
            [str(KUBECTL), "kustomize", str(rendered)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        built = {data["metadata"]["name"]: data for data in decoded_by_kubectl(done.stdout)}
        files = [yaml.safe_load(path.read_text()) for path in sorted(rendered.glob(f"{NS}-*.yaml"))]
        assert [data["metadata"]["name"] for data in files] == ["bert", "resnet"]
        assert built == {data["metadata"]["name"]: data for data in files}
        for data in built.values():
            assert data["metadata"]["annotations"] == {
                "kustomize.toolkit.fluxcd.io/prune": "disabled",
                "kustomize.toolkit.fluxcd.io/substitute": "disabled",
            }

    def test_our_manifests_are_read_by_kubectl() -> None:
        for name in ("oci.yaml", "git.yaml"):
            text = (DEPLOY / name).read_text()
            assert decoded_by_kubectl(text) == list(yaml.safe_load_all(text))


def test_kustomize_would_refuse_a_job_without_a_name(folder: Path) -> None:
    profile = folder / "jobs" / "resnet.yaml"
    profile.write_text(profile.read_text().replace("{name: resnet}", "{generateName: resnet-}"))
    run = podplan("render", "--update", cwd=folder)
    assert run.code == 2
    assert (
        "jobs/resnet.yaml renders a CR without a name, and Flux applies nothing of a folder with one"
        in run.err
    )
    assert not (folder / "rendered").exists()


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


@pytest.mark.parametrize("name", ["oci.yaml", "git.yaml"])
def test_the_kustomization_applies_the_source_beside_it(name: str) -> None:
    source, kustomization = manifests(name)
    spec = kustomization["spec"]
    assert source["apiVersion"] == "source.toolkit.fluxcd.io/v1"
    assert kustomization["apiVersion"] == "kustomize.toolkit.fluxcd.io/v1"
    assert spec["sourceRef"] == {"kind": source["kind"], "name": source["metadata"]["name"]}
    assert source["metadata"]["namespace"] == kustomization["metadata"]["namespace"]
    assert (spec["prune"], spec["force"]) == (True, False)


def test_the_manifests_and_the_workflow_and_the_page_fit_together() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    source, _ = manifests("oci.yaml")
    assert source["spec"]["url"] == f"oci://{workflow['jobs']['push']['env']['ARTIFACT']}"
    assert f"--tag={source['spec']['ref']['tag']}" in workflow["jobs"]["push"]["steps"][-1]["run"]
    source, kustomization = manifests("git.yaml")
    assert f'output = "{kustomization["spec"]["path"].removeprefix("./")}"' in TOML
    assert source["spec"]["ignore"] == "/*\n!/rendered\n"


def test_the_workflow_may_do_what_it_must_and_no_more() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    job = workflow["jobs"]["push"]
    assert (workflow["permissions"], job["permissions"]) == ({}, {"contents": "read", "packages": "write"})
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    for step in job["steps"]:
        if step.get("uses", "").startswith("example/podplan@"):
            assert set(step["with"]) <= set(action["inputs"])


def test_the_workflow_pushes_and_tags_one_commit(folder: Path, tools: Path) -> None:
    job = yaml.safe_load(WORKFLOW.read_text())["jobs"]["push"]
    env = {
        **job["env"],
        "GITHUB_SHA": COMMIT,
        "GITHUB_REF_NAME": "main",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "example/training",
        "GITHUB_ACTOR": "somebody; touch owned",
        "TOKEN": "ghs_secret",
    }
    for step in job["steps"]:
        if "run" in step:
            assert "${{" not in step["run"]
            shell(step["run"], folder, tools, **env)
    login, push, tag = calls(tools)
    asked = ["login", "ghcr.io", "--username", env["GITHUB_ACTOR"], "--password-stdin"]
    assert login == ("docker", asked, "ghs_secret"), "the token is never an argument"
    assert push[1][2] == f"oci://ghcr.io/example/training:{COMMIT[:12]}"
    assert flags(push[1]) == {
        "path": "build/manifests",
        "source": "https://github.com/example/training",
        "revision": f"main@sha1:{COMMIT}",
    }
    assert tag[1] == ["tag", "artifact", push[1][2], "--tag=prod"]
    assert not (folder / "owned").exists()
