"""The commands for click; each module is imported only when its command is called."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from podplan.cli.command_names import COMMANDS, asks_for_help
from podplan.cli.exit_codes import CLEAN, SIGNAL_BASE, USAGE_ERROR
from podplan.cli.help import HelpGroup
from podplan.cli.output import print_message, write_stdout
from podplan.core.typing import Any


def run_click() -> int:
    """Run the command on the command line, and return its exit code. Raises what the command raises."""
    output = sys.stdout
    try:
        code = podplan.main(prog_name="podplan", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return CLEAN
    except click.ClickException as error:
        print_message(error.format_message(), _format_help_hint(error))
        return USAGE_ERROR
    except click.Abort as error:
        if isinstance(error.__cause__, EOFError):  # a compiled module is truncated: the disk is full
            raise error.__cause__ from None
        return SIGNAL_BASE + 2
    except SystemExit:
        if sys.stdout is not output:  # as click does for a closed pipe; it would exit with 1, as for findings
            sys.stdout = output
            raise BrokenPipeError from None
        raise
    return code if isinstance(code, int) else CLEAN


def _format_help_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"podplan: {context.command_path} --help shows how it is called" if context else ""


class CommandGroup(HelpGroup):
    """Commands by name; an argument that is no command is a path to check."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click calls it by position)
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"podplan.cli.{COMMANDS[cmd_name]}").command
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete commands; an argument that begins no command is completed as the path of a file to
        check."""
        from podplan.cli.shell_completion import complete_files

        return super().shell_complete(ctx, incomplete) or complete_files(ctx, self.params[0], incomplete)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if asks_for_help(args):
            args = [*args[1:], "--help"]
        elif args and args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version", "-V"):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda c, _, v: _print_version(c, v),
    help="Print the version and exit.",
)
def podplan() -> None:
    """Check training jobs on Kubernetes, and see their Pods before the cluster creates them.

    A path without a command is checked: `podplan jobs/` means `podplan check jobs/`.
    """


def _print_version(ctx: click.Context, is_requested: bool) -> None:
    if is_requested:
        from podplan import __version__

        write_stdout(f"podplan {__version__}\n")
        ctx.exit()
