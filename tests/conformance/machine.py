"""The requirements of a case on the machine."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

# Programs, and their packages in Debian and Ubuntu.
PROGRAMS = {
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "pdsh": "pdsh",
    "mpirun.openmpi": "openmpi-bin",
    "mpirun.mpich": "mpich",
}
# Packages of the interpreter without a module: a program below its folder.
_PACKAGED = {"impi-rt": "impi/bin/mpiexec.hydra"}
_VERSION = re.compile(r"(?:Version:?|\(OpenRTE\))\s+(\S+)")
ALWAYS = ("ip", "unshare", "nsenter", "setpriv", "torch")
FRAMEWORKS = ("torch", "deepspeed", "colossalai", "accelerate", "tensorflow_cpu", "xgboost-cpu", "jax")
IMPLIED = {"sshd": ("ssh", "ssh-keygen"), "pdsh": ("ssh",)}


def missing(needs: Iterable[str], python: Path) -> list[str]:
    """Return the missing requirements of a case: programs by name, and packages of the interpreter."""
    wanted = [*ALWAYS, *needs, *(more for need in needs for more in IMPLIED.get(need, ()))]
    lacking = [need for need in dict.fromkeys(wanted) if not _there(need, python)]
    return ([] if _may_isolate() else ["root that may make namespaces and mounts"]) + [
        _said(need, python) for need in lacking
    ]


def _said(need: str, python: Path) -> str:
    return (
        f"{need}, of the package {PROGRAMS[need]}" if need in PROGRAMS else f"the package {need} of {python}"
    )


@cache
def _may_isolate() -> bool:
    words = ["unshare", "--mount", "--net", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    if os.geteuid() or shutil.which(words[0]) is None:
        return False
    return subprocess.run(words, check=False, capture_output=True, timeout=10).returncode == 0


@cache
def _there(need: str, python: Path) -> bool:
    if need in PROGRAMS:
        return shutil.which(need, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is not None
    if need in _PACKAGED:
        return _find_packaged(need, python).exists()
    ask = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({need!r}) is None)"
    return subprocess.run([python, "-c", ask], check=False, capture_output=True).returncode == 0


def _find_packaged(need: str, python: Path) -> Path:
    return python.parent.parent / _PACKAGED[need]


def _version(program: str) -> str:
    return subprocess.check_output([program, "--version"], text=True, stderr=subprocess.STDOUT)


@cache
def versions(python: Path) -> dict[str, str]:
    """Return the versions of the interpreter, the launchers, and the kernel."""
    ask = (
        "import importlib.metadata as m, platform as p\n"
        "have = {d.metadata['Name'].lower(): d.version for d in m.distributions()}\n"
        "print('Python', p.python_version())\n"
        f"for n in {FRAMEWORKS}:\n"
        "    if n in have: print(n, have[n])\n"
    )
    lines = subprocess.check_output([python, "-c", ask], text=True).splitlines()
    found = dict(line.split(" ", 1) for line in lines) | {
        name: version.group(1)
        for name, program in (
            ("Open MPI", "mpirun.openmpi"),
            ("MPICH", "mpirun.mpich"),
            ("Intel MPI", str(_find_packaged("impi-rt", python))),
        )
        if shutil.which(program) and (version := _VERSION.search(_version(program)))
    }
    return found | {"Linux": platform.release().split("-")[0]}
