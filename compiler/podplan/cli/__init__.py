"""The command line. Every run ends with an exit code of ``exit_codes``, and never with a traceback.

Paths without an option only need the check; everything else is parsed by click. Few modules are imported
here, because an interrupt before ``main`` is called prints a traceback of Python.
"""

from __future__ import annotations

import gc
import os
import sys

from podplan.cli.command_names import COMMANDS, asks_for_help
from podplan.cli.exit_codes import INTERNAL_ERROR, NO_INPUT, SIGNAL_BASE, USAGE_ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# New objects before a garbage collection; a run of one file has fewer.
GC_THRESHOLD = 50_000


def main() -> NoReturn:
    """Run the command line; the entry point. Always raises SystemExit."""
    try:
        gc.set_threshold(GC_THRESHOLD)
        _run_command_line()
    except KeyboardInterrupt:  # during the imports, or at the very end
        sys.exit(SIGNAL_BASE + 2)


def _run_command_line() -> NoReturn:
    """Run the command. Raises SystemExit, or KeyboardInterrupt before and after the command."""
    from podplan.cli.output import discard_stdout, print_message
    from podplan.cli.signals import run_with_signals
    from podplan.core.errors import NothingFound, UsageError
    from podplan.core.limits import LIMITS_ERROR, LimitExceeded, RunTimeout
    from podplan.workspace.files import OutsideRoot, PathNotFound

    if LIMITS_ERROR:
        print_message(LIMITS_ERROR)
        sys.exit(USAGE_ERROR)
    try:
        # A language server runs as long as its editor.
        code = run_with_signals(lambda: _run_command(sys.argv[1:]), has_timeout=sys.argv[1:2] != ["lsp"])
        gc.freeze()  # otherwise Python collects garbage at exit, which takes a tenth of a big run
        sys.exit(code)
    except (SystemExit, KeyboardInterrupt):
        raise
    except NothingFound as error:
        print_message(str(error))
        sys.exit(NO_INPUT)
    except UsageError as error:
        print_message(str(error))
        sys.exit(USAGE_ERROR)
    except PathNotFound as error:
        print_message(f"{error}{_suggest_command(sys.argv[1:])}")
        sys.exit(NO_INPUT)
    except OutsideRoot as error:
        print_message(str(error))
        sys.exit(USAGE_ERROR)
    except (LimitExceeded, RunTimeout) as error:
        print_message(str(error))
        sys.exit(INTERNAL_ERROR)
    except MemoryError:  # the message must wait until the frames of the run are released
        pass
    except BrokenPipeError:  # the reader closed the pipe, so the result is incomplete
        discard_stdout()
        sys.exit(SIGNAL_BASE + 13)  # the exit code of a program that SIGPIPE ends
    except OSError as error:  # from the system: the disk is full, a folder is not readable
        from podplan.cli.output import describe_os_error

        discard_stdout()
        print_message(
            f"{error.filename}: {describe_os_error(error)}"
            if error.filename
            else f"cannot go on: {describe_os_error(error)}"
        )
        sys.exit(USAGE_ERROR)
    except BaseException as error:  # an internal error, or a panic of a library in Rust
        _print_internal_error(error)
        sys.exit(INTERNAL_ERROR)
    discard_stdout()
    print_message("there is not enough memory to go on; give the process more, or fewer files at once")
    sys.exit(INTERNAL_ERROR)


def _run_command(args: list[str]) -> int:
    """Run the command that ``args`` name, and return its exit code."""
    if paths := _parse_plain_paths(args):
        from podplan.cli.check_run import check_paths

        return check_paths(paths)
    from podplan.cli.commands import run_click

    return run_click()


def _parse_plain_paths(args: list[str]) -> list[str]:
    """Return the paths if there are only paths to check; empty if click is needed, also for shell
    completion."""
    if "_PODPLAN_COMPLETE" in os.environ or any(arg.startswith("-") for arg in args) or asks_for_help(args):
        return []
    if args[:1] == ["check"]:
        return args[1:]
    return [] if args[:1] and args[0] in COMMANDS else args


def _suggest_command(args: list[str]) -> str:
    """Return which command may be meant by a first argument that is neither a command nor a path."""
    if not args or args[0] in COMMANDS or os.path.lexists(args[0]):
        return ""
    from podplan.core.suggestions import suggest_name

    name = suggest_name(args[0], (*COMMANDS, "help"))
    return f"; did you mean podplan {name}?" if name else ""


def _print_internal_error(error: BaseException) -> None:
    """Print type and location of an internal error, without a traceback."""
    from podplan.cli.output import print_message
    from podplan.core.errors import describe_internal_error

    print_message(
        describe_internal_error(error),
        "this is a fault of podplan; please report it together with the input",
    )
