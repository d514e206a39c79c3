"""The command line: click groups the commands, and each is imported only when it is called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import click

from podplan.cli.exits import INTERNAL, NOTHING, WRONG_REQUEST
from podplan.typing import Any, NoReturn

# name of the command -> its module below podplan.cli
COMMANDS = {
    "check": "check",
    "render": "render",
    "lower": "lower",
    "why": "why",
    "status": "status",
    "graph": "graph",
    "import": "importing",
    "fmt": "fmt",
    "migrate": "migrating",
    "rules": "rules",
    "explain": "explain",
    "baseline": "baseline",
    "test": "testing",
    "schema": "schema",
    "cmp": "cmp",
    "init": "init",
    "completion": "completion",
    "lsp": "lsp",
    "action": "action",
    "version": "version",
}


class Commands(click.Group):
    """Commands by name; what is no command is taken as a path to check."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click calls it by position)
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"podplan.cli.{COMMANDS[cmd_name]}").command
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Commands; what begins none is the path of a file to check."""
        from podplan.cli.completing import files

        return super().shell_complete(ctx, incomplete) or files(ctx, self.params[0], incomplete)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version"):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda c, _, v: _version(c, v)
)
def podplan() -> None:
    """See the Pods behind a training job before the cluster does.

    A path without a command is checked: `podplan jobs/` is `podplan check jobs/`.
    """


def _version(ctx: click.Context, wanted: bool) -> None:
    if wanted:
        from podplan import __version__

        click.echo(f"podplan {__version__}")
        ctx.exit()


def main() -> NoReturn:
    """The entry point: every way out has its exit code, and none is a traceback."""
    from podplan.limits import REFUSED, BoundExceeded, OutOfTime
    from podplan.reading.files import NoSuchPath, OutsideRoot
    from podplan.requests import RequestError

    if REFUSED:
        _say(REFUSED)
        sys.exit(WRONG_REQUEST)
    try:
        with _in_time():
            code = podplan.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(0)
    except click.ClickException as error:
        _say(error.format_message(), f"podplan: {_called(error)}")
        sys.exit(WRONG_REQUEST)
    except click.Abort:
        sys.exit(130)
    except RequestError as error:
        _say(str(error))
        sys.exit(WRONG_REQUEST)
    except NoSuchPath as error:
        _say(str(error))
        sys.exit(NOTHING)
    except OutsideRoot as error:
        _say(str(error))
        sys.exit(WRONG_REQUEST)
    except (BoundExceeded, OutOfTime) as error:
        _say(str(error))
        sys.exit(INTERNAL)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # of the system: a disk that is full, a folder that may not be read
        from podplan.cli.output import drop_output, reason

        drop_output()
        _say(f"{error.filename}: {reason(error)}" if error.filename else f"cannot go on: {reason(error)}")
        sys.exit(WRONG_REQUEST)
    except Exception as error:
        _say_internal(error)
        sys.exit(INTERNAL)


@contextmanager
def _in_time() -> Iterator[None]:
    """Lets the system interrupt what takes longer than the limit, with OutOfTime."""
    import signal

    from podplan.limits import MAX_SECONDS, OutOfTime, beyond

    def stop(*_: object) -> NoReturn:
        raise OutOfTime(beyond("seconds", "this takes too long, and is given up"))

    # A language server runs for as long as its editor; Windows has no such signal.
    bounded = hasattr(signal, "SIGALRM") and sys.argv[1:2] != ["lsp"]
    if bounded:
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
    try:
        yield
    finally:
        if bounded:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _called(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path} --help shows how it is called" if context else ""


def _say(message: str, hint: str = "") -> None:
    click.echo(f"podplan: {message}", err=True)
    if hint.removeprefix("podplan: "):
        click.echo(hint, err=True)


def _say_internal(error: Exception) -> None:
    """A fault of podplan itself: what it is and where, in one sentence, without a traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "?")
        where = f" in {module}, line {trace.tb_lineno}"
    _say(
        f"internal error{where}: {type(error).__name__}: {str(error)[:300]}",
        "this is a fault of podplan; please report it together with the input",
    )
