"""The number of processes that a Python script demands, and that of its job.

Sources: https://docs.pytorch.org/docs/stable/elastic/run.html (the number changes with the nodes that join
and leave), https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import list_replica_places
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.checks.python_sources import (
    ENDING_CALLS,
    PythonSource,
    get_constant,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation


@check(requires=(PYTHON_TEXT,))
def source_world_size(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A number of processes that a script demands, and that the job does not have.

    Values: ``file``, ``number``, ``actual``.
    """
    job = target.job
    seen: set[Path] = set()
    for source in list_python_sources(job):
        actual = _describe_world(job, source)
        for node, number in _iter_demands(source.tree) if actual is not None else ():
            place = source.locate(node)
            if actual is None or str(number) == actual[0] or place in seen:
                continue
            seen.add(place)
            values = {"file": source.name, "number": number, "actual": actual[0]}
            yield Violation(place, values, actual[1], doc=source.doc, group=source.group)


def _describe_world(
    job: LoweredJob, source: PythonSource
) -> tuple[str, list[tuple[TracedDocument, Path, str]]] | None:
    """Return the number of processes of a launch, and what it comes from; None if it is not known."""
    launch = source.launch
    if launch.invocation.started_by:
        return None
    facts = launch.torchrun
    if facts is not None and facts.node_range is not None and facts.command_line.is_certain:
        least, most = facts.node_range
        if least < most:
            word = facts.find_option_word("nnodes", launch.invocation.program_word)
            place = (launch.group.doc, launch.locate_word(word), "the nodes")
            return f"those of {least} to {most} nodes", [place]
    world = next((one for one in iter_worlds(job) if one.launch is launch), None)
    if world is not None:
        return str(world.size), list_replica_places(job)
    if launch.invocation.launcher != "python":
        return None
    size = launch.resolve_environment().get("WORLD_SIZE")
    if size is None or not size.isdecimal() or "WORLD_SIZE" not in launch.invocation.variables:
        return None
    return (size, list_replica_places(job)) if launch.invocation.variables["WORLD_SIZE"] == size else None


def _iter_demands(tree: ast.Module) -> Iterator[tuple[ast.AST, int]]:
    """Yield the statements that end a script with another number of processes, and that number."""
    assigned = _list_assigned(tree)
    for statement in iter_certain_statements(tree):
        if isinstance(statement, ast.Assert):
            number = _read_comparison(statement.test, ast.Eq, assigned)
            if number is not None:
                yield statement, number
        elif isinstance(statement, ast.If) and _ends_script(statement.body[0]):
            number = _read_comparison(statement.test, ast.NotEq, assigned)
            if number is not None:
                yield statement.test, number
        for node in iter_certain_expressions(statement):
            if isinstance(node, ast.Call) and get_dotted_name(node.func).endswith("init_process_group"):
                for keyword in node.keywords:
                    value = get_constant(keyword.value)
                    if keyword.arg == "world_size" and type(value) is int and value > 1:
                        yield keyword.value, value


def _ends_script(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return True
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    return get_dotted_name(statement.value.func) in ENDING_CALLS


def _list_assigned(tree: ast.Module) -> frozenset[str]:
    """Return the names that are only ever the number of processes."""
    values: dict[str, list[bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            values.setdefault(node.id, []).append(False)
        elif isinstance(node, ast.arg):
            values.setdefault(node.arg, []).append(False)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if len(values.get(name, ())) == 1 and _is_world_size(node.value, frozenset()):
                values[name] = [True]
    return frozenset(name for name, kinds in values.items() if kinds == [True])


def _read_comparison(test: ast.expr, operator: type[ast.cmpop], assigned: frozenset[str]) -> int | None:
    """Return the number that a test compares the number of processes with."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], operator):
        return None
    for world, other in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
        number = get_constant(other)
        if type(number) is int and number > 0 and _is_world_size(world, assigned):
            return number
    return None


def _is_world_size(node: ast.expr, assigned: frozenset[str]) -> bool:
    """Whether an expression is the number of all processes."""
    if isinstance(node, ast.Name):
        return node.id in assigned
    if not isinstance(node, ast.Call):
        return False
    name = get_dotted_name(node.func)
    if name in ("dist.get_world_size", "torch.distributed.get_world_size", "get_world_size"):
        return not node.args and not node.keywords
    if name != "int" or len(node.args) != 1:
        return False
    inner = node.args[0]
    if isinstance(inner, ast.Subscript):
        return get_dotted_name(inner.value) == "os.environ" and get_constant(inner.slice) == "WORLD_SIZE"
    if not isinstance(inner, ast.Call) or get_dotted_name(inner.func) not in ("os.environ.get", "os.getenv"):
        return False
    return bool(inner.args) and get_constant(inner.args[0]) == "WORLD_SIZE"
