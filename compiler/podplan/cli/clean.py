"""podplan clean"""

from __future__ import annotations

import os

import click

from podplan.cli.check_cache import chosen, evict
from podplan.cli.exit_codes import CLEAN


@click.command("clean")
@click.option("--cache-dir", metavar="DIR", default="", help="The folder that was given to podplan check.")
def command(cache_dir: str) -> int:
    """Remove what the cache of podplan check holds."""
    folder = chosen(cache_dir)
    removed = evict(folder, 0, 0) if os.path.isdir(folder) else 0
    click.echo(f"{removed} entr{'y' if removed == 1 else 'ies'} removed", err=True)
    return CLEAN
