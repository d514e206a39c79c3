"""podplan clean"""

from __future__ import annotations

import os

import click

from podplan.cli.check_cache import evict_entries, resolve_folder
from podplan.cli.exit_codes import CLEAN
from podplan.cli.help import HelpCommand


@click.command("clean", cls=HelpCommand)
@click.option("--cache-dir", metavar="DIR", default="", help="Folder given to podplan check as --cache-dir.")
def command(cache_dir: str) -> int:
    """Delete the cache of podplan check."""
    folder = resolve_folder(cache_dir)
    removed = evict_entries(folder, 0, 0) if os.path.isdir(folder) else 0
    click.echo(f"{removed} entr{'y' if removed == 1 else 'ies'} removed", err=True)
    return CLEAN
