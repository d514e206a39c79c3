"""Parses the simple commands of a shell string, as ``sh -c`` and ``bash -c`` run them.

Blocks (if, for, while, case, subshells, functions) are parsed; their commands may run never or repeatedly.
Of a case whose word is known only the branch that runs is kept, as a ``{`` block: an entry script may have a
branch for each replica type. Here-documents and command substitutions are not parsed.
"""

from __future__ import annotations

from collections.abc import Sequence

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.launchers import expansion
from podplan.launchers.expansion import ShellScope
from podplan.launchers.shell_nodes import Block, Node, Redirection, SimpleCommand
from podplan.launchers.tokens import REDIRECTIONS, ShellSyntaxError, Token, tokenize
from podplan.launchers.words import MAX_ARGUMENT_LENGTH, EnvVariables, Word

MAX_COMMANDS = 1_000
MAX_BLOCKS = 50  # nested blocks that are kept as nodes

_LOOP_CLOSERS = dict.fromkeys(("while", "until", "for", "select"), "done")
_BLOCK_CLOSERS = {**_LOOP_CLOSERS, "if": "fi", "case": "esac", "{": "}"}
_SKIPPED_WORDS = {"!", "do", "then", "else", "elif", "function", "coproc"}
_CLOSING_WORDS = {"fi", "done", "esac", "}"}
_ASSIGNING_BUILTINS = {"export", "declare", "typeset", "local", "readonly"}
_UNSETTING_BUILTINS = {"unset", "read", "mapfile", "readarray", "getopts"}
_ASSIGNMENT_PATTERN = compile_lazily(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
# Assignments in arithmetic: NAME=1, NAME += 1, NAME++ and --NAME.
_ARITHMETIC_PATTERN = compile_lazily(
    r"(?:\+\+|--)\s{0,9}([A-Za-z_]\w*)"
    r"|(?<!\w)([A-Za-z_]\w*)\s{0,9}(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?\s{0,9}=(?!\s{0,9}=))"
)
_PLAIN_PATTERN = compile_lazily(r"[\w.+:@%/-]+|\"[\w.+:@%/ -]+\"|'[\w.+:@%/ -]+'")
_NUMBER_PATTERN = compile_lazily(r"[0-9]+\Z")


class ParsedScript(NamedTuple):
    """The commands of a string up to its end, or up to a syntax error.

    ``nodes`` has the same commands in their blocks, without blocks that are not closed, or deeper than
    MAX_BLOCKS.
    """

    commands: tuple[SimpleCommand, ...]
    syntax_error: ShellSyntaxError | None
    nodes: tuple[Node, ...] = ()


class _Before(NamedTuple):
    """What the parser has read before a branch of a case that never runs."""

    commands: int
    nodes: int
    variables: dict[str, str | None]
    changed_variables: dict[str, str | None]
    positional: Sequence[Word] | None


class _Case(NamedTuple):
    """A case whose word is ``value``, the same in all Pods; ``is_met`` if one of its patterns has matched.

    ``before`` is the state at the begin of the current branch, if that never runs.
    """

    value: str
    is_met: bool = False
    before: _Before | None = None


class _Block(NamedTuple):
    closer: str
    start: int
    is_conditional: bool
    kind: str
    nodes: list[Node]
    before: str
    negated: bool
    part: str = ""
    case: _Case | None = None


def parse_script(
    text: str, variables: EnvVariables, positional: Sequence[Word] | None = None, *, is_bash: bool = True
) -> ParsedScript:
    """Parse the commands of ``text``.

    ``variables`` are those of the environment; the image may set others, so they are unknown. ``positional``
    are the words for ``$0``, ``$1`` and so on. Unless ``is_bash``, braces are not expanded.
    """
    if len(text) > MAX_ARGUMENT_LENGTH:
        message = (
            f"the string has {len(text):,} characters; Linux takes {MAX_ARGUMENT_LENGTH:,} as one argument"
        )
        return ParsedScript((), ShellSyntaxError(MAX_ARGUMENT_LENGTH, message))
    script_tokens, syntax_error = tokenize(text)
    parser = _ScriptParser(script_tokens, ShellScope(dict(variables), positional), is_bash)
    commands, syntax_error = parser.parse_commands(syntax_error)
    return ParsedScript(commands, syntax_error, tuple(parser.nodes))


class _ScriptParser:
    """One pass over the tokens; its state is the stack of open blocks and the operator before a command."""

    def __init__(self, script_tokens: list[Token], scope: ShellScope, is_bash: bool) -> None:
        self.tokens = script_tokens
        self.scope = scope
        self.is_bash = is_bash
        self.index = 0
        self.blocks: list[_Block] = []
        self.commands: list[SimpleCommand] = []
        self.nodes: list[Node] = []
        self.changed_variables: dict[str, str | None] = {}  # since the previous command
        self.operator_before = ""
        self.in_alternative = False
        self.in_function = False
        self.negated = False
        self.branches = 0  # of cases whose word is known

    def parse_commands(
        self, syntax_error: ShellSyntaxError | None
    ) -> tuple[tuple[SimpleCommand, ...], ShellSyntaxError | None]:
        while self.index < len(self.tokens):
            if len(self.commands) >= MAX_COMMANDS:
                message = f"the string has more than {MAX_COMMANDS:,} commands"
                return tuple(self.commands), ShellSyntaxError(self.tokens[self.index].start, message)
            step_error = self._parse_step()
            if step_error is not None:
                return tuple(self.commands), step_error
        if syntax_error is None and self.blocks:
            block = self.blocks[-1]
            syntax_error = ShellSyntaxError(block.start, f'"{block.closer}" is missing for what begins here')
        return tuple(self.commands), syntax_error

    def _parse_step(self) -> ShellSyntaxError | None:
        """Parse from a position where a command may begin."""
        token = self.tokens[self.index]
        if not token.is_operator:
            return self._parse_reserved_word(token) if _is_literal(token) else self._parse_command()
        if token.text in REDIRECTIONS:
            return self._parse_command()
        self.index += 1
        if token.text == "(":
            if self._next_is("(") and self.tokens[self.index].start == token.end:
                return self._skip_parentheses(token)
            self._open(")", "(", token)
            self._set_operator("")
        elif token.text == ")":
            return self._close_block(token)
        elif token.text in (";;", ";&", ";;&"):
            return self._parse_case_pattern(token)
        else:
            self._set_operator(token.text)
        return None

    def _parse_reserved_word(self, token: Token) -> ShellSyntaxError | None:
        """Parse a word where a command may begin: a reserved word, or the command itself."""
        text = token.text
        if text in ("[[", "function", "for", "select", "case"):
            return self._parse_block_head(token)
        if text in _BLOCK_CLOSERS:
            self.index += 1
            self._open(_BLOCK_CLOSERS[text], text, token)
            self._set_operator("")
            return None
        if text in _CLOSING_WORDS:
            self.index += 1
            return self._close_block(token)
        if text in _SKIPPED_WORDS:
            self.index += 1
            if text in ("then", "else", "elif") and self.blocks:
                self.blocks[-1] = self.blocks[-1]._replace(is_conditional=True)
            if text in ("then", "else", "elif", "do") and self.blocks:
                self.blocks[-1] = self.blocks[-1]._replace(part=text)
            if text == "!":
                self.negated = True
            else:
                self._set_operator("")
            return None
        return self._parse_command()

    def _parse_block_head(self, token: Token) -> ShellSyntaxError | None:
        """Parse the head of a block with words before its first command: for, case, function, and ``[[ …
        ]]``."""
        self.index += 1
        text = token.text
        if text == "[[":
            while self.index < len(self.tokens) and self.tokens[self.index].text != "]]":
                self.index += 1
            self.index += 1
            return None
        if text == "function":
            self.index += 1
            self.in_function = True
            if (
                self._next_is("(")
                and self.index + 1 < len(self.tokens)
                and self.tokens[self.index + 1].text == ")"
            ):
                self.index += 2
            return None
        may_skip = self.in_function or self.in_alternative
        self._open(_BLOCK_CLOSERS[text], text, token)
        if text == "case":
            subject = self.tokens[self.index] if self.index < len(self.tokens) else token
            self.index += 1
            while self._next_is("\n"):
                self.index += 1
            if not self._next_is("in"):
                return None
            value = None if subject.is_operator else expansion.expand_value(subject.pieces, self.scope)
            # A value with a digit may be a rank or a host name, which differs between the Pods of a group.
            if value and not may_skip and not any(map(str.isdigit, value)):
                self.blocks[-1] = self.blocks[-1]._replace(case=_Case(value))
            return self._parse_case_pattern(token, skip=1)
        if self._next_is("("):
            self.index += 1
            return self._skip_parentheses(token)
        if self.index < len(self.tokens):
            self._set_variable(self.tokens[self.index].text, None)
        while self.index < len(self.tokens) and self.tokens[self.index].text not in (";", "\n"):
            self.index += 1
        self._set_operator("")
        return None

    def _parse_case_pattern(self, token: Token, skip: int = 0) -> ShellSyntaxError | None:
        """Parse the pattern of a branch of ``case``, up to its parenthesis; or stop at ``esac``."""
        if not self.blocks or self.blocks[-1].closer != "esac":
            return _build_unexpected_error(token)
        self._discard_branch()
        self.index += skip
        while self._next_is("\n"):
            self.index += 1
        if self.index < len(self.tokens) and self.tokens[self.index].text != "esac":
            self.index += self._next_is("(")
            start = self.index
            while self.index < len(self.tokens) and not self._next_is(")"):
                self.index += 1
            self._enter_branch(self.tokens[start : self.index], follows=token.text)
            self.index += 1
        self._set_operator("")
        return None

    def _enter_branch(self, patterns: Sequence[Token], follows: str) -> None:
        """Begin a branch of a case after ``follows``: one that certainly runs, never runs, or may run."""
        block = self.blocks[-1]
        case = block.case
        if case is None:
            return
        self.branches += 1
        is_met = False if case.is_met else _matches(case.value, patterns)
        if is_met is None or follows in (";&", ";;&") or self.branches > MAX_COMMANDS:
            self.blocks[-1] = block._replace(case=None, is_conditional=True, kind="case")
            return
        before = _Before(
            len(self.commands),
            len(block.nodes),
            dict(self.scope.variables),
            dict(self.changed_variables),
            self.scope.positional,
        )
        case = _Case(case.value, case.is_met or is_met, None if is_met else before)
        is_conditional = any(one.is_conditional for one in self.blocks[:-1])
        self.blocks[-1] = block._replace(case=case, is_conditional=is_conditional, kind="{")

    def _discard_branch(self) -> None:
        """Remove the commands of a branch that never runs."""
        block = self.blocks[-1]
        before = block.case.before if block.case is not None else None
        if block.case is None or before is None:
            return
        del self.commands[before.commands :], block.nodes[before.nodes :]
        self.scope.variables = before.variables
        self.changed_variables = before.changed_variables
        self.scope.positional = before.positional
        kind = block.kind if block.nodes else "case"
        self.blocks[-1] = block._replace(case=block.case._replace(before=None), kind=kind)

    def _skip_parentheses(self, token: Token) -> ShellSyntaxError | None:
        """Skip ``((…))``, from after the first parenthesis; the values that it assigns are unknown."""
        depth, start = 1, self.index
        while self.index < len(self.tokens) and depth:
            current = self.tokens[self.index]
            if current.is_operator and current.text in "()":
                depth += 1 if current.text == "(" else -1
            self.index += 1
        self._forget_assigned(" ".join(one.text for one in self.tokens[start : self.index]))
        return ShellSyntaxError(token.start, "(( is never closed") if depth else None

    def _forget_assigned(self, arithmetic: str) -> None:
        """Take the variables that an arithmetic expression assigns as unknown."""
        for found in _ARITHMETIC_PATTERN.finditer(arithmetic):
            self._set_variable(found[1] or found[2], None)

    def _close_block(self, token: Token) -> ShellSyntaxError | None:
        """Close the block that ``token`` ends, and skip its redirections."""
        if not self.blocks or self.blocks[-1].closer != token.text:
            return _build_unexpected_error(token)
        self._discard_branch()
        block = self.blocks.pop()
        while self.index < len(self.tokens) and self._redirects(self.tokens[self.index]):
            self.index += 2 if self.tokens[self.index].is_operator else 1
        if len(self.blocks) < MAX_BLOCKS:
            end = self.tokens[min(self.index, len(self.tokens)) - 1].end
            around = (block.before, self._next(), block.start, end, self._part(), block.negated)
            self._siblings().append(Block(block.kind, tuple(block.nodes), *around))
        return None

    def _open(self, closer: str, kind: str, token: Token) -> None:
        if self.in_function:
            kind = "function"
        conditional = self._starts_conditionally() or closer in ("done", "esac")
        self.blocks.append(
            _Block(closer, token.start, conditional, kind, [], self.operator_before, self._negation())
        )

    def _siblings(self) -> list[Node]:
        """Return the nodes of the open block, or of the string."""
        return self.blocks[-1].nodes if self.blocks else self.nodes

    def _part(self) -> str:
        return self.blocks[-1].part if self.blocks else ""

    def _negation(self) -> bool:
        negated, self.negated = self.negated, False
        return negated

    def _next(self) -> str:
        return self.tokens[self.index].text if self.index < len(self.tokens) else ""

    def _parse_command(self) -> ShellSyntaxError | None:
        """Parse a simple command, up to the operator that ends it."""
        words: list[Word] = []
        command_variables: dict[str, str | None] = {}
        redirections: list[Redirection] = []
        first_token = last_token = self.tokens[self.index]
        while self.index < len(self.tokens):
            token = self.tokens[self.index]
            if token.is_operator and token.text in REDIRECTIONS:
                self.index += 1
                if self.index >= len(self.tokens) or self.tokens[self.index].is_operator:
                    return ShellSyntaxError(token.start, f'nothing follows "{token.text}"')
                redirections.append(Redirection(token.text, self._expand_target(self.tokens[self.index])))
            elif token.is_operator:
                break
            elif self._redirects(token):
                pass
            elif not words and (match := _ASSIGNMENT_PATTERN.match(token.text)):
                command_variables[match[1]] = (
                    None if match[2] else self._expand_assigned_value(token, match.end())
                )
            else:
                words += expansion.expand_token(token, self.scope, braces=self.is_bash)
            last_token = self.tokens[self.index]
            self.index += 1
        if self._next_is("("):
            return self._parse_function(words)
        self._add_command(words, command_variables, redirections, first_token, last_token)
        return None

    def _parse_function(self, words: list[Word]) -> ShellSyntaxError | None:
        """Parse ``name()``: the body that follows runs when the function is called."""
        parenthesis = self.tokens[self.index]
        self.index += 1
        if len(words) != 1 or not self._next_is(")"):
            return _build_unexpected_error(parenthesis)
        self.index += 1
        self.in_function = True
        while self._next_is("\n"):
            self.index += 1
        return None

    def _add_command(
        self,
        words: list[Word],
        command_variables: dict[str, str | None],
        redirections: list[Redirection],
        first_token: Token,
        last_token: Token,
    ) -> None:
        operator_after = self._next()
        is_conditional = self.in_alternative or any(block.is_conditional for block in self.blocks)
        negated = self._negation()
        if words:
            context_fields = (
                self.operator_before,
                operator_after,
                is_conditional,
                first_token.start,
                last_token.end,
                self._part(),
                negated,
            )
            command = SimpleCommand(
                tuple(words), command_variables, tuple(redirections), self.changed_variables, *context_fields
            )
            self.commands.append(command)
            self._siblings().append(command)
            self.changed_variables = {}
        # In a pipe or in the background a subshell sets the variable.
        is_lasting = (
            not is_conditional
            and "|" not in (self.operator_before, operator_after)
            and operator_after != "&"
            and not self._is_in_subshell()
        )
        name = words[0].text if words else ""
        if not words:
            for variable, value in command_variables.items():
                self._set_variable(variable, value if is_lasting else None)
        elif name in _ASSIGNING_BUILTINS:
            for word in words[1:]:
                variable, equals, value = word.text.partition("=")
                if equals:
                    self._set_variable(variable, value if is_lasting and word.is_known else None)
        elif name in _UNSETTING_BUILTINS:
            for word in words[1:]:
                self._set_variable(word.text, None)
        elif name == "let":
            self._forget_assigned(" ".join(word.text for word in words[1:]))
        elif name == "shift" and words[1:] == [] and is_lasting:
            given = self.scope.positional
            self.scope.positional = [*given[:1], *given[2:]] if given is not None else None
        elif name == "shift" or (name == "set" and _sets_positional(words[1:])):
            self.scope.positional = None

    def _expand_target(self, token: Token) -> Word:
        """Return the word after a redirection, as written if its value is unknown."""
        value = expansion.expand_value(token.pieces, self.scope)
        text = token.text if value is None else value
        return Word(text, start=token.start, end=token.end, is_known=value is not None)

    def _expand_assigned_value(self, token: Token, offset: int) -> str | None:
        """Return the value of an assignment, which starts at ``offset`` in the token."""
        value = expansion.expand_value(token.pieces, self.scope)
        return None if value is None or len(value) > MAX_ARGUMENT_LENGTH else value[offset:]

    def _set_variable(self, name: str, value: str | None) -> None:
        """Set a variable for the rest of the string, and for the commands in it."""
        self.scope.variables[name] = self.changed_variables[name] = value

    def _set_operator(self, operator: str) -> None:
        """Parse the operator between two commands; a line may break after ``&&``, ``||`` and ``|``."""
        if operator == "\n" and self._continues_line():
            return
        self.operator_before = operator
        self.in_alternative = operator == "||" or (self.in_alternative and operator in ("|", "|&"))

    def _continues_line(self) -> bool:
        """Whether the line break before the current position follows an operator that joins commands."""
        index = self.index - 2
        while index >= 0 and self.tokens[index].is_operator and self.tokens[index].text == "\n":
            index -= 1
        return (
            index >= 0
            and self.tokens[index].is_operator
            and self.tokens[index].text in ("&&", "||", "|", "|&")
        )

    def _starts_conditionally(self) -> bool:
        is_conditional, self.in_function = self.in_function or self.in_alternative, False
        return is_conditional

    def _is_in_subshell(self) -> bool:
        return any(block.closer == ")" for block in self.blocks)

    def _redirects(self, token: Token) -> bool:
        """Whether a token is a redirection, or the file descriptor of the next one."""
        if token.is_operator:
            return token.text in REDIRECTIONS
        if not _NUMBER_PATTERN.match(token.text):
            return False
        follows = self.tokens[self.index + 1] if self.index + 1 < len(self.tokens) else None
        return follows is not None and follows.start == token.end and follows.text in REDIRECTIONS

    def _next_is(self, text: str) -> bool:
        return self.index < len(self.tokens) and self.tokens[self.index].text == text


def _is_literal(token: Token) -> bool:
    """Whether a word has no quotes and references, as is required for a reserved word."""
    return len(token.pieces) == 1 and token.pieces[0].text == token.text and not token.pieces[0].name


def _sets_positional(words: Sequence[Word]) -> bool:
    """Whether the arguments of ``set`` are more than options, such as ``-euo pipefail``."""
    is_name = False  # the word after -o
    for word in words:
        if not is_name and (not word.text.startswith(("-", "+")) or word.text in ("-", "--")):
            return True
        is_name = not is_name and word.text.endswith("o")
    return False


def _matches(value: str, patterns: Sequence[Token]) -> bool | None:
    """Whether a value matches one of the patterns between ``|``; None if that is unknown."""
    words = [token for token in patterns if not token.is_operator]
    if not all(token.text == "*" or _PLAIN_PATTERN.fullmatch(token.text) for token in words):
        return None
    return any(token.text == "*" or token.text.strip("\"'") == value for token in words)


def _build_unexpected_error(token: Token) -> ShellSyntaxError:
    token_text = "the end of the line" if token.text == "\n" else f'"{token.text}"'
    return ShellSyntaxError(token.start, f"{token_text} is not expected here")
