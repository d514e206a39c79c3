"""A run that does not get the memory it wants says so; it is no fault of podplan."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import JOB

# What podplan and its libraries take is there already: what is missing is room for the file.
WITH_LITTLE_ROOM = """
import resource, sys
import podplan.checker.check
from podplan.cli import main
there = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (there + 32_000_000, resource.RLIM_INFINITY))
sys.argv[0] = "podplan"
main()
"""


@pytest.mark.parametrize("flags", [(), ("--format", "json"), ("--fix",)])
def test_a_file_that_does_not_fit(tmp_path: Path, flags: tuple[str, ...]) -> None:
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    file = tmp_path / "many.yaml"
    file.write_text("---\n".join([JOB] * 900) + "---\n" + "- [1, 2, 3]\n" * 150_000)
    before = file.read_bytes()
    command = [sys.executable, "-c", WITH_LITTLE_ROOM, "check", "--no-cache", *flags, str(file)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, check=False)
    assert done.stderr == (
        "podplan: there is not enough memory to go on; give the process more, or fewer files at once\n"
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert file.read_bytes() == before
