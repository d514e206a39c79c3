"""podplan test"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, FINDINGS, NOTHING
from podplan.cli.options import Request, default_paths, request
from podplan.cli.output import replace_file, say, say_unread, write, write_text
from podplan.cli.shell_completion import files
from podplan.core.builtin_rules import RULES
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.limits import BoundExceeded
from podplan.core.typing import Any
from podplan.lint.policy import Policy
from podplan.tools.repository_tests import Failure, Outcome, Tested, together
from podplan.workspace import Reader
from podplan.workspace.file_loader import in_one
from podplan.workspace.files import expand


@click.command("test")
@click.argument("paths", nargs=-1, shell_complete=files)
@click.option("--update", is_flag=True, help="Write the golden renders that are out of date.")
@click.option("--all", "update_all", is_flag=True, help="With --update, also those that are not there yet.")
@click.option("--require-tests", is_flag=True, help="Fail for policies and profiles without tests.")
@click.option("--coverage", is_flag=True, help="List policies and profiles with the tests that they have.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("--inventory", metavar="FILE", default="", help="The ClusterInventory to use.")
@click.option("--k8s-version", metavar="1.NN", default="", help="Kubernetes version to check against.")
@click.option("--config", metavar="FILE", default="", help="This configuration, not the nearest.")
@click.option("--isolated", is_flag=True, help="No configuration file.")
def command(
    paths: Sequence[str],
    update: bool,
    update_all: bool,
    require_tests: bool,
    coverage: bool,
    format_: str,
    **flags: Any,
) -> int:
    """Test policies by their examples, and profiles by their golden renders.

    The policies are those in the folders that the configuration names. NAME.golden.yaml beside
    NAME.yaml is what podplan render prints for it, in each environment. PATHS (default: this folder, and
    all policies) narrow down which of both are tested.
    """
    if update_all and not update:
        raise RequestError("--all says which golden renders --update writes; write --update --all")
    # Policies are read only for commands that select rules; here all of them count.
    asked = request(default_paths(paths), environments=("all",), sets=(), select=(), **flags)
    outcome = together((_examples(paths, asked), _goldens(paths, asked, update, update_all)))
    if require_tests:
        missing = tuple(_missing(one) for one in outcome.tested if not one.enough)
        outcome = outcome._replace(failures=(*outcome.failures, *missing))
    if not outcome.ran and not outcome.failures and not coverage:
        say("nothing to test: no policy with examples and no golden render here")
        return NOTHING
    from podplan.report.repository_tests import render_json, render_text

    if format_ == "json":
        write(render_json(outcome, coverage))
    else:
        write_text(render_text(outcome, coverage))
    if outcome.given_up:
        raise BoundExceeded(in_one(outcome.given_up))
    if outcome.failures:
        return FINDINGS
    return CLEAN if outcome.ran else NOTHING


def _examples(paths: Sequence[str], asked: Request) -> Outcome:
    terms = asked.settings.terms
    own = [one for one in terms.known if one.origin is not None]
    # A note, such as of auditAnnotations, is for podplan check; it fails no test.
    wrong = [one for one in terms.policy_faults if RULES[one[1].rule].severity is not Severity.INFO]
    faults = [(doc, problem) for doc, problem in wrong if _is_below(doc.name, paths)]
    own = [one for one in own if any(_is_below(file, paths) for file in _files(one))]
    if not own and not faults:
        return Outcome()
    from podplan.tools.repository_tests.examples import run_examples

    return run_examples(own, faults, asked.settings.k8s_version)


def _files(one: Policy) -> set[str]:
    """The files in which a policy and its examples are."""
    return {one.file, one.tests.name} if one.tests is not None else {one.file}


def _goldens(paths: Sequence[str], asked: Request, update: bool, update_all: bool) -> Outcome:
    from podplan.tools.repository_tests.goldens import run_goldens

    folders: list[str] = []
    files = expand(default_paths(paths), asked.exclude, folders)
    reader = Reader(exclude=asked.exclude)
    outcome = run_goldens(files, asked.settings, reader, replace_file if update else None, update_all)
    say_unread(folders, ())
    return outcome


def _is_below(file: str, paths: Sequence[str]) -> bool:
    """Whether a file is, or is below, one of the paths; of no paths, any is."""
    real = os.path.realpath(file)
    tops = [os.path.realpath(path) for path in paths]
    return not tops or any(os.path.commonpath((real, top)) == top for top in tops)


def _missing(tested: Tested) -> Failure:
    if tested.what == "policy":
        lacks = " and no ".join(verdict for verdict in ("bad", "good") if verdict not in tested.tests)
        return Failure(tested.file, 1, 1, tested.name, f"the policy has no {lacks} example")
    message = "the profile has no golden render; podplan test --update --all writes it"
    return Failure(tested.file, 1, 1, tested.name or "profile", message)
