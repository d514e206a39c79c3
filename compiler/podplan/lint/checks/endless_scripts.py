"""Python scripts of a job that never end in the Pods of one type, such as those of a parameter server.

Sources: https://www.tensorflow.org/api_docs/python/tf/distribute/Server#join (it blocks until the server has
shut down, which never happens), https://www.tensorflow.org/tutorials/distribute/parameter_server_training.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.lint.checks.python_sources import (
    ENDING_CALLS,
    get_constant,
    get_dotted_name,
    is_main_guard,
    list_python_sources,
    may_leave,
)
from podplan.lint.target import LoweredJob

_SERVERS = (
    "tf.distribute.Server",
    "tf.train.Server",
    "tf.compat.v1.train.Server",
    "tensorflow.distribute.Server",
)
_MOST_CALLS = 20  # nested calls of functions that are followed


class EndlessScript(NamedTuple):
    """The call of a script that never returns: its text, and its place."""

    text: str
    doc: TracedDocument
    path: Path
    name: str


def find_endless_script(job: LoweredJob, group: ReplicaGroup) -> EndlessScript | None:
    """Return the call with which the script of some Pods waits for ever; None if there may be none."""
    types = {each.replica_type for each in job.pods}
    for source in list_python_sources(job):
        if source.where.group is not group:
            continue
        reader = _Reader(source.tree, group.replica_type, types - {group.replica_type})
        try:
            node = next(reader.iter_joins(source.tree.body), None)
        except RecursionError:  # a chain of a thousand branches
            continue
        if node is not None:
            text = f"{ast.unparse(node.func)}()"
            return EndlessScript(text, source.doc, source.locate(node), source.name)
    return None


class _Reader:
    """Follows a script in the Pods of the type ``role``; ``others`` are the other types of the job."""

    def __init__(self, tree: ast.Module, role: str, others: Collection[str]) -> None:
        self.role, self.others = role, others
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.called = set[str]()
        self.servers = {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and _creates_server(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def iter_joins(self, body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
        """Yield the calls that certainly wait for ever."""
        for statement in body:
            if isinstance(statement, ast.If):
                is_met = True if is_main_guard(statement.test) else self._is_met(statement.test)
                if is_met is None and may_leave(statement):
                    return
                branch = statement.body if is_met else statement.orelse if is_met is False else []
                yield from self.iter_joins(branch)
                if is_met is not None and any(map(_ends, branch)):
                    return
            elif isinstance(statement, ast.With):
                yield from self.iter_joins(statement.body)
            elif isinstance(statement, ast.Expr | ast.Assign) and isinstance(statement.value, ast.Call):
                yield from self._iter_call(statement.value)
            if _ends(statement):
                return
            if isinstance(statement, ast.Try | ast.For | ast.While | ast.Match) and may_leave(statement):
                return

    def _iter_call(self, call: ast.Call) -> Iterator[ast.Call]:
        function = call.func
        if isinstance(function, ast.Attribute):
            is_join = function.attr == "join" and not call.args
            name = get_dotted_name(function.value)
            if is_join and (name in self.servers or _creates_server(function.value)):
                yield call
        name = get_dotted_name(function)
        if name in self.functions and name not in self.called and len(self.called) < _MOST_CALLS:
            self.called.add(name)
            yield from self.iter_joins(self.functions[name].body)

    def _is_met(self, test: ast.expr) -> bool | None:
        """Whether a comparison of the own type with names of types is true; None if that is unknown."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        operator, listed = test.ops[0], test.comparators[0]
        nodes = listed.elts if isinstance(listed, ast.Tuple | ast.List | ast.Set) else [listed]
        names = {get_constant(node) for node in nodes}
        if not names or not names <= {self.role, *self.others, "ps", "worker", "chief", "evaluator"}:
            return None
        if isinstance(operator, ast.Eq | ast.In):
            return self.role in names
        return self.role not in names if isinstance(operator, ast.NotEq | ast.NotIn) else None


def _ends(statement: ast.stmt) -> bool:
    """Whether a statement ends its function or the script."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return get_dotted_name(statement.value.func) in ENDING_CALLS
    return isinstance(statement, ast.Return | ast.Raise)


def _creates_server(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and get_dotted_name(node.func) in _SERVERS
