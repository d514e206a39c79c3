"""podplan test"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, FINDINGS, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.options import RunSettings, default_paths, exclude_option, quiet_option, resolve_run_settings
from podplan.cli.output import print_message, replace_file, say_unread, write_escaped_stdout, write_stdout
from podplan.cli.shell_completion import complete_files
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.limits import LimitExceeded
from podplan.core.typing import Any
from podplan.lint.policy import Policy
from podplan.tools.repository_tests import CoveredItem, FailedTest, SuiteOutcome, merge_outcomes
from podplan.workspace.file_loader import summarize_limit_errors
from podplan.workspace.files import expand_paths
from podplan.workspace.loader import Loader


@click.command("test", cls=HelpCommand)
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@click.option("--update", is_flag=True, help="Write the golden renders that differ.")
@click.option("--all", "update_all", is_flag=True, help="With --update, also create missing golden renders.")
@click.option("--require-tests", is_flag=True, help="Fail if a policy or profile has no test.")
@click.option("--coverage", is_flag=True, help="List policies and profiles with their tests.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("--inventory", metavar="FILE", default="", help="ClusterInventory file [the nearest].")
@click.option("--k8s-version", metavar="1.NN", default="", help="Kubernetes version to check against.")
@quiet_option()
@exclude_option()
@click.option(
    "--config", metavar="FILE", default="", help="Configuration file to use instead of the nearest one."
)
@click.option("--isolated", is_flag=True, help="Ignore configuration files.")
def command(
    paths: Sequence[str],
    update: bool,
    update_all: bool,
    require_tests: bool,
    coverage: bool,
    format_: str,
    quiet: bool,
    **flags: Any,
) -> int:
    """Test custom policies with their examples, and profiles with their golden files.

    The policies are those in the folders that the configuration names. NAME.golden.yaml beside NAME.yaml is
    the expected output of podplan render in each environment. PATHS (default: the current folder and all
    policies) select what is tested.
    """
    if update_all and not update:
        raise UsageError("--all says which golden renders --update writes; write --update --all")
    run_settings = resolve_run_settings(
        default_paths(paths), with_policies=True, environments=("all",), **flags
    )
    outcome = merge_outcomes(
        (
            _run_policy_examples(paths, run_settings),
            _run_golden_renders(paths, run_settings, update, update_all),
        )
    )
    if require_tests:
        missing = tuple(_build_missing_test(one) for one in outcome.covered_items if not one.is_covered)
        outcome = outcome._replace(failures=(*outcome.failures, *missing))
    if not outcome.test_count and not outcome.failures and not coverage:
        print_message("nothing to test: no policy with examples and no golden render here")
        return NO_INPUT
    from podplan.report.repository_tests import render_json, render_text

    if format_ == "json":
        write_stdout(render_json(outcome, coverage))
    else:
        write_escaped_stdout(render_text(outcome, coverage, has_summary=not quiet))
    if outcome.limit_messages:
        raise LimitExceeded(summarize_limit_errors(outcome.limit_messages))
    if outcome.failures:
        return FINDINGS
    return CLEAN if outcome.test_count else NO_INPUT


def _run_policy_examples(paths: Sequence[str], run_settings: RunSettings) -> SuiteOutcome:
    lint_config = run_settings.settings.lint_config
    custom_policies = [one for one in lint_config.all_policies if one.origin_doc is not None]
    # Infos, such as those of auditAnnotations, fail no test.
    serious = [
        one for one in lint_config.policy_diagnostics if BUILTIN_RULES[one.rule].severity is not Severity.INFO
    ]
    faults = [one for one in serious if one.doc is not None and _is_below(one.doc.name, paths)]
    custom_policies = [
        one for one in custom_policies if any(_is_below(file, paths) for file in _list_policy_files(one))
    ]
    if not custom_policies and not faults:
        return SuiteOutcome()
    from podplan.tools.repository_tests.examples import run_examples

    return run_examples(custom_policies, faults, run_settings.settings.kubernetes_version)


def _list_policy_files(policy: Policy) -> set[str]:
    """Return the files of a policy and its examples."""
    return {policy.file, policy.tests_doc.name} if policy.tests_doc is not None else {policy.file}


def _run_golden_renders(
    paths: Sequence[str], run_settings: RunSettings, update: bool, update_all: bool
) -> SuiteOutcome:
    from podplan.tools.repository_tests.goldens import run_goldens

    folders: list[str] = []
    files = expand_paths(default_paths(paths), run_settings.exclude, folders)
    reader = Loader(exclude=run_settings.exclude)
    outcome = run_goldens(files, run_settings.settings, reader, replace_file if update else None, update_all)
    say_unread(folders, ())
    return outcome


def _is_below(file: str, paths: Sequence[str]) -> bool:
    """Whether a file is, or is below, one of the paths; without paths, any file is."""
    real = os.path.realpath(file)
    roots = [os.path.realpath(path) for path in paths]
    return not roots or any(os.path.commonpath((real, top)) == top for top in roots)


def _build_missing_test(item: CoveredItem) -> FailedTest:
    if item.category == "policy":
        missing_verdicts = " and no ".join(
            verdict for verdict in ("bad", "good") if verdict not in item.tests
        )
        return FailedTest(item.file, 1, 1, item.name, f"the policy has no {missing_verdicts} example")
    message = "the profile has no golden render; podplan test --update --all writes it"
    return FailedTest(item.file, 1, 1, item.name or "profile", message)
