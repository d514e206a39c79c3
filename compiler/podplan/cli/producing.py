"""What render, lower and why have in common: plans of everything named, or the reasons why not."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.check import Result, summarised
from podplan.cli.checking import exit_code
from podplan.cli.exits import FINDINGS
from podplan.cli.options import Request, default_paths, request
from podplan.cli.output import say_unread, tell
from podplan.pipeline import Plan
from podplan.reading import Reader
from podplan.reading.documents import OF_PROFILES
from podplan.reading.files import expand
from podplan.reading.opening import Unread, sources, standard_input
from podplan.rendering import all_plans
from podplan.typing import Any, NamedTuple


class Produced(NamedTuple):
    """Plans, and the exit code that their findings give: not 0 means that nothing may be printed."""

    plans: list[Plan]
    request: Request
    code: int


def produce(paths: Sequence[str], wanted: frozenset[str], **flags: Any) -> Produced:
    """The plans for the paths; findings go to standard error.

    Policies are for check: what the API server takes can be rendered and lowered, and so be looked at.
    With -e all the environments are rendered, and the profile as written is not.
    """
    paths = default_paths(paths)
    asked = request(paths, **flags)
    settings = asked.settings._replace(policies=())
    if settings.environments == "all":
        settings = settings._replace(environments="each")
    asked = asked._replace(settings=settings)
    reader = Reader(exclude=asked.exclude)
    folders: list[str] = []
    found = (
        [standard_input(flags["stdin_filename"])]
        if list(paths) == ["-"]
        else list(sources(expand(paths, asked.exclude, folders)))
    )
    say_unread(folders, (one for one in found if isinstance(one, Unread)))
    made = all_plans(found, settings, reader, wanted)
    result = summarised(found, made, asked.settings, reader, OF_PROFILES | wanted)
    code = exit_code(result, asked.fail_on)
    if any(plan.failed or (plan.variant is not None and _fell_short(plan, wanted)) for plan in made):
        code = code or FINDINGS
    if result.findings:
        _tell(result)
    return Produced([plan for plan in made if plan.cr is not None], asked, code)


def _fell_short(plan: Plan, wanted: frozenset[str]) -> bool:
    """Whether a plan lacks what it is made for: a CR, and for lowering what it lowers to."""
    return plan.cr is None or ("cr" in wanted and not plan.lowered)


def _tell(result: Result) -> None:
    """The findings on standard error."""
    from podplan.report.full import render

    tell(render(result))
