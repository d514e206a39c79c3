"""How podplan is installed: kubectl, krew, the image and the component for CIs, and what the pages say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_argocd_deploy import DOCKERFILE as SIDECAR
from tools import krew
from tools.audit import parse_pins

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PROGRAMS = Path(sys.executable).parent
KUBECTL = shutil.which("kubectl")
IMAGE = re.sub(r"\\\n\s*", "", (ROOT / "deploy" / "ci" / "Dockerfile").read_text())
COMPONENT = ROOT / "deploy" / "gitlab" / "templates" / "podplan.yml"
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  pytorchReplicaSpecs:
    Worker: {replica: 2, template: {spec: {containers: [{name: pytorch, image: "train:1.4"}]}}}
"""
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "action.yml")),
    *(path for path in (ROOT / "docs").rglob("*.md") if path.name != "releasing.md"),
    *(path for path in (ROOT / "deploy").rglob("*") if path.is_file()),
    *((ROOT / "editors" / "vscode") / name for name in ("README.md", "package.json")),
]
# What would install a podplan that somebody else may publish under the name.
UNPUBLISHED = re.compile(
    r"\b(?:pip|pip3|pipx|uv tool|uv pip) install (?:-[\w-]+ )*['\"]?podplan\b(?![./])"
    r"|\buvx podplan\b|\buv tool run podplan\b|\bbrew install\b|\bkubectl krew install podplan\b"
    r"|\b(?:ghcr\.io|docker\.io|quay\.io)/[\w./-]*podplan|--install-extension [\w-]+\.podplan"
)


def test_no_page_installs_a_name_that_is_not_published() -> None:
    assert len(PAGES) > 100
    for page in PAGES:
        found = UNPUBLISHED.search(page.read_text(encoding="utf-8"))
        assert found is None, f"{page.relative_to(ROOT)}: {found and found[0]}"


@pytest.mark.parametrize(
    "text",
    [
        "pip install podplan",
        "pip install -U 'podplan[cel]'",
        "uvx podplan check",
        "brew install podplan",
        "docker run ghcr.io/example/podplan:1",
    ],
)
def test_names_that_are_not_published_are_found(text: str) -> None:
    assert UNPUBLISHED.search(text)


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


# .ci/run installs kubectl and demands it: there, a missing one is a failure and not some tests less.
if KUBECTL or os.environ.get("PODPLAN_REQUIRE_KUBECTL"):

    def test_kubectl_finds_and_runs_the_plugin(tmp_path: Path) -> None:
        (tmp_path / "job.yaml").write_text(JOB)
        assert f"{PROGRAMS}/kubectl-podplan" in run("kubectl", "plugin", "list", cwd=tmp_path).stdout
        done = run("kubectl", "podplan", "check", "--fail-on", "warning", "job.yaml", cwd=tmp_path)
        assert done.returncode == 1
        assert 'unknown field "replica"' in done.stdout

    @pytest.mark.parametrize(
        ("words", "lines"),
        [
            (["che"], ["check\tCheck job profiles, CRs and the objects...", ":4"]),
            (["check", "--format", "sar"], ["sarif", ":4"]),
            (["check", "jo"], [":0"]),
        ],
    )
    def test_kubectl_completes(words: list[str], lines: list[str], tmp_path: Path) -> None:
        assert run("kubectl", "__complete", "podplan", *words, cwd=tmp_path).stdout.splitlines() == lines


def test_the_manifest_of_krew_meets_its_rules() -> None:
    """Those of internal/index/validation of krew, as far as the digests of archives are not needed."""
    text = (krew.TEMPLATES / "podplan.yaml").read_text()
    manifest = yaml.safe_load(text.replace("VERSION", PROJECT["version"]))
    assert (manifest["apiVersion"], manifest["kind"]) == (
        "krew.googlecontainertools.github.com/v1alpha2",
        "Plugin",
    )
    assert manifest["metadata"] == {"name": "podplan"}
    spec = manifest["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"])
    assert len(spec["shortDescription"]) <= 50
    platforms = [
        "-".join(one["selector"]["matchLabels"][key] for key in ("os", "arch")) for one in spec["platforms"]
    ]
    assert platforms == list(krew.PLATFORMS)
    for platform, one in zip(platforms, spec["platforms"], strict=True):
        assert one["bin"] == "kubectl-podplan"
        assert one["sha256"] == platform, "make krew replaces it"
        assert one["uri"].endswith(f"/kubectl-podplan-{platform}.tar.gz")


def test_an_archive_has_what_podplan_needs_and_nothing_that_only_builds_it() -> None:
    pins = parse_pins(krew.select_runtime((ROOT / "deploy" / "requirements.lock").read_text()))
    assert set(pins) == {"click", "jinja2", "jsonschema-rs", "markupsafe", "pyyaml"}


def test_the_launcher_of_an_archive_finds_its_folder_and_imports_nothing_else(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "podplan" / "cli"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("import sys\ndef main(): print(sys.argv[1:])\n")
    archive = krew._pack(tmp_path)
    assert archive == krew._pack(tmp_path)
    store = tmp_path / "store"
    (tmp_path / "archive.tar.gz").write_bytes(archive)
    with tarfile.open(tmp_path / "archive.tar.gz") as opened:
        opened.extractall(store, filter="data")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl-podplan").symlink_to("../store/kubectl-podplan")
    (tmp_path / "podplan.py").write_text("raise SystemExit('hijacked')")
    done = run(str(tmp_path / "bin" / "kubectl-podplan"), "check", "a b", "", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("['check', 'a b', '']\n", "")


def lines_of(word: str, dockerfile: str) -> list[str]:
    return re.findall(rf"^{word} (.*)$", dockerfile, re.MULTILINE)


def test_both_images_have_one_base_and_one_lock() -> None:
    assert lines_of("ARG", IMAGE) == lines_of("ARG", SIDECAR)
    assert lines_of("FROM", IMAGE) == lines_of("FROM", SIDECAR)
    assert set(lines_of("RUN", SIDECAR)) < set(lines_of("RUN", IMAGE))
    ignored = [(ROOT / "deploy" / name / "Dockerfile.dockerignore").read_text() for name in ("ci", "argocd")]
    assert ignored[1] == ignored[0].replace("**/", "!deploy/argocd/plugin.yaml\n**/")


def test_the_image_for_cis_is_not_root_and_has_no_entrypoint() -> None:
    assert lines_of("USER", IMAGE) == ["65532"]
    assert lines_of("ENTRYPOINT", IMAGE) == []
    assert lines_of("CMD", IMAGE) == ['["podplan", "--help"]']
    assert lines_of("ENV", IMAGE) == lines_of("ENV", SIDECAR)


def component(**inputs: str) -> dict[str, Any]:
    """The job of the component, with its inputs replaced as GitLab does."""
    header, body = COMPONENT.read_text().split("\n---\n")
    declared = yaml.safe_load(header)["spec"]["inputs"]
    values = {name: inputs.get(name, one.get("default")) for name, one in declared.items()}
    assert None not in values.values()
    text = re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda match: str(values[match[1]]), body)
    assert "$[[" not in text
    job: dict[str, Any] = yaml.safe_load(text)["podplan"]
    return job


@pytest.mark.parametrize(("fail_on", "code"), [("warning", 1), ("error", 0)])
def test_the_component_writes_the_report_that_it_uploads(tmp_path: Path, fail_on: str, code: int) -> None:
    job = component(**{"image": "registry.example.com/podplan:1", "fail-on": fail_on, "paths": "a.yaml jobs"})
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "b.yaml").write_text(JOB.replace("bert", "b"))
    (tmp_path / "a.yaml").write_text(JOB)
    (tmp_path / "other.yaml").write_text(JOB.replace("bert", "other"))
    variables = [f"{name}={value}" for name, value in job["variables"].items()]
    done = run("env", *variables, "sh", "-e", "-c", "\n".join(job["script"]), cwd=tmp_path)
    assert done.returncode == code, done.stderr
    report = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_text())
    assert {one["location"]["path"] for one in report} == {"a.yaml", "jobs/b.yaml"}
    assert {one["severity"] for one in report} <= {"info", "minor", "major", "critical", "blocker"}


def test_the_page_has_the_inputs_of_the_component() -> None:
    page = (ROOT / "docs" / "gitlab.md").read_text()
    inputs = yaml.safe_load(COMPONENT.read_text().split("\n---\n")[0])["spec"]["inputs"]
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE) == list(inputs)
    [included] = re.findall(r"^   ```yaml\n(.*?)^   ```", page, re.MULTILINE | re.DOTALL)
    assert set(yaml.safe_load(included)["include"][0]["inputs"]) <= set(inputs)
