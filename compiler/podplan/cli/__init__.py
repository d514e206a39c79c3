"""The command line: every way out has its exit code, and none is a traceback.

Paths without an option need nothing but checking; for all else click reads the command line. Next to nothing
is imported up here: an interrupt before ``main`` is called is answered by Python, with a traceback.
"""

from __future__ import annotations

import gc
import os
import sys

from podplan.cli.command_names import COMMANDS
from podplan.cli.exit_codes import INTERNAL_ERROR, NO_INPUT, SIGNAL_BASE, USAGE_ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# How many new objects there may be before Python looks for garbage; a run of one file has not that many.
GC_THRESHOLD = 50_000


def main() -> NoReturn:
    """The entry point: every way out has its exit code, and none is a traceback."""
    try:
        gc.set_threshold(GC_THRESHOLD)
        _run_command_line()
    except KeyboardInterrupt:  # so early that the rest is being imported, or at the very end
        sys.exit(SIGNAL_BASE + 2)


def _run_command_line() -> NoReturn:
    """The run that the command line asks for. Raises SystemExit, or KeyboardInterrupt before and after it."""
    from podplan.cli.output import discard_stdout, print_message
    from podplan.cli.signals import run_with_signals
    from podplan.core.errors import UsageError
    from podplan.core.limits import LIMITS_ERROR, LimitExceeded, RunTimeout
    from podplan.workspace.files import OutsideRoot, PathNotFound

    if LIMITS_ERROR:
        print_message(LIMITS_ERROR)
        sys.exit(USAGE_ERROR)
    try:
        # A language server runs for as long as its editor.
        code = run_with_signals(lambda: _run_command(sys.argv[1:]), has_timeout=sys.argv[1:2] != ["lsp"])
        gc.freeze()  # or Python looks through everything once more on its way out: a tenth of a big run
        sys.exit(code)
    except (SystemExit, KeyboardInterrupt):
        raise
    except UsageError as error:
        print_message(str(error))
        sys.exit(USAGE_ERROR)
    except PathNotFound as error:
        print_message(str(error))
        sys.exit(NO_INPUT)
    except OutsideRoot as error:
        print_message(str(error))
        sys.exit(USAGE_ERROR)
    except (LimitExceeded, RunTimeout) as error:
        print_message(str(error))
        sys.exit(INTERNAL_ERROR)
    except MemoryError:  # until what the run held goes with its frames, there is no room to say anything
        pass
    except BrokenPipeError:  # the reader had enough, and nobody knows of what: no verdict may be told
        discard_stdout()
        sys.exit(SIGNAL_BASE + 13)  # as SIGPIPE ends other programs
    except OSError as error:  # of the system: a disk that is full, a folder that may not be read
        from podplan.cli.output import describe_os_error

        discard_stdout()
        print_message(
            f"{error.filename}: {describe_os_error(error)}"
            if error.filename
            else f"cannot go on: {describe_os_error(error)}"
        )
        sys.exit(USAGE_ERROR)
    except BaseException as error:  # a fault of podplan, or of a library in Rust: a sentence and no traceback
        _print_internal_error(error)
        sys.exit(INTERNAL_ERROR)
    discard_stdout()
    print_message("there is not enough memory to go on; give the process more, or fewer files at once")
    sys.exit(INTERNAL_ERROR)


def _run_command(args: list[str]) -> int:
    """The exit code of the command that ``args`` name."""
    if paths := _parse_plain_paths(args):
        from podplan.cli.check_run import check_paths

        return check_paths(paths)
    from podplan.cli.commands import run_click

    return run_click()


def _parse_plain_paths(args: list[str]) -> list[str]:
    """The paths, where there is nothing but paths to check; click, which shells ask too, reads all else."""
    if "_PODPLAN_COMPLETE" in os.environ or any(arg.startswith("-") for arg in args):
        return []
    if args[:1] == ["check"]:
        return args[1:]
    return [] if args[:1] and args[0] in COMMANDS else args


def _print_internal_error(error: BaseException) -> None:
    """A fault of podplan itself: what it is and where, without a traceback.

    What the error says stays out: it may quote anything of the input.
    """
    from podplan.cli.output import print_message

    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    location = ""
    if trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "?")
        location = f" in {module}, line {trace.tb_lineno}"
    print_message(
        f"internal error{location}: {type(error).__name__}",
        "this is a fault of podplan; please report it together with the input",
    )
