"""Addresses of rank 0 in the text of a Python script that only its own Pod has.

Source: https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import count_pods, find_replica_places
from podplan.lint.analysis.pod_hosts import is_loopback
from podplan.lint.checks.python_sources import (
    get_constant,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.checks.source_ranks import count_processes_of_source
from podplan.lint.target import Target, Violation

_VARIABLE = "MASTER_ADDR"
_ENVIRONMENTS = ("os.environ", "environ")


@check(requires=(PYTHON_TEXT,))
def source_meets_itself(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An address of rank 0 that is the own Pod, in a training of several Pods. Values: ``file``, ``how``,
    ``pods``."""
    job = target.job
    for source in list_python_sources(job):
        processes = count_processes_of_source(job, source)
        if processes is None or processes.size <= processes.per_pod:
            continue
        found = next(_iter_addresses(source.tree), None)
        if found is not None:
            node, how = found
            values = {"file": source.name, "how": how, "pods": format_count(count_pods(job), "Pod")}
            place = find_replica_places(job).get(source.where.group.replica_type)
            related = [place] if place is not None else []
            yield Violation(source.locate(node), values, related, doc=source.doc, group=source.group)


def _iter_addresses(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield what a script certainly takes as the address of rank 0, if only the own Pod has it."""
    for statement in iter_certain_statements(tree):
        if isinstance(statement, ast.Assign) and _is_loopback(get_constant(statement.value)):
            for name in statement.targets:
                if _names_variable(name):
                    yield statement, f"sets {_VARIABLE} to {get_constant(statement.value)}"
        for node in iter_certain_expressions(statement):
            if isinstance(node, ast.Call) and get_dotted_name(node.func).endswith("init_process_group"):
                stated = next((one.value for one in node.keywords if one.arg == "init_method"), None)
                method = get_constant(stated)
                if isinstance(method, str) and _is_loopback(_get_host(method)):
                    yield node, f"connects to {method}"


def _names_variable(node: ast.expr) -> bool:
    is_item = isinstance(node, ast.Subscript) and get_dotted_name(node.value) in _ENVIRONMENTS
    return is_item and isinstance(node, ast.Subscript) and get_constant(node.slice) == _VARIABLE


def _is_loopback(host: object) -> bool:
    return isinstance(host, str) and is_loopback(host)


def _get_host(method: str) -> str:
    try:
        return urlsplit(method).hostname or ""
    except ValueError:
        return ""
