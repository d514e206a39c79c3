"""podplan lsp"""

from __future__ import annotations

import os
import sys
from functools import partial

import click

from podplan.cli.help import HelpCommand
from podplan.core.errors import UsageError
from podplan.integrations.lsp.workspace import FileSettings


@click.command("lsp", cls=HelpCommand)
@click.option("--inventory", metavar="FILE", default="", help="ClusterInventory file [the nearest].")
@click.option(
    "--config", metavar="FILE", default="", help="Configuration file to use instead of the nearest one."
)
@click.option("--isolated", is_flag=True, help="Ignore configuration files.")
def command(inventory: str, config: str, isolated: bool) -> int:
    """Run the language server for editors on standard input and output.

    docs/editors.md describes the configuration of editors: findings while typing, hover, completion,
    definitions and fixes.
    """
    from podplan.integrations.lsp.server import serve

    if sys.stdin is None or sys.stdout is None:
        raise UsageError("podplan lsp talks on standard input and output, and one of them is closed")
    resolve_settings = partial(resolve_file_settings, inventory=inventory, config=config, isolated=isolated)
    # Only the protocol may use these streams; anything else that is printed would corrupt it.
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return serve(stdin, stdout, resolve_settings)


def resolve_file_settings(
    path: str, inventory: str = "", config: str = "", isolated: bool = False
) -> FileSettings:
    """Return the settings that ``podplan check`` uses for a file. Raises UsageError: if they are invalid."""
    from podplan.cli.check_run import resolve_check_settings

    run_settings = resolve_check_settings([path], inventory=inventory, config=config, isolated=isolated)
    return FileSettings(run_settings.settings, run_settings.exclude)
