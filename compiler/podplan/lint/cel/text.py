"""CEL text without its parser: where its strings and comments are, and what it names outside of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

# In order of what may begin where: comments, long strings, short strings; a raw string has no escapes.
_LITERAL_PATTERN = re.compile(
    r"""//[^\n]*
    | \b[bB]?[rR][bB]?(?:'''(?:.|\n)*?'''|\"\"\"(?:.|\n)*?\"\"\"|'[^'\n]*'|"[^"\n]*")
    | '''(?:\\.|[^\\])*?''' | \"\"\"(?:\\(?:.|\n)|[^\\])*?\"\"\"
    | '(?:\\.|[^'\\\n])*' | "(?:\\.|[^"\\\n])*"
    """,
    re.VERBOSE,
)
_VARIABLE_PATTERN = re.compile(r"(?<![\w.])variables\s*\.\s*([A-Za-z_]\w*)")
_OBJECT_FIELDS_PATTERN = re.compile(r"(?<![\w.])object((?:\s*\.\s*\??\s*[A-Za-z_]\w*\b(?!\s*\())+)")
_OPTIONAL_CALL_PATTERN = re.compile(r"(?:\.\s*validate|(?<![\w.])format\s*\.\s*named)\s*\(")


def blank_literals(text: str) -> str:
    """``text`` with the inside of strings and comments turned to spaces, every character in its place."""
    return _LITERAL_PATTERN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def iter_variables(text: str) -> Iterator[tuple[str, int]]:
    """The variables that an expression names, each with its offset."""
    for match in _VARIABLE_PATTERN.finditer(blank_literals(text)):
        yield match[1], match.start()


def iter_object_paths(text: str) -> Iterator[tuple[str, ...]]:
    """The fields of ``object`` that an expression names, as paths: ("spec", "hostNetwork").

    A list inside of which a macro looks is where its path ends.
    """
    for match in _OBJECT_FIELDS_PATTERN.finditer(blank_literals(text)):
        yield tuple(re.findall(r"\w+", match[1]))


def rename_variable(text: str, name: str, new_name: str) -> str:
    """Return ``text`` with the variable ``name`` renamed to ``new_name``; fields called ``name`` stay."""
    pieces, copied_until = [], 0
    for match in re.finditer(rf"(?<![\w.]){name}(?!\w)", blank_literals(text)):
        pieces += [text[copied_until : match.start()], new_name]
        copied_until = match.end()
    return "".join((*pieces, text[copied_until:]))


def rewrite_for_runtime(text: str, optional_variables: Set[str]) -> str:
    """Return ``text`` as it is evaluated.

    The evaluator accepts no optional as a variable, nor as the result of a function in Python. Both are lists
    of at most one value instead, and ``[?0]`` makes an optional of such a list.
    """
    code = blank_literals(text)
    ends = [found.end() for found in _VARIABLE_PATTERN.finditer(code) if found[1] in optional_variables]
    ends += [_find_closing_parenthesis(code, found.end()) for found in _OPTIONAL_CALL_PATTERN.finditer(code)]
    for end in sorted(ends, reverse=True):
        text = f"{text[:end]}[?0]{text[end:]}"
    return text


def find_line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column of an offset."""
    prefix = text[:offset]
    return prefix.count("\n") + 1, offset - (prefix.rfind("\n") + 1) + 1


def _find_closing_parenthesis(code: str, start: int) -> int:
    """The offset behind the parenthesis that closes the one before ``start``."""
    depth = 1
    for offset in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[offset], 0)
        if depth == 0:
            return offset + 1
    return len(code)
