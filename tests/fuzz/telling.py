"""Formats failing inputs so that they can be examined and reproduced from the output of a run alone."""

from __future__ import annotations

import base64
import gzip
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.fuzz.session import FOUND, Asked

LINES = 15  # of a traceback, and of an input
SHOWN = 1_500  # bytes of an input that is also shown as text
WHOLE = 10  # inputs of one target that are shown in full
_NEXT = re.compile(rf"^(?:#\d+\t|INFO: |{FOUND} )", re.MULTILINE)  # where other output begins


def told(asked: Asked, found: Sequence[Path], fault: str) -> Iterator[str]:
    """Yield lines about each failing input of a target: the error, the input, and how to reproduce it.

    With a ``fault`` the session itself failed: yield the end of its log.
    """
    if fault:
        yield f"\n{asked.name}: {fault}"
        yield from (f"    {line}" for line in _end(asked.log.read_text(errors="replace")))
    for number, path in enumerate(found):
        yield f"\n{asked.name}: {path.name}"
        if number >= WHOLE:
            continue
        yield from (f"    {line}" for line in _why(asked.log, path))
        content = path.read_bytes()
        if _can_be_shown(content):
            yield f"  {len(content)} bytes:"
            yield from (f"    {line}" for line in content.decode().split("\n"))
        yield "  to have it again, and to try it in make test:"
        yield f"    {made_again(asked.name, path.name, content)}"
    if found or fault:
        yield f"\n  to find it again:\n    {run_again(asked)}"


def made_again(target: str, name: str, content: bytes) -> str:
    """Return a shell command that writes an input, of at most ``session.MAX_BYTES``, to where `make test`
    tries it."""
    packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()
    folder = shlex.quote(f"fixtures/fuzz/{target}")
    return f"mkdir -p {folder} && echo {packed} | base64 -d | gunzip >{folder}/{shlex.quote(name)}"


def run_again(asked: Asked) -> str:
    """Return a shell command that runs a target again in the same way."""
    most = f"--runs {asked.runs}" if asked.runs else f"--seconds {asked.seconds}"
    return f'make fuzz ARGS="--target {asked.name} {most} --seed {asked.seed} --seeds {asked.seeds}"'


def _why(log: Path, path: Path) -> list[str]:
    """Return the last log lines about an input; of the whole session, if libFuzzer ended it."""
    whole = log.read_text(errors="replace")
    _, named, said = whole.partition(f"{FOUND} {path}\n")
    return _end(_NEXT.split(said, maxsplit=1)[0] if named else whole)


def _end(text: str) -> list[str]:
    return text.rstrip().split("\n")[-LINES:]


def _can_be_shown(content: bytes) -> bool:
    """Whether an input is a short text that a log can show literally."""
    return len(content) <= SHOWN and content.isascii() and content.replace(b"\n", b"").decode().isprintable()
