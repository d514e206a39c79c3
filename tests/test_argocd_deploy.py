"""deploy/argocd: the plugin, its image, and what it adds to Argo CD, built and checked without one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan import kubernetes
from podplan.integrations.argocd.parameters import PARAMETER_TYPES
from podplan.kinds.registry import PACKAGES
from tests.golden_cases import podplan
from tests.plugin_server import DEPLOY, ROOT, decoded_by_kubectl, image_variables, plugin

DOCKERFILE = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
KUBECTL = shutil.which("kubectl")
# Argo CD as far as the plugin is concerned: the names are those of its own manifests.
ARGO_CD = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, labels: {app.kubernetes.io/part-of: argocd}}
data: {resource.compareoptions: "ignoreAggregatedRoles: true"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: argocd-repo-server}}
  template:
    metadata: {labels: {app.kubernetes.io/name: argocd-repo-server}}
    spec:
      serviceAccountName: argocd-repo-server
      containers:
      - name: argocd-repo-server
        image: quay.io/argoproj/argocd:v3.1.0
        volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: plugins, mountPath: /home/argocd/cmp-server/plugins}
        securityContext:
          runAsNonRoot: true
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
          seccompProfile: {type: RuntimeDefault}
      volumes:
      - {name: tmp, emptyDir: {}}
      - {name: var-files, emptyDir: {}}
      - {name: plugins, emptyDir: {}}
"""
KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: argocd
resources: [argo-cd.yaml]
components: [component]
images: [{name: registry.example.com/podplan-cmp, newName: harbor.example.com/podplan-cmp, digest: "DIGEST"}]
"""
DIGEST = f"sha256:{'0123456789abcdef' * 4}"


def built(folder: Path) -> dict[str, Any]:
    """What kubectl kustomize makes of Argo CD with the component, by kind."""
    shutil.copytree(DEPLOY / "component", folder / "component")
    (folder / "argo-cd.yaml").write_text(ARGO_CD)
    (folder / "kustomization.yaml").write_text(KUSTOMIZATION.replace("DIGEST", DIGEST))
    done = subprocess.run(
        [str(KUBECTL), "kustomize", "."], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return {data["kind"]: data for data in yaml.safe_load_all(done.stdout)}


# .ci/run installs kubectl and demands it: there, a missing one is a failure and not some tests less.
if KUBECTL or os.environ.get("PODPLAN_REQUIRE_KUBECTL"):

    @pytest.fixture(scope="module")
    def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
        return built(tmp_path_factory.mktemp("argocd"))

    def test_the_sidecar(made: dict[str, Any]) -> None:
        spec = made["Deployment"]["spec"]["template"]["spec"]
        containers = {container["name"]: container for container in spec["containers"]}
        assert set(containers) == {"argocd-repo-server", "podplan"}
        sidecar = containers["podplan"]
        assert sidecar["image"] == f"harbor.example.com/podplan-cmp@{DIGEST}"
        mounts = {mount["mountPath"]: mount["name"] for mount in sidecar["volumeMounts"]}
        assert mounts == {
            "/var/run/argocd": "var-files",
            "/home/argocd/cmp-server/plugins": "plugins",
            "/tmp": "podplan-tmp",
        }
        read_only = {mount["name"] for mount in sidecar["volumeMounts"] if mount.get("readOnly")}
        assert read_only == {"var-files"}, "the repo-server runs what lies there"
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        assert volumes["podplan-tmp"] == {"name": "podplan-tmp", "emptyDir": {"sizeLimit": "2Gi"}}
        assert set(mounts.values()) < set(volumes)
        assert spec["automountServiceAccountToken"] is False
        assert sidecar["securityContext"]["readOnlyRootFilesystem"] is True
        assert sidecar["securityContext"]["runAsUser"] == 999

    def test_the_api_server_takes_the_pod_and_so_does_the_strictest_standard(
        made: dict[str, Any], tmp_path: Path
    ) -> None:
        """Field names by our schemas of every version, Pod Security restricted by our policies."""
        template = made["Deployment"]["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": template["spec"]}
        for version in kubernetes.supported_versions():
            assert kubernetes.validate_object(pod, version) == []
        (tmp_path / "pod.yaml").write_text(yaml.safe_dump(pod))
        with chdir(tmp_path):
            said = podplan("check", "--select", "SEC", "--fail-on", "info", "pod.yaml")
        assert said.code == 0, said.out
        assert "(1 object" in said.out

    @pytest.mark.parametrize("name", ["application.yaml", "applicationset.yaml"])
    def test_the_examples_are_read_as_they_are_written(name: str) -> None:
        text = (DEPLOY / name).read_text()
        assert decoded_by_kubectl(text) == list(yaml.safe_load_all(text))

    def test_the_health_of_every_kind_is_the_script_of_its_family(made: dict[str, Any]) -> None:
        data = made["ConfigMap"]["data"]
        assert data.pop("resource.compareoptions") == "ignoreAggregatedRoles: true"
        scripts = {
            "batch.tensorstack.dev": "health.lua",
            "kubeflow.org": "training-operator-health.lua",
            "trainer.kubeflow.org": "job-set-health.lua",
            "jobset.x-k8s.io": "job-set-health.lua",
        }
        assert data == {
            f"resource.customizations.health.{kind.group}_{kind.kind}": (
                DEPLOY / "component" / scripts[kind.group]
            ).read_text()
            for kind in PACKAGES
            if kind.group in scripts and not kind.kind.endswith("Runtime")  # Argo CD knows Jobs
        }
        assert made["ConfigMap"]["metadata"]["name"] == "argocd-cm"


def test_the_plugin_is_found_by_the_name_that_applications_say() -> None:
    """With a version, its id would be another one."""
    assert plugin().name == "podplan"
    for name in ("application.yaml", "applicationset.yaml"):
        assert _source(name)["plugin"]["name"] == "podplan"


@pytest.mark.parametrize("name", ["application.yaml", "applicationset.yaml"])
def test_the_examples_do_not_start_jobs_anew(name: str) -> None:
    data = yaml.safe_load((DEPLOY / name).read_text())
    spec = data["spec"]["template"]["spec"] if data["kind"] == "ApplicationSet" else data["spec"]
    assert spec["syncPolicy"]["automated"] == {"prune": True, "selfHeal": False, "allowEmpty": False}
    parameters = spec["source"]["plugin"]["parameters"]
    assert {one["name"] for one in parameters} <= set(PARAMETER_TYPES)
    assert all(set(one) == {"name", PARAMETER_TYPES[one["name"]]} for one in parameters)


def _source(name: str) -> Any:
    data = yaml.safe_load((DEPLOY / name).read_text())
    spec = data["spec"]["template"]["spec"] if data["kind"] == "ApplicationSet" else data["spec"]
    return spec["source"]


def _lines(word: str) -> list[str]:
    return re.findall(rf"^{word} (.*)$", DOCKERFILE, re.MULTILINE)


def test_the_base_of_the_image_is_pinned_for_both_stages() -> None:
    [base] = _lines("ARG")
    assert re.fullmatch(r"PYTHON=python:3\.\d+\.\d+-slim-[a-z]+@sha256:[0-9a-f]{64}", base)
    assert _lines("FROM") == ["${PYTHON} AS build", "${PYTHON}"]


def test_what_the_image_installs_is_locked() -> None:
    locked, ours = (line for line in _lines("RUN") if " pip install " in line)
    assert "--require-hashes -r /src/deploy/requirements.lock" in locked
    assert "--no-deps --no-build-isolation /src" in ours
    assert all(" -I " in line for line in _lines("RUN"))


def test_what_the_image_copies_is_there() -> None:
    for line in _lines("COPY"):
        *options, source, _ = line.split()
        assert options or (ROOT / source).exists()


def test_the_image_runs_as_argo_cd_does_and_takes_no_module_from_a_repository() -> None:
    assert _lines("USER") == ["999"]
    assert _lines("ENTRYPOINT") == ['["/var/run/argocd/argocd-cmp-server"]']
    variables = image_variables()
    assert variables["PYTHONSAFEPATH"] == "1"
    assert variables["HOME"] == "/tmp"
    assert [command[0] for command in plugin()[1:]] == ["podplan"] * 3
