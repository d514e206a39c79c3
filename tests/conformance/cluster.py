"""Runs one job from CR to exit codes: podplan lowers it, the node runs it, and everything is cleaned up."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.conformance import status, volumes
from tests.conformance.cases import Case, Run
from tests.conformance.command import podplan

TOP = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
# Time of the node beyond that of its job: to build root file systems, and to write results.
GRACE = 20.0
RANDOM = "x7k2p"


class Python(NamedTuple):
    """The interpreter of the image: its folder of programs, and the folders that it needs."""

    path: str
    kept: tuple[str, ...]


class Outcome(NamedTuple):
    """The result of a job: Pods by name with phase, exit codes and restarts; logs by file name.

    ``programs`` has what each created Pod should run, ``past`` the Pods that were re-created, ``trouble`` why
    there is no result.
    """

    programs: Mapping[str, str] = {}
    pods: Mapping[str, Mapping[str, Any]] = {}
    past: Sequence[Mapping[str, Any]] = ()
    execs: Sequence[int | None] = ()
    logs: Mapping[str, str] = {}
    seconds: float = 0.0
    trouble: str = ""
    phase: str | None = None


def interpreter(executable: Path) -> Python:
    """Return the interpreter at a path, with the folders that it needs in every container."""
    ask = "import sys; print(sys.prefix); print(sys.base_prefix)"
    prefix, base = subprocess.check_output([executable, "-c", ask], text=True).split()
    return Python(str(executable.parent), tuple(sorted({prefix, base} - {"/", "/usr", "/usr/local"})))


def run(case: Case, job: Run, python: Python) -> Outcome:
    """Run one job of a case to its end, or to its time limit; then end all its processes."""
    with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for part in ("logs", "memory"):
            (folder / part).mkdir()
        (folder / "cr.yaml").write_text(yaml.safe_dump_all(job.documents, sort_keys=False))
        extra = case.folder / "objects.yaml"
        objects = [
            *map(named, _lowered(folder, job)),
            *(_documents(extra.read_text()) if extra.exists() else ()),
        ]
        plan = {
            "cr": job.cr,
            "objects": [*_with_keys(objects, folder)],
            "workspace": [str(case.folder), str(PROGRAMS)],
            "kept": python.kept,
            "image": {**volumes.FILES, **job.image},
            "path": python.path,
            "seconds": job.seconds,
            "until": job.until,
            "absent": job.absent,
            "late": job.late,
            "exec": job.exec,
        }
        (folder / "plan.json").write_text(json.dumps(plan))
        said = _node(folder, job.seconds + GRACE)
        logs = {path.name.removesuffix(".log"): _text(path) for path in sorted((folder / "logs").iterdir())}
        try:
            result = json.loads((folder / "result.json").read_text())
        except FileNotFoundError:
            return Outcome(logs=logs, trouble=f"the node ended without a result: {said[-2000:]}")
        if job.expect.phase and not result["trouble"]:
            result["phase"] = status.phase(folder, job.cr, objects, result["pods"])
        return Outcome(logs=logs, programs=_programs(objects, result["pods"]), **result)


def _lowered(folder: Path, job: Run) -> list[dict[str, Any]]:
    done = podplan(folder, "lower", "--isolated", *job.options, "cr.yaml")
    if done.returncode:
        raise ValueError(f"podplan lower: {done.stderr}{done.stdout}")
    return _documents(done.stdout)


def named(one: dict[str, Any]) -> dict[str, Any]:
    """Name an object that has a prefix only, as the API server does with five random characters."""
    metadata = one["metadata"]
    if "name" in metadata or "generateName" not in metadata:
        return one
    return {**one, "metadata": {**metadata, "name": f"{metadata['generateName']}{RANDOM}"}}


def _documents(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


def _with_keys(objects: list[dict[str, Any]], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects, with a key pair generated for this run in place of podplan's placeholder."""
    for one in objects:
        if one.get("type") == "kubernetes.io/ssh-auth":
            key = folder / "key"
            subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", key], check=True, timeout=20)
            pair = {"ssh-privatekey": key, "ssh-publickey": key.with_suffix(".pub")}
            coded = {name: base64.b64encode(path.read_bytes()).decode() for name, path in pair.items()}
            one = {**one, "data": {**one["data"], **coded}}
        yield one


def _node(folder: Path, seconds: float) -> str:
    """Run the node in namespaces that end with it; return its output."""
    # When this process ends for any reason, the kernel kills the node and all its children.
    words = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--ipc", "--uts"]
    words += [
        "--fork",
        "--kill-child",
        "--mount-proc",
        sys.executable,
        "-m",
        "tests.conformance.node",
        str(folder),
    ]
    with _ended(
        subprocess.Popen(words, cwd=TOP, stdout=-1, stderr=-2, text=True, start_new_session=True)
    ) as node:
        try:
            return str(node.communicate(timeout=seconds)[0])
        except subprocess.TimeoutExpired:
            return f"it did not end within {seconds:g} s"


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _programs(objects: list[dict[str, Any]], pods: Mapping[str, Any]) -> dict[str, str]:
    """Return the program of the first container of each created Pod."""
    words = {
        one["metadata"]["name"]: one["spec"]["containers"][0].get("command", ["?"])
        for one in objects
        if one["kind"] == "Pod"
    }
    return {name: str(words[name][0]).rpartition("/")[2] for name in words if name in pods}
