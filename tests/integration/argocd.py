"""The plugin of Argo CD as in its image: installed by the commands of the Dockerfile, run as user 999.

python -m tests.integration.argocd, as root: installs podplan into a separate folder, as the image does, and
runs the tests as a user without permissions on it. Without root, it prints that it is skipped;
PODPLAN_REQUIRE_ROOT makes that a failure.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.plugin_server import DEPLOY, ROOT

USER = 999
TESTS = [f"tests/test_cmp_{name}.py" for name in ("contract", "gate", "hostile", "renders")]


def main() -> int:
    """Return 0 if the tests pass, or are skipped."""
    if os.geteuid() != 0:
        print("NOT RUN: podplan cmp as user 999; only root may start programs of others", file=sys.stderr)
        return 1 if os.environ.get("PODPLAN_REQUIRE_ROOT") else 0
    with TemporaryDirectory(prefix="podplan-argocd-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        _copy_sources(folder / "src")
        programs = _install(folder)
        env = {
            **os.environ,
            "PODPLAN_PLUGIN_UID": str(USER),
            "PODPLAN_PLUGIN_BIN": str(programs),
            "PODPLAN_REQUIRE_KUBECTL": "1",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
        done = subprocess.run([*command, f"--basetemp={folder / 'tests'}"], cwd=ROOT, env=env, check=False)
    return done.returncode


def _copy_sources(into: Path) -> None:
    """Copy the files that the Dockerfile copies, without those in its .dockerignore."""
    for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines():
        if line.startswith("!"):
            source, target = ROOT / line[1:], into / line[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)


def _install(folder: Path) -> Path:
    """Run the RUN commands of the Dockerfile, with its folders below ``folder``; return the folder of the
    programs."""
    places = {"/opt/podplan": str(folder / "podplan"), "/src": str(folder / "src")}
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    for line in re.findall(r"^RUN (.*)$", text, re.MULTILINE):
        words = shlex.split(re.sub("/opt/podplan|/src", lambda match: places[match[0]], line))
        program = _python() if words[0] == "python" else words[0]
        subprocess.run([program, *words[1:]], check=True, stdout=subprocess.DEVNULL)
    return folder / "podplan" / "bin"


def _python() -> str:
    """Return a Python that any user may run: that of the tests may be in a home folder."""
    for path in (os.path.realpath(sys.executable), "/usr/local/bin/python3", "/usr/bin/python3"):
        try:
            asked = [path, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
            if subprocess.run(asked, user=USER, group=USER, extra_groups=[], check=False).returncode == 0:
                return path
        except OSError:
            continue
    raise SystemExit("no Python of 3.11 or later that user 999 may run")


if __name__ == "__main__":
    sys.exit(main())
