"""Loads the plans of all given paths, for render, lower, why and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from podplan.checker.check import CheckResult, collect_findings
from podplan.cli.check_run import compute_exit_code
from podplan.cli.exit_codes import CLEAN, FINDINGS
from podplan.cli.job_selection import JobSelection, describe_plan
from podplan.cli.options import RunSettings, default_paths, resolve_run_settings
from podplan.cli.output import print_message, say_unread, write_escaped_stderr
from podplan.core.typing import Any, NamedTuple
from podplan.pipeline import JobPlan, PipelineSettings
from podplan.workspace.documents import ClassifiedDocument
from podplan.workspace.file_loader import SkippedFile, load_files, read_standard_input
from podplan.workspace.files import expand_paths
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

# Receives plans that have a CR.
Take = Callable[[JobPlan, PipelineSettings], None]


class LoadedPlans(NamedTuple):
    """The number of plans with a CR, and the exit code of the findings.

    ``failed`` names the jobs with findings that fail, and those that lack a result; ``taken`` is the number
    of all others. Commands whose output must be complete print nothing unless the code is 0.
    """

    jobs: int
    run_settings: RunSettings
    code: int
    failed: list[str]
    taken: int


def load_job_plans(
    paths: Sequence[str],
    categories: frozenset[str],
    take: Take,
    *,
    prints_findings: bool = True,
    standard_input: SourceFile | None = None,
    selection: JobSelection | None = None,
    takes_failed: bool = False,
    **flags: Any,
) -> LoadedPlans:
    """Pass the plans of the paths to ``take``, one by one, those that fail or were not lowered only if it
    ``takes_failed``; findings are printed to standard error.

    ``standard_input`` is what "-" means, if it was read before. With a ``selection`` the findings and the
    exit code are of the selected job alone.
    Policies are not applied: everything that the API server accepts can be rendered and lowered. With -e all
    the profile as written is not rendered, only its environments.
    """
    paths = default_paths(paths)
    run_settings = resolve_run_settings(paths, **flags)
    settings = run_settings.settings._replace(policies=())
    if settings.environments == "all":
        settings = settings._replace(environments="each")
    run_settings = run_settings._replace(settings=settings)
    folders: list[str] = []
    unread: list[SkippedFile] = []
    jobs, taken, is_incomplete = 0, 0, False
    failed: list[str] = []
    failed_profile: ClassifiedDocument | None = None

    loader = Loader(exclude=run_settings.exclude, named_files=paths)

    def iter_sources() -> Iterator[SourceFile | SkippedFile]:
        if kustomize := flags.get("kustomize", ""):
            yield loader.load_build(kustomize)
            return
        if list(paths) == ["-"]:
            yield standard_input or read_standard_input(flags["stdin_filename"])
            return
        for source in load_files(expand_paths(paths, run_settings.exclude, folders)):
            if isinstance(source, SkippedFile):
                unread.append(source)
            yield source

    def fails(result: CheckResult) -> bool:
        return compute_exit_code(result, run_settings.fail_on) != CLEAN

    def count_and_take(plan: JobPlan, is_failure: bool) -> None:
        nonlocal jobs, taken, is_incomplete, failed_profile
        lacks_result = bool(
            plan.failed_environments
            or (plan.variant_id is not None and not takes_failed and _is_incomplete(plan, categories))
        )
        is_incomplete |= lacks_result
        jobs += plan.cr is not None
        if plan.variant_id is None and is_failure:
            failed_profile = plan.item  # what is wrong with it may be wrong in any of its variants
        is_of_failed_profile = plan.item is failed_profile
        if (is_failure or lacks_result) and not (is_of_failed_profile and plan.variant_id is not None):
            failed.append(describe_plan(plan))
        is_failure |= lacks_result or is_of_failed_profile
        taken += plan.cr is not None and not is_failure
        if plan.cr is not None and (takes_failed or not is_failure):
            take(plan, settings)

    includes = selection.includes if selection is not None else lambda _: True
    result = collect_findings(
        iter_sources(), settings, loader, categories, count_and_take, fails, includes, not takes_failed
    )
    say_unread(folders, unread)
    code = compute_exit_code(result, run_settings.fail_on)
    if is_incomplete:
        code = code or FINDINGS
    if prints_findings:
        _print_findings(result)
    return LoadedPlans(jobs, run_settings, code, failed, taken)


def _is_incomplete(plan: JobPlan, categories: frozenset[str]) -> bool:
    """Whether a plan lacks its result: a CR, and for lowering also the lowered objects."""
    return plan.cr is None or ("cr" in categories and not plan.is_lowered)


def _print_findings(result: CheckResult) -> None:
    """Print the findings, and what was not checked, to standard error."""
    if result.findings:
        from podplan.report.full import render

        write_escaped_stderr(render(result))
    elif result.summary.not_checked:
        from podplan.report.summary import format_not_checked

        print_message(format_not_checked(result.summary.not_checked))
