"""podplan version"""

from __future__ import annotations

import click

from podplan import __version__


@click.command("version")
def command() -> int:
    """Print the version."""
    click.echo(f"podplan {__version__}")
    return 0
