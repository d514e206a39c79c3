"""CEL text without its parser: where its strings and comments are, and what it names outside of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

# In order of what may begin where: comments, long strings, short strings; a raw string has no escapes.
_QUOTED = re.compile(
    r"""//[^\n]*
    | \b[bB]?[rR][bB]?(?:'''(?:.|\n)*?'''|\"\"\"(?:.|\n)*?\"\"\"|'[^'\n]*'|"[^"\n]*")
    | '''(?:\\.|[^\\])*?''' | \"\"\"(?:\\(?:.|\n)|[^\\])*?\"\"\"
    | '(?:\\.|[^'\\\n])*' | "(?:\\.|[^"\\\n])*"
    """,
    re.VERBOSE,
)
_VARIABLE = re.compile(r"(?<![\w.])variables\s*\.\s*([A-Za-z_]\w*)")
_FIELDS = re.compile(r"(?<![\w.])object((?:\s*\.\s*\??\s*[A-Za-z_]\w*\b(?!\s*\())+)")
_CALL_WITH_OPTIONAL = re.compile(r"(?:\.\s*validate|(?<![\w.])format\s*\.\s*named)\s*\(")


def blanked(text: str) -> str:
    """``text`` with the inside of strings and comments turned to spaces, every character in its place."""
    return _QUOTED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def variables_in(text: str) -> Iterator[tuple[str, int]]:
    """The variables that an expression names, each with its offset."""
    for found in _VARIABLE.finditer(blanked(text)):
        yield found[1], found.start()


def paths_in(text: str) -> Iterator[tuple[str, ...]]:
    """The fields of ``object`` that an expression names, as paths: ("spec", "hostNetwork").

    A list inside of which a macro looks is where its path ends.
    """
    for found in _FIELDS.finditer(blanked(text)):
        yield tuple(re.findall(r"\w+", found[1]))


def with_name(text: str, name: str, instead: str) -> str:
    """``text`` with a variable called ``instead`` of ``name``; fields of that name stay."""
    pieces, done = [], 0
    for found in re.finditer(rf"(?<![\w.]){name}(?!\w)", blanked(text)):
        pieces += [text[done : found.start()], instead]
        done = found.end()
    return "".join((*pieces, text[done:]))


def runtime_text(text: str, optional_variables: Set[str]) -> str:
    """``text`` as it is evaluated.

    An optional cannot be handed to the evaluator, neither as a variable nor as the result of a function of
    ours. Both are lists of at most one value instead, and ``[?0]`` makes an optional of such a list.
    """
    code = blanked(text)
    ends = [found.end() for found in _VARIABLE.finditer(code) if found[1] in optional_variables]
    ends += [_closing(code, found.end()) for found in _CALL_WITH_OPTIONAL.finditer(code)]
    for end in sorted(ends, reverse=True):
        text = f"{text[:end]}[?0]{text[end:]}"
    return text


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column of an offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _closing(code: str, start: int) -> int:
    """The offset behind the parenthesis that closes the one before ``start``."""
    depth = 1
    for offset in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[offset], 0)
        if depth == 0:
            return offset + 1
    return len(code)
