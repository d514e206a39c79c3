"""The inputs of the action, which action.yml passes in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from podplan.core.errors import UsageError
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import NamedTuple

INPUT_PREFIX = "PODPLAN_ACTION_"
STEP_COMMANDS = ("check", "diff", "render", "render-check")
SHOWN_FINDINGS = ("", "new", "changed", "all")
FAIL_ON_LEVELS = ("", "error", "warning", "info", "never")


class ActionInputs(NamedTuple):
    """The inputs of a step; "" and () if not set."""

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
    only: str

    @property
    def path_inputs(self) -> list[tuple[str, str]]:
        """Return the inputs that are files or folders, each with its name."""
        single_paths = {
            "config": self.config,
            "sarif-file": self.sarif_file,
            "comment-file": self.comment_file,
            "output-dir": self.output_dir,
        }
        return [
            *(("paths", path) for path in self.paths),
            *(pair for pair in single_paths.items() if pair[1]),
        ]


def read_inputs(environ: Mapping[str, str]) -> ActionInputs:
    """Read the inputs. Raises UsageError: for an invalid value."""
    raw_values = {name: environ.get(INPUT_PREFIX + name.upper(), "").strip() for name in ActionInputs._fields}
    action_inputs = ActionInputs(
        command=_parse_choice("command", raw_values["command"] or "check", STEP_COMMANDS),
        paths=_split_lines(raw_values["paths"]) or (os.curdir,),
        environment=_split_lines(raw_values["environment"]),
        base=raw_values["base"],
        fail_on=_parse_choice("fail-on", raw_values["fail_on"], FAIL_ON_LEVELS),
        sarif_file=raw_values["sarif_file"],
        comment_file=raw_values["comment_file"],
        summary=_parse_choice("summary", raw_values["summary"] or "true", ("true", "false")) == "true",
        output_dir=raw_values["output_dir"],
        config=raw_values["config"],
        only=_parse_choice("only", raw_values["only"], SHOWN_FINDINGS),
    )
    if "-" in action_inputs.paths:
        raise UsageError("paths: - would be standard input, and a step has none")
    if action_inputs.command == "render" and not action_inputs.output_dir:
        raise UsageError("command render wants output-dir, the folder to render into")
    if action_inputs.command.startswith("render") and action_inputs.sarif_file:
        raise UsageError(f"command {action_inputs.command} writes no sarif-file; check does")
    return action_inputs


def _split_lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.split("\n") if line.strip())


def _parse_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value in choices:
        return value
    hint = suggest_phrase(value, choices) or f"; there are {', '.join(filter(None, choices))}"
    raise UsageError(f'{name}: there is no "{value}"{hint}')
