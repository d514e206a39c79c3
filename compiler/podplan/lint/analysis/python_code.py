"""What a script in Python certainly does: its calls, with the constants among their arguments."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from podplan.core.typing import NamedTuple

MOST_TEXT = 50_000  # characters of a script that is read
_MOST_NESTING = 40  # open brackets
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_EXITS = frozenset(("exit", "_exit", "quit"))
_BRANCHES = (ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.While, ast.Match, ast.Lambda)


class ScriptCall(NamedTuple):
    """A call: the name of the function with its module or object, and the offsets of the call in the text.

    ``is_certain`` is whether each process that runs the script makes it.
    """

    module: str
    name: str
    node: ast.Call
    span: tuple[int, int]
    is_certain: bool


class PythonScript(NamedTuple):
    """A script with its calls, and the variables that it assigns once, to a constant."""

    calls: tuple[ScriptCall, ...]
    constants: dict[str, object]

    def find_value(self, node: ast.expr | None) -> object:
        """Return the constant of an argument; None if it is not known."""
        if isinstance(node, ast.Constant):
            return node.value
        return self.constants.get(node.id) if isinstance(node, ast.Name) else None


def read_script(text: str) -> PythonScript | None:
    """Parse a script; None if it is no Python, or too long."""
    tree = parse_python(text)
    try:
        calls = tuple(_iter_calls(tree, text)) if tree is not None else ()
    except RecursionError:
        return None
    return PythonScript(calls, _find_constants(tree)) if tree is not None else None


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree of a script; None for one that is too long, too deep, or not valid."""
    is_plain = "\r" not in text and "\f" not in text  # otherwise lines of Python differ from those of YAML
    if not text or len(text) > MOST_TEXT or not is_plain or _count_nesting(text) > _MOST_NESTING:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _count_nesting(text: str) -> int:
    depth = most = 0
    for character in text:
        if character in "([{":
            depth += 1
            most = max(most, depth)
        elif character in ")]}":
            depth -= 1
    return most


def _find_constants(tree: ast.Module) -> dict[str, object]:
    """Return the variables that have one assignment in the whole script."""
    constants: dict[str, object] = {}
    counts: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            counts[node.id] = counts.get(node.id, 0) + 1
        elif isinstance(node, ast.arg):
            counts[node.arg] = counts.get(node.arg, 0) + 1
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            constants.update((one.id, node.value.value) for one in node.targets if isinstance(one, ast.Name))
    return {name: value for name, value in constants.items() if counts.get(name) == 1}


def _iter_calls(tree: ast.Module, text: str) -> Iterator[ScriptCall]:
    """Yield the calls in their order; those in a branch, a function or behind an exit are not certain."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    main = _find_main(tree)
    stack: list[tuple[ast.AST, bool]] = [(tree, True)]
    while stack:
        node, is_certain = stack.pop()
        if isinstance(node, ast.Call):
            module, name = _split_name(node.func)
            yield ScriptCall(module, name, node, _locate(node, starts, text), is_certain)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            is_certain = is_certain and node is main
        elif isinstance(node, _BRANCHES) and not _is_main_guard(node):
            is_certain = False
        body = list(ast.iter_child_nodes(node))
        certain = []
        for child in body:
            certain.append(is_certain)
            is_certain = is_certain and not (isinstance(child, _BRANCHES) and _may_leave(child))
        stack.extend(reversed(list(zip(body, certain, strict=True))))


def _find_main(tree: ast.Module) -> ast.AST | None:
    """Return the function ``main`` of a script that calls it outside of other branches than its guard."""
    bodies = [
        *tree.body,
        *(one for node in tree.body if _is_main_guard(node) for one in ast.iter_child_nodes(node)),
    ]
    called = {
        _split_name(node.value.func)
        for node in bodies
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    }
    functions = (
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == "main" and not node.decorator_list
    )
    return next(functions, None) if ("", "main") in called else None


def _is_main_guard(node: ast.AST) -> bool:
    """Whether a branch is that of ``if __name__ == "__main__":``."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
    )


def _may_leave(branch: ast.AST) -> bool:
    """Whether a branch may end the function or the script, so that what follows is not certain."""
    for node in ast.walk(branch):
        if isinstance(node, _LEAVES) or (isinstance(node, ast.Call) and _split_name(node.func)[1] in _EXITS):
            return True
    return False


def _split_name(node: ast.expr) -> tuple[str, str]:
    """Return the part of a name before the last dot, and the last part."""
    if isinstance(node, ast.Name):
        return "", node.id
    if not isinstance(node, ast.Attribute):
        return "", ""
    module, name = _split_name(node.value)
    return f"{module}.{name}".lstrip("."), node.attr


def _locate(node: ast.Call, starts: list[int], text: str) -> tuple[int, int]:
    """Return the offsets of the line of a call from its begin; columns of Python count bytes."""
    start = starts[node.lineno - 1]
    line = text[start : starts[node.lineno]]
    begin = len(line.encode()[: node.col_offset].decode(errors="ignore"))
    return start + begin, start + len(line.rstrip())
