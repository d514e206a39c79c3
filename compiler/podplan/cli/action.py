"""podplan action: a step of GitHub Actions, which action.yml calls."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout

import click

from podplan.checker.check import Result
from podplan.cli import change_filter, check, check_run, diff, render
from podplan.cli.exit_codes import CLEAN, FINDINGS, INTERNAL, NOTHING, WRONG_REQUEST
from podplan.cli.options import Request
from podplan.cli.output import reason, replace_file, write
from podplan.cli.reporting import rendered
from podplan.core.errors import RequestError
from podplan.core.limits import BoundExceeded, OutOfTime
from podplan.core.typing import NamedTuple
from podplan.integrations.github.base_revision import base
from podplan.integrations.github.inputs import Inputs, inputs
from podplan.integrations.github.runner_files import append, demand_inside, fitting, outputs
from podplan.integrations.github.step_report import comment, summary, told
from podplan.report import concise, diff_text, github
from podplan.report.workflow_commands import annotation, log_line
from podplan.tools.diff.model import Diff
from podplan.workspace.files import NoSuchPath, OutsideRoot, root_of

CODES = {
    RequestError: WRONG_REQUEST,
    OutsideRoot: WRONG_REQUEST,
    NoSuchPath: NOTHING,
    BoundExceeded: INTERNAL,
    OutOfTime: INTERNAL,
}


class Compared(NamedTuple):
    """The difference to the ``base``, or a notice why there is none, or the error that kept it from us."""

    diff: Diff | None = None
    notice: str = ""
    error: Exception | None = None
    base: str = ""


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
    _log(_text(log))
    return code


def _run(asked: Inputs, environ: Mapping[str, str]) -> int:
    for name, path in asked.places:
        demand_inside(name, path, environ)
    return _render(asked) if asked.command.startswith("render") else _check(asked, environ)


def _render(asked: Inputs) -> int:
    """podplan render, with what it prints made harmless."""
    check = ["--check"] if asked.command == "render-check" else []
    into = ["-o", asked.output_dir] if asked.output_dir else []
    arguments = [*check, *into, *_flags(asked), "--", *asked.paths]
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    with redirect_stdout(printed):
        code = render.command.main(arguments, standalone_mode=False)
    _log(_text(printed))
    return int(code)


def _check(asked: Inputs, environ: Mapping[str, str]) -> int:
    """podplan check and podplan diff, or only the latter; what comes of them goes where it is wanted."""
    compared = _compared(asked, environ)
    result, wanted = _checked(asked, compared.base)
    _leave(asked, environ, result, compared)
    _show(result, compared)
    if compared.error is not None:
        raise compared.error
    if result is not None:
        check_run.demand_all(result)
        return check_run.exit_code(result, wanted.fail_on)
    breaks = compared.diff is not None and compared.diff.impact.broken
    return FINDINGS if breaks and wanted.fail_on is not None else CLEAN


def _checked(asked: Inputs, base: str) -> tuple[Result | None, Request]:
    """What there is to find, also in the change since ``base`` where there is one, and what was asked for."""
    flags = check.command.make_context("check", _flags(asked)).params
    del flags["paths"]
    if asked.command == "check" and base:
        change = change_filter.Asked(affected=False, ref=base, changed=False, new=False)
        return change_filter.check_change(asked.paths, change, flags)
    wanted = check_run.checking(asked.paths, **flags)
    return check_run.run(asked.paths, wanted) if asked.command == "check" else None, wanted


def _compared(asked: Inputs, environ: Mapping[str, str]) -> Compared:
    """The difference to the base. A base that nobody asked for and that cannot be had is no error."""
    try:
        against = base(asked.base, root_of(asked.paths[0]), environ)
        if against.revision:
            flags = {"environments": asked.environment, "config": asked.config}
            found = diff.compared(asked.paths, base=against.revision, **flags)
            return Compared(found, base=against.revision)
    except (RequestError, NoSuchPath, BoundExceeded) as error:
        if asked.base or isinstance(error, BoundExceeded):
            return Compared(error=error)
        return Compared(notice=f"there is no difference to show: {error}")
    if against.reason:
        return Compared(notice=f"there is no difference to show: {against.reason}")
    if asked.command == "diff":
        return Compared(error=RequestError("command diff wants the input base, except for pull requests"))
    return Compared()


def _leave(asked: Inputs, environ: Mapping[str, str], result: Result | None, compared: Compared) -> None:
    """The files that the inputs ask for, and those of the runner."""
    values = told(result, compared.diff)
    # Where a limit left files unchecked, GitHub would take their alerts for mended.
    if asked.sarif_file and result is not None and not result.given_up:
        replace_file(asked.sarif_file, rendered(result, "sarif"))
        values["sarif-file"] = asked.sarif_file
    if asked.comment_file:
        replace_file(asked.comment_file, comment(result, compared.diff))
        values["comment-file"] = asked.comment_file
    append(environ.get("GITHUB_OUTPUT", ""), outputs(values))
    if asked.summary:
        text = summary(result, compared.diff, compared.notice)
        append(environ.get("GITHUB_STEP_SUMMARY", ""), fitting(text))


def _show(result: Result | None, compared: Compared) -> None:
    """The log: all there is in groups, and the most important findings at their lines."""
    used = []
    if compared.diff is not None:
        _group("difference", diff_text.render(compared.diff))
    if compared.error is not None:
        used.append("error")
    if compared.notice:
        used.append("notice")
        write(annotation("notice", compared.notice, title="podplan") + "\n")
    if result is not None:
        if result.findings:
            listed = concise.render(result).splitlines()[:-1]  # the sum comes with the annotations
            _group("findings", "\n".join(listed))
        write(github.render(result, used))


def _flags(asked: Inputs) -> list[str]:
    """The flags that check and render have in common."""
    once = {"fail-on": asked.fail_on, "config": asked.config}
    given = [f"--{name}={value}" for name, value in once.items() if value]
    return [*given, *(f"--env={name}" for name in asked.environment)]


def _group(title: str, text: str) -> None:
    write(f"::group::{title}\n")
    _log(text)
    write("::endgroup::\n")


def _log(text: str) -> None:
    write("".join(f"{log_line(line)}\n" for line in text.split("\n") if line))


def _text(printed: io.TextIOWrapper) -> str:
    buffer = printed.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(errors="backslashreplace")


def _ending(error: BaseException) -> tuple[int, str]:
    """The exit code for an error, and the sentence that tells of it."""
    for kind, code in CODES.items():
        if isinstance(error, kind):
            return code, str(error)
    if isinstance(error, click.ClickException):
        return WRONG_REQUEST, error.format_message()
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else "cannot go on: "
        return WRONG_REQUEST, f"{name}{reason(error)}"
    return INTERNAL, f"podplan itself failed with {type(error).__name__}; please report it with the input"
