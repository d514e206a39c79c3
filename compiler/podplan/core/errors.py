"""The errors for wrong usage: a flag, a path or a configuration that podplan cannot work with."""


class UsageError(Exception):
    """A wrong flag, path or configuration (exit code 2); the message is one sentence for the user."""


class NothingFound(UsageError):
    """The paths have nothing that the command works on (exit code 3)."""
