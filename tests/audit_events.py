"""Runs podplan and records its effects: files opened, code compiled, processes, sockets.

python -m tests.audit_events OUT ARGUMENT… ; OUT gets a JSON list of [event, what] from an audit hook, which
sees the actions of the interpreter for every module (PEP 578).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

# The relevant arguments of each event.
EVENTS: dict[str, Callable[[Any], Any]] = {
    "open": lambda arguments: arguments[0],
    "os.listdir": lambda arguments: arguments[0],
    "os.scandir": lambda arguments: arguments[0],
    "import": lambda arguments: arguments[1],
    "subprocess.Popen": lambda arguments: arguments[1],
    "os.system": lambda arguments: arguments[0],
    "os.exec": lambda arguments: arguments[0],
    "os.posix_spawn": lambda arguments: arguments[0],
    "ctypes.dlopen": lambda arguments: arguments[0],
    "pickle.find_class": lambda arguments: arguments[0],
    "marshal.loads": lambda _: "",
}


def main(out: str, arguments: list[str]) -> None:
    seen: list[tuple[str, str]] = []
    done = False

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if done:
            return
        if event in EVENTS or event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.")):
            what = EVENTS.get(event, lambda rest: rest)(given)
            if isinstance(what, int) or what is None:  # a descriptor whose opening was already recorded
                return
            what = os.fsdecode(what) if isinstance(what, bytes | os.PathLike) else str(what)
            seen.append(
                (event, os.path.realpath(what) if event in ("open", "os.listdir", "os.scandir") else what)
            )

    from podplan.cli import main as podplan

    sys.argv = ["podplan", *arguments]
    sys.addaudithook(hook)
    try:
        podplan()
    finally:
        done = True
        with open(out, "w", encoding="utf-8") as stream:
            json.dump(seen, stream)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
