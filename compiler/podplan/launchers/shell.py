"""The simple commands of a shell string, as ``sh -c`` and ``bash -c`` run them.

Blocks (if, for, while, case, subshells, functions) are seen through; what is in them may run never or often.
Here-documents and command substitutions are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.launchers import expansion
from podplan.launchers.expansion import Scope
from podplan.launchers.tokens import REDIRECTIONS, Fault, Token, tokens
from podplan.launchers.words import MAX_ARGUMENT, Variables, Word

MAX_COMMANDS = 1_000
MAX_BLOCKS = 50  # in one another, that are kept as nodes

_LOOPS = dict.fromkeys(("while", "until", "for", "select"), "done")
_OPENING = {**_LOOPS, "if": "fi", "case": "esac", "{": "}"}
_PASSED_OVER = {"!", "do", "then", "else", "elif", "function", "coproc"}
_CLOSING = {"fi", "done", "esac", "}"}
_SETTING = {"export", "declare", "typeset", "local", "readonly"}
_UNSETTING = {"unset", "read", "mapfile", "readarray", "getopts"}
_ASSIGNMENT = pattern(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_NUMBER = pattern(r"[0-9]+\Z")


class Command(NamedTuple):
    """A simple command: its words, and the variables set before it on the line for it alone.

    ``changed`` are those that the shell has set since the command before. ``before`` and ``after`` are the
    operators around it (``&&``, ``||``, ``;``, ``|``, ``&``, a newline, or empty). A ``conditional`` one may
    run never, or more than once. ``part`` is the reserved word of its block that it follows, such as ``then``
    or ``do``; ``negated`` says that a ``!`` precedes it.
    """

    words: tuple[Word, ...]
    assigned: Variables
    redirected: tuple[str, ...]
    changed: Variables
    before: str
    after: str
    conditional: bool
    start: int
    end: int
    part: str = ""
    negated: bool = False


class Block(NamedTuple):
    """A compound command: ``kind`` is its first word, such as ``if`` or ``{``, or ``function`` for a body."""

    kind: str
    nodes: tuple[Node, ...]
    before: str
    after: str
    start: int
    end: int
    part: str = ""
    negated: bool = False


Node = Command | Block


class Script(NamedTuple):
    """The commands of a string up to its end, or up to what no shell can read.

    ``nodes`` has the same commands in their blocks; blocks that never end are not among them, nor are those
    that lie deeper than MAX_BLOCKS.
    """

    commands: tuple[Command, ...]
    fault: Fault | None
    nodes: tuple[Node, ...] = ()


class _Block(NamedTuple):
    closer: str
    start: int
    conditional: bool
    kind: str
    nodes: list[Node]
    before: str
    negated: bool
    part: str = ""


def script(
    text: str, variables: Variables, positional: Sequence[Word] | None = None, *, bash: bool = True
) -> Script:
    """The commands of ``text``.

    ``variables`` are those of the environment; a name that is not among them may still be set by the image,
    so it is not known. ``positional`` are the words that become ``$0``, ``$1`` and so on. Without ``bash``,
    braces are not expanded.
    """
    if len(text) > MAX_ARGUMENT:
        sentence = f"the string has {len(text):,} characters; Linux takes {MAX_ARGUMENT:,} as one argument"
        return Script((), Fault(MAX_ARGUMENT, sentence))
    found, fault = tokens(text)
    reading = _Reading(found, Scope(dict(variables), positional), bash)
    commands, fault = reading.read(fault)
    return Script(commands, fault, tuple(reading.nodes))


class _Reading:
    """One pass over the tokens; its state is the stack of open blocks and the operator before a command."""

    def __init__(self, found: list[Token], scope: Scope, bash: bool) -> None:
        self.tokens = found
        self.scope = scope
        self.bash = bash
        self.at = 0
        self.blocks: list[_Block] = []
        self.commands: list[Command] = []
        self.nodes: list[Node] = []
        self.changed: dict[str, str | None] = {}  # since the last command
        self.before = ""
        self.alternative = False
        self.in_function = False
        self.negated = False

    def read(self, fault: Fault | None) -> tuple[tuple[Command, ...], Fault | None]:
        while self.at < len(self.tokens):
            if len(self.commands) >= MAX_COMMANDS:
                sentence = f"the string has more than {MAX_COMMANDS:,} commands"
                return tuple(self.commands), Fault(self.tokens[self.at].start, sentence)
            refused = self._step()
            if refused is not None:
                return tuple(self.commands), refused
        if fault is None and self.blocks:
            block = self.blocks[-1]
            fault = Fault(block.start, f'"{block.closer}" is missing for what begins here')
        return tuple(self.commands), fault

    def _step(self) -> Fault | None:
        """Reads on from where a command may begin."""
        token = self.tokens[self.at]
        if not token.operator:
            return self._reserved(token) if _literal(token) else self._command()
        if token.text in REDIRECTIONS:
            return self._command()
        self.at += 1
        if token.text == "(":
            if self._next_is("(") and self.tokens[self.at].start == token.end:
                return self._skip_parentheses(token)
            self._open(")", "(", token)
            self._connect("")
        elif token.text == ")":
            return self._close(token)
        elif token.text in (";;", ";&", ";;&"):
            return self._pattern(token)
        else:
            self._connect(token.text)
        return None

    def _reserved(self, token: Token) -> Fault | None:
        """A word where a command may begin: a reserved word, or the command itself."""
        text = token.text
        if text in ("[[", "function", "for", "select", "case"):
            return self._headed(token)
        if text in _OPENING:
            self.at += 1
            self._open(_OPENING[text], text, token)
            self._connect("")
            return None
        if text in _CLOSING:
            self.at += 1
            return self._close(token)
        if text in _PASSED_OVER:
            self.at += 1
            if text in ("then", "else", "elif") and self.blocks:
                self.blocks[-1] = self.blocks[-1]._replace(conditional=True)
            if text in ("then", "else", "elif", "do") and self.blocks:
                self.blocks[-1] = self.blocks[-1]._replace(part=text)
            if text == "!":
                self.negated = True
            else:
                self._connect("")
            return None
        return self._command()

    def _headed(self, token: Token) -> Fault | None:
        """What has words of its own before its first command: for, case, function, and ``[[ … ]]``."""
        self.at += 1
        text = token.text
        if text == "[[":
            while self.at < len(self.tokens) and self.tokens[self.at].text != "]]":
                self.at += 1
            self.at += 1
            return None
        if text == "function":
            self.at += 1
            self.in_function = True
            if self._next_is("(") and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].text == ")":
                self.at += 2
            return None
        self._open(_OPENING[text], text, token)
        if text == "case":
            self.at += 1
            while self._next_is("\n"):
                self.at += 1
            return self._pattern(token, skip=1) if self._next_is("in") else None
        if self._next_is("("):
            self.at += 1
            return self._skip_parentheses(token)
        if self.at < len(self.tokens):
            self._set(self.tokens[self.at].text, None)
        while self.at < len(self.tokens) and self.tokens[self.at].text not in (";", "\n"):
            self.at += 1
        self._connect("")
        return None

    def _pattern(self, token: Token, skip: int = 0) -> Fault | None:
        """Skips the pattern of a branch of ``case``, up to its parenthesis; or stands at ``esac``."""
        if not self.blocks or self.blocks[-1].closer != "esac":
            return _unexpected(token)
        self.at += skip
        while self._next_is("\n"):
            self.at += 1
        if self.at < len(self.tokens) and self.tokens[self.at].text != "esac":
            while self.at < len(self.tokens) and not self._next_is(")"):
                self.at += 1
            self.at += 1
        self._connect("")
        return None

    def _skip_parentheses(self, token: Token) -> Fault | None:
        """Skips ``((…))``; stands after the first of the two."""
        depth = 1
        while self.at < len(self.tokens) and depth:
            current = self.tokens[self.at]
            if current.operator and current.text in "()":
                depth += 1 if current.text == "(" else -1
            self.at += 1
        return Fault(token.start, "(( is never closed") if depth else None

    def _close(self, token: Token) -> Fault | None:
        """Ends the block that ``token`` closes; stands behind its redirections."""
        if not self.blocks or self.blocks[-1].closer != token.text:
            return _unexpected(token)
        block = self.blocks.pop()
        while self.at < len(self.tokens) and self._redirects(self.tokens[self.at]):
            self.at += 2 if self.tokens[self.at].operator else 1
        if len(self.blocks) < MAX_BLOCKS:
            end = self.tokens[min(self.at, len(self.tokens)) - 1].end
            around = (block.before, self._next(), block.start, end, self._part(), block.negated)
            self._siblings().append(Block(block.kind, tuple(block.nodes), *around))
        return None

    def _open(self, closer: str, kind: str, token: Token) -> None:
        if self.in_function:
            kind = "function"
        conditional = self._conditional_start() or closer in ("done", "esac")
        self.blocks.append(_Block(closer, token.start, conditional, kind, [], self.before, self._negation()))

    def _siblings(self) -> list[Node]:
        """The nodes of the block that is open, or of the string."""
        return self.blocks[-1].nodes if self.blocks else self.nodes

    def _part(self) -> str:
        return self.blocks[-1].part if self.blocks else ""

    def _negation(self) -> bool:
        negated, self.negated = self.negated, False
        return negated

    def _next(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def _command(self) -> Fault | None:
        """A simple command, up to the operator that ends it."""
        words: list[Word] = []
        assigned: dict[str, str | None] = {}
        redirected: list[str] = []
        first = last = self.tokens[self.at]
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.operator and token.text in REDIRECTIONS:
                redirected.append(token.text)
                self.at += 1
                if self.at >= len(self.tokens) or self.tokens[self.at].operator:
                    return Fault(token.start, f'nothing follows "{token.text}"')
            elif token.operator:
                break
            elif self._redirects(token):
                pass
            elif not words and (match := _ASSIGNMENT.match(token.text)):
                assigned[match[1]] = None if match[2] else self._value(token, match.end())
            else:
                words += expansion.words(token, self.scope, braces=self.bash)
            last = self.tokens[self.at]
            self.at += 1
        if self._next_is("("):
            return self._function(words)
        self._emit(words, assigned, redirected, first, last)
        return None

    def _function(self, words: list[Word]) -> Fault | None:
        """``name()``: the body that follows runs when somebody calls it."""
        parenthesis = self.tokens[self.at]
        self.at += 1
        if len(words) != 1 or not self._next_is(")"):
            return _unexpected(parenthesis)
        self.at += 1
        self.in_function = True
        while self._next_is("\n"):
            self.at += 1
        return None

    def _emit(
        self,
        words: list[Word],
        assigned: dict[str, str | None],
        redirected: list[str],
        first: Token,
        last: Token,
    ) -> None:
        after = self._next()
        conditional = self.alternative or any(block.conditional for block in self.blocks)
        negated = self._negation()
        if words:
            around = (self.before, after, conditional, first.start, last.end, self._part(), negated)
            command = Command(tuple(words), assigned, tuple(redirected), self.changed, *around)
            self.commands.append(command)
            self._siblings().append(command)
            self.changed = {}
        # In a pipe or the background a shell of its own sets the variable.
        lasting = (
            not conditional and "|" not in (self.before, after) and after != "&" and not self._subshell()
        )
        name = words[0].text if words else ""
        if not words:
            for variable, value in assigned.items():
                self._set(variable, value if lasting else None)
        elif name in _SETTING:
            for word in words[1:]:
                variable, equals, value = word.text.partition("=")
                if equals:
                    self._set(variable, value if lasting and word.known else None)
        elif name in _UNSETTING:
            for word in words[1:]:
                self._set(word.text, None)
        elif name in ("shift", "set"):
            self.scope.positional = None

    def _value(self, token: Token, offset: int) -> str | None:
        """The value of an assignment; ``offset`` is where it starts in the token."""
        value = expansion.text(token.pieces, self.scope)
        return None if value is None or len(value) > MAX_ARGUMENT else value[offset:]

    def _set(self, name: str, value: str | None) -> None:
        """A variable from here on: for the rest of the string, and for the commands in it."""
        self.scope.variables[name] = self.changed[name] = value

    def _connect(self, operator: str) -> None:
        """Takes the operator between two commands; a line may break after ``&&``, ``||`` and ``|``."""
        if operator == "\n" and self._goes_on():
            return
        self.before = operator
        self.alternative = operator == "||" or (self.alternative and operator in ("|", "|&"))

    def _goes_on(self) -> bool:
        """Whether the line break behind which the reading stands follows an operator that joins commands."""
        at = self.at - 2
        while at >= 0 and self.tokens[at].operator and self.tokens[at].text == "\n":
            at -= 1
        return at >= 0 and self.tokens[at].operator and self.tokens[at].text in ("&&", "||", "|", "|&")

    def _conditional_start(self) -> bool:
        started, self.in_function = self.in_function or self.alternative, False
        return started

    def _subshell(self) -> bool:
        return any(block.closer == ")" for block in self.blocks)

    def _redirects(self, token: Token) -> bool:
        """Whether a token is a redirection, or the number of the file that the next one redirects."""
        if token.operator:
            return token.text in REDIRECTIONS
        if not _NUMBER.match(token.text):
            return False
        follows = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        return follows is not None and follows.start == token.end and follows.text in REDIRECTIONS

    def _next_is(self, text: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at].text == text


def _literal(token: Token) -> bool:
    """Whether a word is written without quotes and references, as a reserved word must be."""
    return len(token.pieces) == 1 and token.pieces[0].text == token.text and not token.pieces[0].name


def _unexpected(token: Token) -> Fault:
    shown = "the end of the line" if token.text == "\n" else f'"{token.text}"'
    return Fault(token.start, f"{shown} is not expected here")
