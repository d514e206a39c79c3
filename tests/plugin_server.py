"""A test double of argocd-cmp-server: runs the shipped plugin.yaml as that program does, without Argo CD.

Its behavior is from docs/evidence/gitops-argocd.md#copy-of-the-repository: the repository is copied with file
modes reset, links that leave it are rejected, commands run in the folder of the Application, in their own
session, with a timeout, with only the variables that Argo CD sets, and their output becomes objects or the
text of an error.

`make integration` runs every command as user 999 (PODPLAN_PLUGIN_UID), with the programs that the Dockerfile
installs (in PODPLAN_PLUGIN_BIN). `make test` runs them as the current user, and in the process of the tests,
except if a test sets a deadline: a process takes a third of a second.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.golden_cases import podplan

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy" / "argocd"
BIN = Path(os.environ.get("PODPLAN_PLUGIN_BIN") or Path(sys.executable).parent)
UID = int(os.environ.get("PODPLAN_PLUGIN_UID") or os.geteuid())
ALL_AS_PROCESSES = "PODPLAN_PLUGIN_UID" in os.environ
DEADLINE = 60.0  # of Argo CD, for a whole render
GRACE = 5.0  # seconds between SIGTERM and SIGKILL
KUBECTL = shutil.which("kubectl")
REQUIRED = bool(os.environ.get("PODPLAN_REQUIRE_KUBECTL"))
SERVED = (
    "v1,v1/ConfigMap,v1/Pod,apps/v1,apps/v1/Deployment,batch.tensorstack.dev/v1beta1"
    ",batch.tensorstack.dev/v1beta1/GenericJob,batch.tensorstack.dev/v1beta1/PyTorchTrainingJob"
)


class PluginError(Exception):
    """The error that Argo CD shows in its UI, and caches."""


class Refused(Exception):
    """A repository that Argo CD rejects."""


class Plugin(NamedTuple):
    """The fields of plugin.yaml that argocd-cmp-server uses."""

    name: str
    generate: list[str]
    discover: list[str]
    parameters: list[str]


class Answer(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


class Copy(NamedTuple):
    """A copy of a repository, and the folder of the Application in it."""

    root: Path
    folder: Path
    path: str


def plugin(path: Path = DEPLOY / "plugin.yaml") -> Plugin:
    """Return the plugin in a file; rejects what argocd-cmp-server rejects."""
    data = yaml.safe_load(path.read_text())
    spec = data["spec"]
    assert data["kind"] == "ConfigManagementPlugin"
    assert data["metadata"]["name"]
    assert spec["generate"]["command"]
    name = data["metadata"]["name"] + (f"-{spec['version']}" if spec.get("version") else "")
    assert not spec.get("preserveFileMode")
    return Plugin(
        name,
        [*spec["generate"]["command"], *spec["generate"].get("args", [])],
        spec["discover"]["find"]["command"],
        spec["parameters"]["dynamic"]["command"],
    )


def copy(repository: Path, into: Path, path: str = ".", sent: str = ".", git: bool = True) -> Copy:
    """Copy the repository as the plugin gets it, for the Application at ``path``.

    ``sent`` is the common root that --plugin-use-manifest-generate-paths leaves; without ``git``, the
    operator excludes that folder.
    """
    top = (repository / sent).resolve()
    for found in sorted(top.rglob("*")):
        if found.is_symlink() and not found.resolve().is_relative_to(top):
            raise Refused(f"repository contains out-of-bounds symlinks. file: {found.relative_to(top)}")
    root = into / "_cmp_server" / "2f0c1a7e"
    ignored = None if git else shutil.ignore_patterns(".git")
    shutil.copytree(top, root, symlinks=True, ignore=ignored)
    _open_way(into)
    for below in [into, into / "_cmp_server", root, *root.rglob("*")]:
        if not below.is_symlink():
            below.chmod(0o755 if below.is_dir() else 0o644)
        if os.geteuid() == 0:
            os.chown(below, UID, UID, follow_symlinks=False)
    return Copy(root, (root / os.path.relpath(repository / path, top)).resolve(), path)


def _open_way(into: Path) -> None:
    """Give the user of the plugin access to the copy: test folders are private."""
    for above in into.parents if os.geteuid() != UID else ():
        mode = above.stat().st_mode
        if not mode & 0o001:
            above.chmod(mode | 0o011)


def image_variables() -> dict[str, str]:
    """Return the ENV of the Dockerfile, with local paths of the programs."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    [line] = re.findall(r"^ENV (.*)$", text, re.MULTILINE)
    found = dict(pair.split("=", 1) for pair in line.split())
    return {**found, "PATH": found["PATH"].replace("/opt/podplan/bin", str(BIN))}


def variables(where: Copy, parameters: Any = None, **more: str) -> dict[str, str]:
    """Return the environment of a command of the plugin; an Application may have no ``parameters``."""
    text = json.dumps(parameters)
    application = {
        "ARGOCD_APP_NAME": "training",
        "ARGOCD_APP_NAMESPACE": "ml",
        "ARGOCD_APP_PROJECT_NAME": "ml",
        "ARGOCD_APP_REVISION": "1e31234f00000000000000000000000000000000",
        "ARGOCD_APP_REVISION_SHORT": "1e31234",
        "ARGOCD_APP_REVISION_SHORT_8": "1e31234f",
        "ARGOCD_APP_SOURCE_PATH": where.path,
        "ARGOCD_APP_SOURCE_REPO_URL": "https://git.example.com/ml/training.git",
        "ARGOCD_APP_SOURCE_TARGET_REVISION": "main",
        "ARGOCD_APP_PARAMETERS": text,
        "KUBE_VERSION": "1.34",
        "KUBE_API_VERSIONS": SERVED,
    }
    folded = {f"PARAM_{_folded(one['name'])}": one["string"] for one in parameters or () if _is_plain(one)}
    return {**image_variables(), **application, **folded, **more}


def _is_plain(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("string"), str)


def _folded(name: str) -> str:
    return re.sub("[^A-Z0-9]", "_", name.upper())


def run(command: Sequence[str], where: Copy, env: Mapping[str, str], deadline: float | None = None) -> Answer:
    """Run a command of the plugin; on timeout its whole session is ended."""
    if deadline is None and not ALL_AS_PROCESSES:
        return _run_here(command, where, env)
    as_user: dict[str, Any] = {"user": UID, "group": UID, "extra_groups": []} if os.geteuid() == 0 else {}
    program = shutil.which(command[0], path=env["PATH"])
    assert program, f"{command[0]} is not in {env['PATH']}"
    process = subprocess.Popen(
        [program, *command[1:]],
        cwd=where.folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **as_user,
    )
    try:
        out, err = process.communicate(timeout=deadline or DEADLINE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            out, err = process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
    answer = Answer(process.returncode, out.decode(), err.decode())
    assert "Traceback" not in answer.err, answer.err
    return answer


def _run_here(command: Sequence[str], where: Copy, env: Mapping[str, str]) -> Answer:
    """Run a command of podplan in this process, with its folder and variables."""
    program, *arguments = command
    assert program == "podplan"
    stop = signal.getsignal(signal.SIGTERM)
    try:
        with chdir(where.folder), pytest.MonkeyPatch.context() as patch:
            patch.setattr(resource, "setrlimit", lambda *_: None)  # it would apply to the tests, too
            for name in set(os.environ) - set(env):
                patch.delenv(name)
            for name, value in env.items():
                patch.setenv(name, value)
            return Answer(*podplan(*arguments))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGTERM, stop)


def matches(where: Copy, deadline: float | None = None) -> bool:
    """Whether the plugin discovers an Application; raises PluginError on failure."""
    answer = run(plugin().discover, where, variables(where), deadline)
    if answer.code:
        raise PluginError(_told(plugin().discover, answer))
    return answer.out != ""


def announcements(where: Copy, deadline: float | None = None) -> list[dict[str, Any]]:
    """Return the parameters that the UI shows; that call gets fewer variables."""
    kept = [*image_variables(), "ARGOCD_APP_NAME", "ARGOCD_APP_PROJECT_NAME", "ARGOCD_APP_SOURCE_REPO_URL"]
    every = variables(where)
    answer = run(plugin().parameters, where, {name: every[name] for name in kept}, deadline)
    if answer.code:
        raise PluginError(_told(plugin().parameters, answer))
    found: list[dict[str, Any]] = json.loads(answer.out)
    return found


def generate(
    where: Copy,
    parameters: Any = None,
    flags: Sequence[str] = (),
    deadline: float | None = None,
    env: Mapping[str, str] | None = None,
) -> Answer:
    """Generate the manifests of an Application; raises PluginError for an error that Argo CD shows."""
    command = [*plugin().generate, *flags]
    answer = run(command, where, {**variables(where, parameters), **(env or {})}, deadline)
    if answer.code:
        assert answer.out == "", "what is printed before a failure is lost, and must not be there"
        raise PluginError(_told(command, answer))
    return answer


def _told(command: Sequence[str], answer: Answer) -> str:
    status = f"signal: {-answer.code}" if answer.code < 0 else f"exit status {answer.code}"
    return f"`{' '.join(command)}` failed {status}: {answer.err}"


def objects(text: str) -> list[Any]:
    """Return the objects in the output of a plugin, as Argo CD decodes them: Lists are split."""
    found = decoded_by_kubectl(text) if KUBECTL or REQUIRED else list(yaml.safe_load_all(text))
    return [entry for one in found if one for entry in (one["items"] if one["kind"] == "List" else [one])]


def decoded_by_kubectl(text: str) -> list[Any]:
    """Decode with kubectl, whose decoder is that of Argo CD; a label that it adds is removed."""
    done = subprocess.run(
        [str(KUBECTL), "label", "--local", "--dry-run=client", "-f", "-", "zz-oracle=1", "-o", "json"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    found, at = [], 0
    while at < len(done.stdout.rstrip()):
        data, at = json.JSONDecoder().raw_decode(done.stdout, at)
        at += len(done.stdout[at:]) - len(done.stdout[at:].lstrip())
        labels = data["metadata"]["labels"]
        del labels["zz-oracle"]
        if not labels:
            del data["metadata"]["labels"]
        found.append(data)
    return found
