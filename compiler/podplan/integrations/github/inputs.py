"""The inputs of the action, as action.yml hands them on in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from podplan.core.errors import RequestError
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import NamedTuple

PREFIX = "PODPLAN_ACTION_"
COMMANDS = ("check", "diff", "render", "render-check")
LEVELS = ("", "error", "warning", "info", "never")


class Inputs(NamedTuple):
    """What a step asks for; "" and () stand for what is not set."""

    command: str
    paths: tuple[str, ...]
    environment: tuple[str, ...]
    base: str
    fail_on: str
    sarif_file: str
    comment_file: str
    summary: bool
    output_dir: str
    config: str

    @property
    def places(self) -> list[tuple[str, str]]:
        """The inputs that are files or folders, each with its name."""
        once = {
            "config": self.config,
            "sarif-file": self.sarif_file,
            "comment-file": self.comment_file,
            "output-dir": self.output_dir,
        }
        return [*(("paths", path) for path in self.paths), *(pair for pair in once.items() if pair[1])]


def inputs(environ: Mapping[str, str]) -> Inputs:
    """The inputs. Raises RequestError for one that has no such value."""
    given = {name: environ.get(PREFIX + name.upper(), "").strip() for name in Inputs._fields}
    found = Inputs(
        command=_one_of("command", given["command"] or "check", COMMANDS),
        paths=_lines(given["paths"]) or (os.curdir,),
        environment=_lines(given["environment"]),
        base=given["base"],
        fail_on=_one_of("fail-on", given["fail_on"], LEVELS),
        sarif_file=given["sarif_file"],
        comment_file=given["comment_file"],
        summary=_one_of("summary", given["summary"] or "true", ("true", "false")) == "true",
        output_dir=given["output_dir"],
        config=given["config"],
    )
    if "-" in found.paths:
        raise RequestError("paths: - would be standard input, and a step has none")
    if found.command == "render" and not found.output_dir:
        raise RequestError("command render wants output-dir, the folder to render into")
    if found.command.startswith("render") and found.sarif_file:
        raise RequestError(f"command {found.command} writes no sarif-file; check does")
    return found


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.split("\n") if line.strip())


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value in known:
        return value
    hint = did_you_mean(value, known) or f"; there are {', '.join(filter(None, known))}"
    raise RequestError(f'{name}: there is no "{value}"{hint}')
