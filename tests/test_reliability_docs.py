"""docs/reliability.md: the targets that it names are those of `make fuzz`, and its commands can be given."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.fuzz.__main__ import parsed
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/reliability.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S) for line in block.splitlines()
]


def test_every_target_is_in_both_tables() -> None:
    first, second = (
        {name for line in table.splitlines() for name in re.findall(r"`([a-z-]+)`", line.split("|")[1])}
        for table in re.findall(r"^\| target .*?\n((?:\|.*\n)+)", PAGE, re.M)
    )
    assert first == second == set(TARGETS)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command: str) -> None:
    make, target, *given = shlex.split(command)
    assert make == "make"
    assert re.search(rf"^{target}:", MAKEFILE, re.M)
    for arguments in given:
        assert parsed(shlex.split(arguments.removeprefix("ARGS="))).seconds > 0
