"""podplan version"""

from __future__ import annotations

import click

from podplan import __version__
from podplan.cli.help import HelpCommand
from podplan.cli.output import write_stdout


@click.command("version", cls=HelpCommand)
def command() -> int:
    """Print the version."""
    write_stdout(f"podplan {__version__}\n")
    return 0
