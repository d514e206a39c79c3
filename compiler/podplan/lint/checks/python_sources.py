"""Python scripts that a job starts, where the file of the job has their text: in a ConfigMap, or in a
here-document that the command of the same container writes.

Statements are certain if the script always executes them: those of the module and of functions that it calls,
without branches, loops and ``try``.

Source: https://docs.python.org/3/reference/simple_stmts.html
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from posixpath import normpath

from podplan.core.findings import Path, TextPath
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.mounted_scripts import find_mounted_key
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.python_code import parse_python
from podplan.lint.analysis.script_files import list_written_files
from podplan.lint.checks.outputs import ContainerPath, trainings
from podplan.lint.target import LoweredJob, cache_latest

_MOST_CALLS = 40  # nested calls of functions that are followed
_CHANGING_FOLDER = ("colossalai", "deepspeed")  # these run "cd" on the workers, to the folder of the launcher
_LEAVING = (ast.Return, ast.Raise)
_BRANCHING = (ast.If, ast.Try, ast.For, ast.While, ast.With, ast.Match)
_SUPPRESSING = ("suppress", "contextlib.suppress")
ENDING_CALLS = ("sys.exit", "exit", "quit", "os._exit")


class PythonSource(NamedTuple):
    """The text of a Python script that a job starts.

    ``where`` is the container in which it runs, ``script`` its word, and ``arguments`` are the words that the
    command gives it. The text begins at ``start`` of the string at ``path`` of ``doc``.
    """

    launch: ContainerLaunch
    where: ContainerPath
    script: Word
    arguments: tuple[Word, ...]
    name: str
    text: str
    tree: ast.Module
    doc: TracedDocument
    path: Path
    start: int

    @property
    def group(self) -> ReplicaGroup | None:
        """The Pods of which the text is a part; None for a ConfigMap."""
        return self.where.group if self.doc is self.where.group.doc else None

    def locate(self, node: ast.AST) -> Path:
        """Return the place of a statement or expression."""
        lines = self.text.split("\n")
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        begin = sum(len(one) + 1 for one in lines[: line - 1])
        prefix = lines[line - 1].encode()[:column].decode(errors="replace")
        begin += len(prefix)
        last, last_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
        end = begin + (last_column - column if last == line else len(lines[line - 1]) - len(prefix))
        return TextPath(self.path, (self.start + begin, self.start + max(end, begin + 1)))


@cache_latest
def list_python_sources(job: LoweredJob) -> tuple[PythonSource, ...]:
    """Return the Python scripts of a job whose text is known."""
    if is_mode_enabled(job, "debug"):
        return ()
    return tuple(_iter_sources(job))


def _iter_sources(job: LoweredJob) -> Iterator[PythonSource]:
    line = find_deepspeed_line(job)
    for launch, where in trainings(job):
        invocation = launch.invocation
        script, arguments = invocation.script, invocation.arguments
        if invocation.is_conditional:
            continue
        if line is not None and not line.is_custom:
            parsed = line.command_line.command_line
            script, arguments = parsed.script, parsed.arguments
        if script is None or not script.is_known or not script.text.endswith(".py"):
            continue
        path = _find_path(launch, where, script.text)
        found = _find_text(job, where, path) if path else None
        if found is None:
            continue
        doc, place, text, start = found
        tree = parse_python(text)
        if tree is not None:
            name = path.rpartition("/")[2]
            yield PythonSource(launch, where, script, arguments, name, text, tree, doc, place, start)


def _find_path(launch: ContainerLaunch, where: ContainerPath, script: str) -> str:
    """Return the absolute path of a script; "" if its folder is unknown."""
    if script.startswith("/"):
        return normpath(script)
    is_remote = launch.group is not where.group
    if is_remote and launch.invocation.launcher not in _CHANGING_FOLDER:
        return ""
    container = launch.container if is_remote else where.container
    folder = get_text(container, "workingDir")
    for _, process in programs_of(container):
        if process.name == "cd":
            targets = process.words[1:]
            if len(targets) != 1 or not targets[0].is_known or not targets[0].text.startswith("/"):
                return ""
            folder = targets[0].text
    return normpath(f"{folder}/{script}") if folder.startswith("/") else ""


def _find_text(
    job: LoweredJob, where: ContainerPath, path: str
) -> tuple[TracedDocument, Path, str, int] | None:
    """Return the document with the text of a file, its path and the offset there."""
    mounted = find_mounted_key(get_mapping(where.group.doc.data, "spec"), where.container, path)
    if mounted is not None:
        for reference in job.references.values():
            data = reference.doc.data
            is_same = get_text(get_mapping(data, "metadata"), "name") == mounted.config_map
            if data.get("kind") == "ConfigMap" and is_same:
                text = get_text(get_mapping(data, "data"), mounted.key)
                return reference.doc, ("data", mounted.key), text, 0
        return None
    written = [file for file in list_written_files(where.container) if file.path == path]
    if len(written) != 1:
        return None
    return where.group.doc, (*where.base, *written[0].place), written[0].text, written[0].start


def iter_certain_statements(
    tree: ast.Module, with_loops: bool = False, enters: Callable[[ast.expr], bool] | None = None
) -> Iterator[ast.stmt]:
    """Yield the statements that a script always executes, up to the first that ends it.

    With ``with_loops`` also those of its ``for`` loops, which may have nothing to do, and those of the
    branches whose test ``enters`` accepts.
    """
    functions: dict[str, ast.FunctionDef | None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            is_certain = node.name not in functions and not any(map(_chooses_process, node.decorator_list))
            functions[node.name] = node if is_certain else None
    yield from _iter_block(tree.body, functions, set(), with_loops, enters or is_main_guard)


def _iter_block(
    body: list[ast.stmt],
    functions: dict[str, ast.FunctionDef | None],
    called: set[str],
    with_loops: bool,
    enters: Callable[[ast.expr], bool],
) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.If) and is_main_guard(statement.test):
            yield from _iter_block(statement.body, functions, called, with_loops, enters)
        elif isinstance(statement, ast.With):
            if not any(_is_call(item.context_expr, _SUPPRESSING) for item in statement.items):
                yield from _iter_block(statement.body, functions, called, with_loops, enters)
        elif isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Assert, ast.Raise, ast.Return)):
            for node in iter_certain_expressions(statement):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    function = functions.get(node.func.id)
                    if function is not None and function.name not in called and len(called) < _MOST_CALLS:
                        called.add(function.name)
                        yield from _iter_block(function.body, functions, called, with_loops, enters)
            yield statement
            if isinstance(statement, _LEAVING):
                return
        elif isinstance(statement, ast.If):
            yield statement  # its test
            if enters(statement.test):
                yield from _iter_block(statement.body, functions, called, with_loops, enters)
        elif isinstance(statement, ast.For) and with_loops:
            yield from _iter_block(statement.body, functions, called, with_loops, enters)
        if isinstance(statement, _BRANCHING) and may_leave(statement):
            return
        if with_loops and isinstance(statement, ast.If) and _may_skip(statement):
            return


def may_leave(statement: ast.stmt) -> bool:
    """Whether a statement may end its function or the script without an error."""
    return any(
        isinstance(node, ast.Return) or _is_call(node, ENDING_CALLS) or _is_exit(node)
        for node in ast.walk(statement)
    )


def _is_exit(node: ast.AST) -> bool:
    """Whether a statement raises the exception with which a script ends."""
    raised = node.exc if isinstance(node, ast.Raise) else None
    raised = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(raised, ast.Name) and raised.id == "SystemExit"


def _may_skip(statement: ast.stmt) -> bool:
    """Whether a branch may end a turn of a loop, so that what follows is not certain."""
    return any(isinstance(node, (ast.Continue, ast.Break)) for node in ast.walk(statement))


def _chooses_process(decorator: ast.expr) -> bool:
    """Whether a decorator lets only some processes call a function, such as that of rank 0."""
    name = get_dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return any(word in name for word in ("rank", "main_process", "master", "chief", "primary"))


def _is_call(node: ast.AST, names: tuple[str, ...]) -> bool:
    return isinstance(node, ast.Call) and get_dotted_name(node.func) in names


def is_main_guard(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    return "__name__" in (get_dotted_name(test.left), get_dotted_name(test.comparators[0]))


def iter_certain_expressions(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions that a statement always evaluates; of ``if`` only the test."""
    pending: list[ast.AST] = [statement.test] if isinstance(statement, ast.If) else [statement]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, (ast.Lambda, ast.FunctionDef, ast.ListComp, ast.DictComp, ast.SetComp)):
            continue
        if isinstance(node, ast.GeneratorExp):
            continue
        if isinstance(node, ast.IfExp):
            pending.append(node.test)
        elif isinstance(node, ast.BoolOp):
            pending.append(node.values[0])
        else:
            pending.extend(ast.iter_child_nodes(node))


def get_dotted_name(node: ast.AST) -> str:
    """Return a name with its attributes, such as ``os.environ``; "" for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def get_constant(node: ast.AST | None) -> object:
    """Return the value of a constant; None for other expressions."""
    return node.value if isinstance(node, ast.Constant) else None


class Constants(NamedTuple):
    """The variables of a script that have one assignment, to a constant."""

    values: dict[str, object]

    def find(self, node: ast.expr) -> object:
        """Return the value of a constant or of such a variable; None for other expressions."""
        return self.values.get(node.id) if isinstance(node, ast.Name) else get_constant(node)


def find_constants(tree: ast.Module) -> Constants:
    """Return the constants of a whole script."""
    values = find_values(tree)
    return Constants({name: one.value for name, one in values.items() if isinstance(one, ast.Constant)})


def find_values(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the variables of a whole script that have one assignment, with what it assigns."""
    values: dict[str, ast.expr] = {}
    counts: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            counts[node.id] = counts.get(node.id, 0) + 1
        elif isinstance(node, ast.arg):
            counts[node.arg] = counts.get(node.arg, 0) + 1
        if isinstance(node, ast.Assign):
            for target in node.targets:
                values.update(_pair(target, node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            values.update(_pair(node.target, node.value))
    return {name: value for name, value in values.items() if counts.get(name) == 1}


def _pair(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of an assignment with their values; of tuples each with its own."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif (
        isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    ):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _pair(one, other)
