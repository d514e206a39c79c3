"""What render, lower and why have in common: plans of everything named, or the reasons why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from podplan.check import Result, summarised
from podplan.cli.check import exit_code
from podplan.cli.exits import CLEAN, FINDINGS
from podplan.cli.options import Request, default_paths, request
from podplan.pipeline import Plan
from podplan.reading import Reader, sources, standard_input
from podplan.reading.files import expand
from podplan.rendering import all_plans


class Produced(NamedTuple):
    """Plans, and the exit code that their findings give: not 0 means that nothing may be printed."""

    plans: list[Plan]
    request: Request
    code: int


def produce(paths: Sequence[str], wanted: frozenset[str], **flags: Any) -> Produced:
    """The plans for the paths; findings go to standard error.

    Policies are for check: what the API server takes can be rendered and lowered, so that it can be looked at.
    With -e all the environments are rendered, and the profile as written is not.
    """
    paths = default_paths(paths)
    asked = request(paths, **flags)
    asked = asked._replace(settings=asked.settings._replace(policies=()))
    reader = Reader()
    found = (
        [standard_input(flags["stdin_filename"])]
        if list(paths) == ["-"]
        else list(sources(expand(paths, asked.exclude)))
    )
    made = [
        plan
        for plan in all_plans(found, asked.settings, reader, wanted)
        if plan.environment or not _has_environments(plan)
    ]
    result = summarised(found, made, asked.settings, reader)
    code = exit_code(result, asked.fail_on)
    if code == CLEAN and any(plan.cr is None or ("cr" in wanted and not plan.lowered) for plan in made):
        code = FINDINGS
    if result.findings:
        say(result)
    return Produced(made, asked, code)


def _has_environments(plan: Plan) -> bool:
    spec = plan.item.doc.data.get("spec")
    return plan.item.what == "profile" and isinstance(spec, dict) and bool(spec.get("environments"))


def say(result: Result) -> None:
    """The findings on standard error."""
    from podplan.report.full import render

    click.echo(render(result), err=True, nl=False)
