"""--fix and --diff of podplan check"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from podplan.checker.check import Result
from podplan.cli.exit_codes import CLEAN, FINDINGS
from podplan.cli.options import Request
from podplan.cli.output import replace_text, tell, write
from podplan.cli.progress import shown
from podplan.core.errors import RequestError
from podplan.core.typing import TYPE_CHECKING, Any, TypeVar
from podplan.report.sanitization import unheard
from podplan.report.terminal_style import Style

if TYPE_CHECKING:
    from podplan.tools.fixer import Repaired

Command = TypeVar("Command", bound=Callable[..., Any])


def fix_options(command: Command) -> Command:
    """--fix, --unsafe-fixes, --fix-only and --diff."""
    for option in (
        click.option("--diff", is_flag=True, help="Print what --fix would change, and change nothing."),
        click.option("--fix-only", is_flag=True, help="Repair, and say nothing of what is left."),
        click.option("--unsafe-fixes", is_flag=True, help="Also where a job may do something else then."),
        click.option("--fix", is_flag=True, help="Repair what can be repaired, and report what is left."),
    ):
        command = option(command)
    return command


def make_fixes(paths: Sequence[str], wanted: Request, unsafe: bool) -> Result:
    """Repair the files; what is left to report. Raises RequestError where one has changed meanwhile."""
    from podplan.report.fixes import told

    repaired = _repaired(paths, wanted, unsafe)
    for file, text in repaired.texts.items():
        replace_text(file, repaired.before[file], text)
    tell(told(repaired, written=True))
    return repaired.result


def show_fixes(paths: Sequence[str], wanted: Request, unsafe: bool, style: Style) -> int:
    """Print the difference that repairs would make; 1 where there is one."""
    from podplan.report.fixes import diff, told

    repaired = _repaired(paths, wanted, unsafe)
    write(unheard(diff(repaired, style)))
    tell(told(repaired, written=False))
    return FINDINGS if repaired.texts else CLEAN


def _repaired(paths: Sequence[str], wanted: Request, unsafe: bool) -> Repaired:
    from podplan.tools.fixer import repair

    if list(paths) == ["-"]:
        raise RequestError("standard input cannot be repaired; name the file")
    with shown() as watch:
        return repair(paths, wanted.settings, wanted.exclude, unsafe, watch)
