"""The command line: every way out has its exit code, and none is a traceback.

Paths without an option need nothing but checking; for all else click reads the command line. Next to nothing
is imported up here: an interrupt before ``main`` is called is answered by Python, with a traceback.
"""

from __future__ import annotations

import gc
import os
import sys

from podplan.cli.command_names import COMMANDS
from podplan.cli.exit_codes import INTERNAL, KILLED, NOTHING, WRONG_REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# How many new objects there may be before Python looks for garbage; a run of one file has not that many.
YOUNG = 50_000


def main() -> NoReturn:
    """The entry point: every way out has its exit code, and none is a traceback."""
    try:
        gc.set_threshold(YOUNG)
        _end_of_run()
    except KeyboardInterrupt:  # so early that the rest is being imported, or at the very end
        sys.exit(KILLED + 2)


def _end_of_run() -> NoReturn:
    """The run that the command line asks for. Raises SystemExit, or KeyboardInterrupt before and after it."""
    from podplan.cli.output import drop_output, say
    from podplan.cli.signals import heeded
    from podplan.core.errors import RequestError
    from podplan.core.limits import REFUSED, BoundExceeded, OutOfTime
    from podplan.workspace.files import NoSuchPath, OutsideRoot

    if REFUSED:
        say(REFUSED)
        sys.exit(WRONG_REQUEST)
    try:
        # A language server runs for as long as its editor.
        code = heeded(lambda: _called(sys.argv[1:]), bounded=sys.argv[1:2] != ["lsp"])
        gc.freeze()  # or Python looks through everything once more on its way out: a tenth of a big run
        sys.exit(code)
    except (SystemExit, KeyboardInterrupt):
        raise
    except RequestError as error:
        say(str(error))
        sys.exit(WRONG_REQUEST)
    except NoSuchPath as error:
        say(str(error))
        sys.exit(NOTHING)
    except OutsideRoot as error:
        say(str(error))
        sys.exit(WRONG_REQUEST)
    except (BoundExceeded, OutOfTime) as error:
        say(str(error))
        sys.exit(INTERNAL)
    except MemoryError:  # until what the run held goes with its frames, there is no room to say anything
        pass
    except BrokenPipeError:  # the reader had enough, and nobody knows of what: no verdict may be told
        drop_output()
        sys.exit(KILLED + 13)  # as SIGPIPE ends other programs
    except OSError as error:  # of the system: a disk that is full, a folder that may not be read
        from podplan.cli.output import reason

        drop_output()
        say(f"{error.filename}: {reason(error)}" if error.filename else f"cannot go on: {reason(error)}")
        sys.exit(WRONG_REQUEST)
    except BaseException as error:  # a fault of podplan, or of a library in Rust: a sentence and no traceback
        _say_internal(error)
        sys.exit(INTERNAL)
    drop_output()
    say("there is not enough memory to go on; give the process more, or fewer files at once")
    sys.exit(INTERNAL)


def _called(args: list[str]) -> int:
    """The exit code of the command that ``args`` name."""
    if paths := _only_paths(args):
        from podplan.cli.check_run import check_paths

        return check_paths(paths)
    from podplan.cli.commands import called

    return called()


def _only_paths(args: list[str]) -> list[str]:
    """The paths, where there is nothing but paths to check; click, which shells ask too, reads all else."""
    if "_PODPLAN_COMPLETE" in os.environ or any(arg.startswith("-") for arg in args):
        return []
    if args[:1] == ["check"]:
        return args[1:]
    return [] if args[:1] and args[0] in COMMANDS else args


def _say_internal(error: BaseException) -> None:
    """A fault of podplan itself: what it is and where, without a traceback.

    What the error says stays out: it may quote anything of the input.
    """
    from podplan.cli.output import say

    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "?")
        where = f" in {module}, line {trace.tb_lineno}"
    say(
        f"internal error{where}: {type(error).__name__}",
        "this is a fault of podplan; please report it together with the input",
    )
