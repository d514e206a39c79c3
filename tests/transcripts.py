"""Pages with commands and their output: runs the commands again and returns the page as it would be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
IDENTITY = {
    f"GIT_{role}_{part}": text
    for role in ("AUTHOR", "COMMITTER")
    for part, text in (
        ("NAME", "podplan"),
        ("EMAIL", "podplan@example.com"),
        ("DATE", "2026-01-01T00:00:00Z"),
    )
}


def rerun(page: str, folder: Path) -> str:
    """Return the page with the output of its commands, run in ``folder``; ``cd`` holds for what follows."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, **IDENTITY, "PATH": path, "PODPLAN_NO_CACHE": "1"}
    place = folder

    def run(command: str) -> str:
        nonlocal place
        if folder_change := re.fullmatch(r"cd (\S+)", command):
            place = Path(os.path.normpath(place / folder_change[1]))
            return f"$ {command}\n"
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=place,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return f"$ {command}\n{done.stdout}"

    def rerun_block(block: re.Match[str]) -> str:
        commands = [line.removeprefix("$ ") for line in block[0].splitlines() if line.startswith("$ ")]
        # A blank line ends an output, so that the next command is easy to find.
        outputs = [run(command) for command in commands]
        return "".join(
            text + ("\n" if text.count("\n") > 1 and number < len(outputs) - 1 else "")
            for number, text in enumerate(outputs)
        )

    return CONSOLE.sub(rerun_block, page)
