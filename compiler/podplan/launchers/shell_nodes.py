"""The commands of a shell string as nodes: simple commands, and blocks of them.

They are apart from the parser, because most containers start their program without a shell.
"""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.launchers.words import EnvVariables, Word


class Redirection(NamedTuple):
    """An operator such as ``>`` and the word after it, as the shell expands it."""

    operator: str
    target: Word


class SimpleCommand(NamedTuple):
    """A simple command: its words, and the variables set on the line for it alone.

    ``changed_variables`` are those that the shell has set since the previous command. ``operator_before`` and
    ``operator_after`` are the operators around it (``&&``, ``||``, ``;``, ``|``, ``&``, a newline, or empty).
    One that ``is_conditional`` may never run, or more than once. ``part`` is the reserved word of its block
    that it follows, such as ``then`` or ``do``; ``is_negated`` if a ``!`` precedes it.
    """

    words: tuple[Word, ...]
    command_variables: EnvVariables
    redirections: tuple[Redirection, ...]
    changed_variables: EnvVariables
    operator_before: str
    operator_after: str
    is_conditional: bool
    start: int
    end: int
    part: str = ""
    is_negated: bool = False


class Block(NamedTuple):
    """A compound command: ``kind`` is its first word, such as ``if`` or ``{``, or ``function`` for a body."""

    kind: str
    nodes: tuple[Node, ...]
    operator_before: str
    operator_after: str
    start: int
    end: int
    part: str = ""
    is_negated: bool = False


Node = SimpleCommand | Block
