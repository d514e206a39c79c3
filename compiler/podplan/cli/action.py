"""podplan action: a step of GitHub Actions, which action.yml calls."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout

import click

from podplan.checker.check import CheckResult
from podplan.cli import change_filter, check, check_run, diff, plan, render
from podplan.cli.exit_codes import CLEAN, FINDINGS, INTERNAL_ERROR, NO_INPUT, USAGE_ERROR
from podplan.cli.help import HelpCommand
from podplan.cli.options import RunSettings
from podplan.cli.output import describe_os_error, replace_file, write_stdout
from podplan.cli.reports import render_report
from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded, RunTimeout
from podplan.core.typing import NamedTuple
from podplan.integrations.github.base_revision import find_base_revision
from podplan.integrations.github.inputs import ActionInputs, read_inputs
from podplan.integrations.github.pictures import render_pictures
from podplan.integrations.github.runner_files import (
    append_file,
    format_outputs,
    require_in_workspace,
    truncate_summary,
)
from podplan.integrations.github.step_report import build_outputs, render_comment, render_summary
from podplan.report import concise, diff_text, github, plan_markdown
from podplan.report.workflow_commands import format_annotation, format_log_line
from podplan.tools.diff.model import Diff
from podplan.workspace.files import OutsideRoot, PathNotFound, find_root

EXIT_CODES = {
    UsageError: USAGE_ERROR,
    OutsideRoot: USAGE_ERROR,
    PathNotFound: NO_INPUT,
    LimitExceeded: INTERNAL_ERROR,
    RunTimeout: INTERNAL_ERROR,
}


class BaseComparison(NamedTuple):
    """The diff against ``base``, or a notice why there is none, or the error that prevented it."""

    diff: Diff | None = None
    notice: str = ""
    error: Exception | None = None
    base: str = ""


@click.command("action", cls=HelpCommand)
def command() -> int:
    """Run as a step of GitHub Actions; the inputs are PODPLAN_ACTION_… variables.

    action.yml calls it; docs/github-action.md lists the inputs and outputs.
    """
    log = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    try:
        with redirect_stderr(log):  # a line of it could be a workflow command
            code = _run_step(read_inputs(os.environ), os.environ)
    except (Exception, RunTimeout) as error:
        code, message = _map_error(error)
        write_stdout(format_annotation("error", message, title="podplan") + "\n")
    _print_log_lines(_decode_log(log))
    return code


def _run_step(action_inputs: ActionInputs, environ: Mapping[str, str]) -> int:
    for name, path in action_inputs.path_inputs:
        require_in_workspace(name, path, environ)
    return (
        _run_render(action_inputs)
        if action_inputs.command.startswith("render")
        else _run_check(action_inputs, environ)
    )


def _run_render(action_inputs: ActionInputs) -> int:
    """Run podplan render, with workflow commands in its output escaped."""
    check = ["--check"] if action_inputs.command == "render-check" else []
    output_flags = ["-o", action_inputs.output_dir] if action_inputs.output_dir else []
    # Without a folder the tables [[render]] define the paths, and the default of the input must not override
    # them.
    is_default = not action_inputs.output_dir and action_inputs.paths == (os.curdir,)
    paths = () if is_default else action_inputs.paths
    arguments = [*check, *output_flags, *_build_flags(action_inputs), "--", *paths]
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    with redirect_stdout(printed):
        code = render.command.main(arguments, standalone_mode=False)
    _print_log_lines(_decode_log(printed))
    return int(code)


def _run_check(action_inputs: ActionInputs, environ: Mapping[str, str]) -> int:
    """Run podplan check and podplan diff, or only the latter, and write their reports."""
    comparison = _compare_with_base(action_inputs, environ)
    result, shown, run_settings = _check_paths(action_inputs, comparison.base)
    settings = run_settings.settings
    pictures = render_pictures(comparison.diff, settings) if comparison.diff and action_inputs.summary else ""
    plan_text = _render_plan(action_inputs, comparison.base) if action_inputs.summary else ""
    _write_outputs(action_inputs, environ, result, shown, comparison, pictures, plan_text)
    _print_log(result, shown, comparison)
    if comparison.error is not None:
        raise comparison.error
    if result is not None:
        check_run.require_complete(result)
        return check_run.compute_exit_code(result, run_settings.fail_on)
    has_broken_jobs = comparison.diff is not None and comparison.diff.impact.broken
    return FINDINGS if has_broken_jobs and run_settings.fail_on is not None else CLEAN


def _check_paths(
    action_inputs: ActionInputs, base: str
) -> tuple[CheckResult | None, CheckResult | None, RunSettings]:
    """Check the paths, including rules about the change since ``base``.

    Return the result, the same with the findings that the input ``only`` selects, and the settings.
    """
    flags = check.command.make_context("check", _build_flags(action_inputs)).params
    del flags["paths"]
    if action_inputs.command == "check" and base:
        only = action_inputs.only or "new"
        change = change_filter.ChangeSelection(
            affected=False, ref=base, filter_changed=only == "changed", filter_new=only == "new"
        )
        return change_filter.check_all_of_change(action_inputs.paths, change, flags)
    run_settings = check_run.resolve_check_settings(action_inputs.paths, **flags)
    if action_inputs.command != "check":
        return None, None, run_settings
    result = check_run.run_check(action_inputs.paths, run_settings)
    return result, result, run_settings


def _compare_with_base(action_inputs: ActionInputs, environ: Mapping[str, str]) -> BaseComparison:
    """Compare with the base. A base that is only the default, and does not exist, is no error."""
    try:
        base_revision = find_base_revision(action_inputs.base, find_root(action_inputs.paths[0]), environ)
        if base_revision.revision:
            flags = {"environments": action_inputs.environment, "config": action_inputs.config}
            computed_diff = diff.compare_paths(action_inputs.paths, base=base_revision.revision, **flags)
            return BaseComparison(computed_diff, base=base_revision.revision)
    except (UsageError, PathNotFound, LimitExceeded) as error:
        if action_inputs.base or isinstance(error, LimitExceeded):
            return BaseComparison(error=error)
        return BaseComparison(notice=f"there is no difference to show: {error}")
    if base_revision.reason:
        return BaseComparison(notice=f"there is no difference to show: {base_revision.reason}")
    if action_inputs.command == "diff":
        return BaseComparison(error=UsageError("command diff wants the input base, except for pull requests"))
    return BaseComparison()


def _render_plan(action_inputs: ActionInputs, base: str) -> str:
    """Render the plan of a repository that states queues, compared with the base if there is one, else "".

    What cannot be planned is no error of the step: the check reports it.
    """
    flags = {"environments": action_inputs.environment or ("all",), "config": action_inputs.config}
    try:
        planned, _ = plan.plan_paths(action_inputs.paths, prints_findings=False, **flags)
        if not any(job.queue and job.verdict != "unknown" for job in planned.jobs):
            return ""
        if base:
            planned = plan.compare_with_base(planned, action_inputs.paths, base, flags)
    except (UsageError, PathNotFound, LimitExceeded):
        return ""
    return plan_markdown.render(planned)


def _write_outputs(
    action_inputs: ActionInputs,
    environ: Mapping[str, str],
    result: CheckResult | None,
    shown: CheckResult | None,
    comparison: BaseComparison,
    pictures: str,
    plan_text: str,
) -> None:
    """Write the files that the inputs request, and those of the runner."""
    values = build_outputs(result, comparison.diff)
    # If a limit or an internal error left files unchecked, GitHub would mark their alerts as fixed.
    if action_inputs.sarif_file and result is not None and check_run.is_complete(result):
        replace_file(action_inputs.sarif_file, render_report(result, "sarif"))
        values["sarif-file"] = action_inputs.sarif_file
    if action_inputs.comment_file:
        replace_file(action_inputs.comment_file, render_comment(result, comparison.diff, shown))
        values["comment-file"] = action_inputs.comment_file
    append_file(environ.get("GITHUB_OUTPUT", ""), format_outputs(values))
    if action_inputs.summary:
        text = render_summary(result, shown, comparison.diff, comparison.notice, pictures, plan_text)
        append_file(environ.get("GITHUB_STEP_SUMMARY", ""), truncate_summary(text))


def _print_log(result: CheckResult | None, shown: CheckResult | None, comparison: BaseComparison) -> None:
    """Print the log: everything in groups, and the most important findings to show as annotations."""
    used_levels = []
    if comparison.diff is not None:
        _print_group("difference", diff_text.render(comparison.diff))
    if comparison.error is not None:
        used_levels.append("error")
    if comparison.notice:
        used_levels.append("notice")
        write_stdout(format_annotation("notice", comparison.notice, title="podplan") + "\n")
    if result is not None:
        if result.findings:
            finding_lines = concise.render(result).splitlines()[:-1]  # the annotations have the summary
            _print_group("findings", "\n".join(finding_lines))
        shown_findings = shown.findings if shown is not None else result.findings
        write_stdout(
            github.render(
                result._replace(findings=shown_findings),
                used_levels,
                len(result.findings) - len(shown_findings),
            )
        )


def _build_flags(action_inputs: ActionInputs) -> list[str]:
    """Return the common flags of check and render."""
    single_values = {"fail-on": action_inputs.fail_on, "config": action_inputs.config}
    flags = [f"--{name}={value}" for name, value in single_values.items() if value]
    return [*flags, *(f"--env={name}" for name in action_inputs.environment)]


def _print_group(title: str, text: str) -> None:
    write_stdout(f"::group::{title}\n")
    _print_log_lines(text)
    write_stdout("::endgroup::\n")


def _print_log_lines(text: str) -> None:
    write_stdout("".join(f"{format_log_line(line)}\n" for line in text.split("\n") if line))


def _decode_log(printed: io.TextIOWrapper) -> str:
    buffer = printed.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(errors="backslashreplace")


def _map_error(error: BaseException) -> tuple[int, str]:
    """Return the exit code for an error, and its message."""
    for kind, code in EXIT_CODES.items():
        if isinstance(error, kind):
            return code, str(error)
    if isinstance(error, click.ClickException):
        return USAGE_ERROR, error.format_message()
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else "cannot go on: "
        return USAGE_ERROR, f"{name}{describe_os_error(error)}"
    return (
        INTERNAL_ERROR,
        f"podplan itself failed with {type(error).__name__}; please report it with the input",
    )
