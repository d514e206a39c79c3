"""The errors for wrong usage: a flag, a path or a configuration that podplan cannot work with."""

from __future__ import annotations


class UsageError(Exception):
    """A wrong flag, path or configuration (exit code 2); the message is one sentence for the user."""


class NothingFound(UsageError):
    """The paths have nothing that the command works on (exit code 3)."""


class EnvironmentNotChosen(UsageError):
    """A profile has environments, and none is chosen."""


def describe_internal_error(error: BaseException) -> str:
    """Describe an internal error by type and location, without a traceback.

    The text of the error is omitted, because it may quote any input.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "?") if trace is not None else "?"
    line = trace.tb_lineno if trace is not None else 0
    return f"internal error in {module}, line {line}: {type(error).__name__}"
