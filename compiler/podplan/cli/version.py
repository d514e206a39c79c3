"""podplan version"""

from __future__ import annotations

import click

from podplan import __version__
from podplan.cli.output import write


@click.command("version")
def command() -> int:
    """Print the version."""
    write(f"podplan {__version__}\n")
    return 0
