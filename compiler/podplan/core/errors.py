"""The one error for a request that is wrong, whatever part of it."""


class UsageError(Exception):
    """What the user asked for cannot be done (exit 2); the message is a sentence."""
