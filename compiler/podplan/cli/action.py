"""podplan action: a step of GitHub Actions, which action.yml calls."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout

import click

from podplan.actions.base import base
from podplan.actions.files import append, demand_inside, fitting, outputs
from podplan.actions.inputs import Inputs, inputs
from podplan.actions.report import comment, summary
from podplan.check import Result
from podplan.cli import check, render
from podplan.cli.exits import INTERNAL, NOTHING, WRONG_REQUEST
from podplan.cli.output import reason, replace_file, write
from podplan.cli.reporting import rendered
from podplan.limits import BoundExceeded, OutOfTime
from podplan.reading.files import NoSuchPath, OutsideRoot, root_of
from podplan.report import concise, github
from podplan.report.workflow import annotation, log_line
from podplan.requests import RequestError

CODES = {
    NoSuchPath: NOTHING,
    BoundExceeded: INTERNAL,
    OutOfTime: INTERNAL,
    RequestError: WRONG_REQUEST,
    OutsideRoot: WRONG_REQUEST,
}


@click.command("action")
def command() -> int:
    """Run as a step of GitHub Actions, with its inputs in PODPLAN_ACTION_… variables.

    action.yml calls it; docs/github-action.md has the inputs and what comes of them.
    """
    log = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    try:
        with redirect_stderr(log):  # text of files may be in it, and a line of it could be a command
            code = _run(inputs(os.environ), os.environ)
    except (Exception, OutOfTime) as error:
        code, said = _ending(error)
        write(annotation("error", said, title="podplan") + "\n")
    _log(log)
    return code


def _run(asked: Inputs, environ: Mapping[str, str]) -> int:
    for name in ("sarif_file", "comment_file", "output_dir"):
        demand_inside(name.replace("_", "-"), getattr(asked, name), environ)
    return _render(asked) if asked.command.startswith("render") else _check(asked, environ)


def _render(asked: Inputs) -> int:
    """podplan render, with what it prints made harmless."""
    flags = ["--check"] if asked.command == "render-check" else []
    arguments = [*flags, "-o", asked.output_dir, *_settings(asked), "--", *asked.paths]
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    with redirect_stdout(printed):
        code = render.command.main(arguments, standalone_mode=False)
    _log(printed)
    return int(code)


def _check(asked: Inputs, environ: Mapping[str, str]) -> int:
    against = base(asked.base, root_of(asked.paths[0]), environ)
    notice = f"there is no difference to show: {against.reason}" if against.reason else ""
    if notice:
        write(annotation("notice", notice, title="podplan") + "\n")
    difference = ""
    flags = check.command.make_context("check", _settings(asked)).params
    wanted = check.checking(**flags | {"paths": asked.paths})
    result = check.run(asked.paths, wanted)
    values = {"findings": str(len(result.findings))}
    values |= {name: str(getattr(result.summary, name)) for name in ("errors", "warnings", "infos")}
    if asked.sarif_file:
        replace_file(asked.sarif_file, rendered(result, "sarif"))
    if asked.comment_file:
        replace_file(asked.comment_file, comment(result, difference))
    values |= {"sarif-file": asked.sarif_file, "comment-file": asked.comment_file, "impact": ""}
    append(environ.get("GITHUB_OUTPUT", ""), outputs(values))
    if asked.summary:
        append(environ.get("GITHUB_STEP_SUMMARY", ""), fitting(summary(result, difference, notice)))
    _annotate(result, ["notice"] if notice else [])
    check.demand_all(result)
    return check.exit_code(result, wanted.fail_on)


def _settings(asked: Inputs) -> list[str]:
    """The flags that check, diff and render have in common."""
    fail_on = [f"--fail-on={asked.fail_on}"] if asked.fail_on else []
    return [*fail_on, *(f"--env={name}" for name in asked.environment)]


def _annotate(result: Result, used: list[str]) -> None:
    """All findings in a group of the log, and the most important at their lines."""
    if result.findings:
        listed = concise.render(result).splitlines()
        write("".join(f"{line}\n" for line in ["::group::findings", *map(log_line, listed), "::endgroup::"]))
    write(github.render(result, used))


def _log(printed: io.TextIOWrapper) -> None:
    buffer = printed.buffer
    assert isinstance(buffer, io.BytesIO)
    text = buffer.getvalue().decode(errors="backslashreplace")
    write("".join(f"{log_line(line)}\n" for line in text.split("\n") if line))


def _ending(error: BaseException) -> tuple[int, str]:
    """The exit code for an error, and the sentence that tells of it."""
    if type(error) in CODES:
        return CODES[type(error)], str(error)
    if isinstance(error, click.ClickException):
        return WRONG_REQUEST, error.format_message()
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else "cannot go on: "
        return WRONG_REQUEST, f"{name}{reason(error)}"
    return INTERNAL, f"podplan itself failed with {type(error).__name__}; please report it with the input"
