"""The action installs itself, from the wheels of its lock, in a checkout with planted modules.

python -m tests.integration.action; the other tests of the action use an existing installation.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.command import JOB
from tests.github_action import ROOT, machine, offline, plant
from tests.github_runner import run_action, run_steps


def main() -> int:
    """Return 0 if it installs itself, accepts a valid job, and runs nothing that is planted."""
    with TemporaryDirectory(prefix="podplan action ") as name:
        wrong = list(filter(None, (_plants_that_do_not_grow(Path(name)), _installed(Path(name)))))
    print("\n".join(wrong) or "the action installs itself, and runs nothing of the checkout")
    return 1 if wrong else 0


def _plants_that_do_not_grow(folder: Path) -> str:
    """Return an error if planted modules are not imported even without isolation, so that the test is
    meaningful."""
    workspace, owned = folder / "plain", folder / "grown"
    workspace.mkdir()
    plant(workspace, owned)
    run_steps([{"run": "python3 -m pip --version"}], machine(workspace, folder / "plain-temp"))
    return "" if owned.exists() and "pip.py" in owned.read_text() else "what is planted is never run at all"


def _installed(folder: Path) -> str:
    workspace, owned = folder / "work", folder / "owned"
    (workspace / ".git").mkdir(parents=True)
    (workspace / "job.yaml").write_text(JOB)
    plant(workspace, owned)
    job = machine(workspace, folder / "temp", {**offline(), "PYTHONPATH": f".:{workspace}"})
    ran = run_action(ROOT, {"paths": "job.yaml"}, job)
    if owned.exists():
        return f"it has run {owned.read_text()}"
    as_wanted = (ran.success, ran.outputs["findings"], ran.warnings) == (True, "0", ())
    return "" if as_wanted and "\u2705" in ran.summary else ran.log


if __name__ == "__main__":
    sys.exit(main())
