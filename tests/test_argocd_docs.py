"""docs/argocd.md: its commands print what it shows, and its YAML is what we ship or comes to what it says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.integrations.argocd.parameters import PARAMETER_TYPES
from tests import plugin_server as server
from tests.plugin_server import DEPLOY, Copy
from tests.test_argocd_deploy import ARGO_CD, KUBECTL

PAGE = (DEPLOY.parents[1] / "docs/argocd.md").read_text()


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return found


KUSTOMIZATION, PROFILE, APPLICATION, COMMAND = blocks("yaml")
BUILD, KUSTOMIZE = (block.strip() for block in blocks("sh"))


@pytest.fixture
def jobs(tmp_path: Path) -> Copy:
    """The folder of the Application, as podplan finds it."""
    (tmp_path / "repository/jobs").mkdir(parents=True)
    (tmp_path / "repository/jobs/resnet.yaml").write_text(PROFILE)
    return server.copy(tmp_path / "repository", tmp_path / "tmp", path="jobs")


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_the_page_shows(jobs: Copy, block: str) -> None:
    lines = []
    for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        words = shlex.split(line)
        given = dict(word.split("=", 1) for word in words if word.startswith("ARGOCD_"))
        command = [word for word in words if not word.startswith("ARGOCD_")]
        env = {**server.image_variables(), **given}
        answer = server.run(command, jobs, env)
        errors = [said for said in answer.err.splitlines() if answer.code or "info" not in said]
        lines += [f"$ {line}", *answer.out.splitlines(), *errors]
    assert "\n".join(lines) + "\n" == block


def test_the_application_is_the_one_that_is_shipped_and_comes_to_its_cr(jobs: Copy) -> None:
    shipped = (DEPLOY / "application.yaml").read_text()
    assert shipped.endswith(APPLICATION)
    parameters = yaml.safe_load(APPLICATION)["spec"]["source"]["plugin"]["parameters"]
    [cr] = server.objects(server.generate(jobs, parameters).out)
    assert cr["metadata"]["namespace"] == "ml"
    assert "annotations" not in cr["metadata"]


def test_a_stricter_command(jobs: Copy) -> None:
    command = yaml.safe_load(COMMAND)["generate"]["command"]
    assert command[:3] == server.plugin().generate
    env = server.variables(jobs, [{"name": "environment", "string": "prod"}])
    answer = server.run(command, jobs, env)
    [cr] = server.objects(answer.out)
    assert cr["metadata"]["annotations"] == {
        "argocd.argoproj.io/sync-options": "Prune=confirm,Delete=confirm"
    }


def test_the_image_is_built_as_its_file_says() -> None:
    """docker is not needed for tests: make integration runs the lines of the file without it."""
    assert f"#   {BUILD}\n" in (DEPLOY / "Dockerfile").read_text()
    assert (DEPLOY.parents[1] / BUILD.split()[3]).is_file()


# .ci/run installs kubectl and demands it: there, a missing one is a failure and not one test less.
if KUBECTL or os.environ.get("PODPLAN_REQUIRE_KUBECTL"):

    def test_the_kustomization(tmp_path: Path) -> None:
        shutil.copytree(DEPLOY / "component", tmp_path / "podplan")
        (tmp_path / "install.yaml").write_text(ARGO_CD)
        (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATION)
        done = subprocess.run(KUSTOMIZE.split(), cwd=tmp_path, capture_output=True, text=True, check=True)
        kinds = [data["kind"] for data in yaml.safe_load_all(done.stdout)]
        assert kinds == ["ConfigMap", "Deployment"]
        assert "image: registry.example.com/podplan-cmp:0.1.0" in done.stdout

    def test_an_argo_cd_that_names_its_namespace(tmp_path: Path) -> None:
        """As the page says: without the line, there is the error that it quotes."""
        shutil.copytree(DEPLOY / "component", tmp_path / "podplan")
        named = re.sub(r"\{name: (argocd-repo-server|argocd-cm)", r"{namespace: argocd, name: \1", ARGO_CD)
        (tmp_path / "install.yaml").write_text(named)
        (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATION)
        failed = subprocess.run(KUSTOMIZE.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "does not exist; cannot merge or replace" in failed.stderr
        component = tmp_path / "podplan/kustomization.yaml"
        component.write_text(
            component.read_text().replace("name: argocd-cm", "name: argocd-cm\n  namespace: argocd")
        )
        done = subprocess.run(KUSTOMIZE.split(), cwd=tmp_path, capture_output=True, text=True, check=True)
        config, deployment = yaml.safe_load_all(done.stdout)
        assert len(config["data"]) == 17
        assert len(deployment["spec"]["template"]["spec"]["containers"]) == 2


def test_the_table_of_parameters_is_whole() -> None:
    rows = dict(re.findall(r"^\| `([a-zA-Z.]+)` \| `?([a-z ]+)`? \|", PAGE, re.MULTILINE))
    assert rows == {**PARAMETER_TYPES, "params.NAME": "as declared"}


def test_the_announcements_are_those_of_the_table(jobs: Copy) -> None:
    names: list[Any] = [one["name"] for one in server.announcements(jobs)]
    assert names == [*PARAMETER_TYPES, "params.epochs"]
