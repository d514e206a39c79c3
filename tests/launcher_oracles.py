"""Real launchers as oracles, for tests/launcher_questions.py: questions on standard input, answers as JSON.

Runs in an interpreter with torch and deepspeed, which that of the tests need not have. The input is one
object: ``torchrun`` and ``deepspeed`` are lists of ``[words, env]``, answered as in launcher_answers.py;
``launches`` are lists of ``{"words", "hostfile", "env_file", "cwd"}``, answered by the parsers of deepspeed:
``hosts`` with their slots, and ``command``, the words that deepspeed starts (pdsh, or its launch module on
one host). ``colossalai`` are lists of words after ``colossalai run``, answered by its own parser with the
options, or None if it rejects them; None for all without colossalai. No process is started.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from tests.launcher_answers import Started, deepspeed, torchrun

ADDRESS = b"10.0.0.1 "


def launch(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what deepspeed starts for a line, with a hostfile and an env file."""
    runner: Any = import_module("deepspeed.launcher.runner")

    def started(command: list[str], **_: Any) -> None:
        raise Started(command)

    with (
        tempfile.TemporaryDirectory() as home,
        mock.patch.object(runner, "DEEPSPEED_ENVIRONMENT_PATHS", [home]),
        mock.patch.object(runner, "fetch_hostfile", fetched(runner, asked["hostfile"], home)) as fetch,
        mock.patch.object(runner.subprocess, "check_call"),
        mock.patch.object(runner.subprocess, "check_output", return_value=ADDRESS),
        mock.patch.object(runner.subprocess, "Popen", started),
        mock.patch("shutil.which", return_value="/usr/bin/pdsh"),
        mock.patch.dict(os.environ, {"PATH": "/usr/bin:/bin"}, clear=True),
        contextlib.chdir(asked["cwd"]),
    ):
        if asked["env_file"] is not None:
            Path(home, ".deepspeed_env").write_text(asked["env_file"], encoding="utf-8")
        try:
            runner.main(asked["words"])
        except Started as end:
            return {"hosts": fetch(""), "command": end.args[0]}
        except (Exception, SystemExit) as error:
            return {"refused": f"{type(error).__name__}: {error}"}
    return {"refused": "nothing was started"}


def fetched(runner: Any, text: str, home: str) -> Any:
    """Call ``fetch_hostfile`` for a file at another path."""
    path = Path(home, "hostfile")
    path.write_text(text, encoding="utf-8")
    read = runner.fetch_hostfile
    return lambda _: read(str(path))


def colossalai(asked: list[list[str]]) -> list[dict[str, Any] | None] | None:
    """Return the options that colossalai run parses on each line; None if it is not installed."""
    try:
        module: Any = import_module("colossalai.cli.launcher")
    except ImportError:
        return None
    seen: list[dict[str, Any]] = []
    with mock.patch.object(module, "launch_multi_processes", lambda args: seen.append(dict(args))):
        return [read(module.run, words, seen) for words in asked]


def read(command: Any, words: list[str], seen: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what the command ``run`` of colossalai passes on; None if it exits before."""
    seen.clear()
    with contextlib.suppress(SystemExit):
        command.main(words, standalone_mode=False)
    return seen[0] if seen else None


def main() -> None:
    answers_go_to = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # deepspeed logs to standard output
    asked = json.load(sys.stdin)
    answers = {
        "torchrun": list(torchrun(asked["torchrun"])),
        "deepspeed": list(deepspeed(asked["deepspeed"])),
        "launches": [launch(each) for each in asked["launches"]],
        "colossalai": colossalai(asked["colossalai"]),
    }
    with answers_go_to as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main()
