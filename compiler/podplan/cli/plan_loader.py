"""What render, lower and why have in common: the plans of everything named, or the reasons why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from podplan.checker.check import Result, gone_through
from podplan.cli.check_run import exit_code
from podplan.cli.exit_codes import FINDINGS
from podplan.cli.options import Request, default_paths, request
from podplan.cli.output import say_unread, tell
from podplan.core.typing import Any, NamedTuple
from podplan.pipeline import Plan, Settings
from podplan.workspace import Reader
from podplan.workspace.file_loader import Unread, sources, standard_input
from podplan.workspace.files import expand
from podplan.yaml import Source

# What becomes of a plan that has a CR.
Take = Callable[[Plan, Settings], None]


class Produced(NamedTuple):
    """How many plans have a CR, and the exit code of the findings: with any but 0 nothing may be printed."""

    jobs: int
    request: Request
    code: int


def produce(paths: Sequence[str], wanted: frozenset[str], take: Take, **flags: Any) -> Produced:
    """Hands the plans for the paths to ``take``, one by one; findings go to standard error.

    Policies are for check: what the API server takes can be rendered and lowered, and so be looked at.
    With -e all the environments are rendered, and the profile as written is not.
    """
    paths = default_paths(paths)
    asked = request(paths, **flags)
    settings = asked.settings._replace(policies=())
    if settings.environments == "all":
        settings = settings._replace(environments="each")
    asked = asked._replace(settings=settings)
    folders: list[str] = []
    unread: list[Unread] = []
    jobs, fell_short = 0, False

    def found() -> Iterator[Source | Unread]:
        if list(paths) == ["-"]:
            yield standard_input(flags["stdin_filename"])
            return
        for source in sources(expand(paths, asked.exclude, folders)):
            if isinstance(source, Unread):
                unread.append(source)
            yield source

    def taken(plan: Plan) -> None:
        nonlocal jobs, fell_short
        fell_short |= bool(plan.failed or (plan.variant is not None and _fell_short(plan, wanted)))
        if plan.cr is not None:
            jobs += 1
            take(plan, settings)

    result = gone_through(found(), settings, Reader(exclude=asked.exclude), wanted, taken)
    say_unread(folders, unread)
    code = exit_code(result, asked.fail_on)
    if fell_short:
        code = code or FINDINGS
    if result.findings:
        _tell(result)
    return Produced(jobs, asked, code)


def _fell_short(plan: Plan, wanted: frozenset[str]) -> bool:
    """Whether a plan lacks what it is made for: a CR, and for lowering what it lowers to."""
    return plan.cr is None or ("cr" in wanted and not plan.lowered)


def _tell(result: Result) -> None:
    """The findings on standard error."""
    from podplan.report.full import render

    tell(render(result))
